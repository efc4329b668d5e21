CREATE OR REPLACE VIEW $view AS
SELECT
    workspace_id,
    fingerprint,
    json_extract_string(payload, '$.data.rule_id') AS rule_id,
    CAST(json_extract(payload, '$.data.labels') AS VARCHAR) AS labels,
    json_extract_string(payload, '$.data.state') AS state,
    severity,
    CAST(json_extract_string(payload, '$.data.acknowledged') AS BOOLEAN) AS acknowledged,
    episode,
    CAST(json_extract_string(payload, '$.data.opened_at') AS TIMESTAMPTZ) AS opened_at,
    CAST(json_extract_string(payload, '$.data.resolved_at') AS TIMESTAMPTZ) AS resolved_at,
    json_extract_string(payload, '$.data.resolve_reason') AS resolve_reason,
    CAST(json_extract_string(payload, '$.data.snoozed_until') AS TIMESTAMPTZ) AS snoozed_until
FROM alert_events
QUALIFY row_number() OVER (
    PARTITION BY workspace_id, fingerprint ORDER BY episode DESC, seq DESC
) = 1
ORDER BY workspace_id, fingerprint;
