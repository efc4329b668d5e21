-- in:    alerts, alert_events, drift_evaluations
-- out:   one row per alert, as it stands
-- nulls: what nobody said; value and threshold where the last scan could not measure the rule
CREATE OR REPLACE VIEW $view AS
WITH last_event AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY workspace_id, fingerprint, episode) AS n_events
    FROM alert_events
    QUALIFY row_number() OVER (
        PARTITION BY workspace_id, fingerprint ORDER BY episode DESC, seq DESC
    ) = 1
),
last_look AS (
    FROM drift_evaluations
    QUALIFY row_number() OVER (
        PARTITION BY workspace_id, rule_id, labels ORDER BY as_of DESC, _commit DESC
    ) = 1
)
SELECT
    alert.rule_id,
    alert.labels,
    alert.state,
    alert.state IN ('pending', 'firing') AS is_open,
    alert.severity,
    alert.opened_at,
    look.statistic,
    look.value,
    look.operator,
    look.threshold,
    look.verdict,
    look.reason,
    look.as_of,
    alert.acknowledged,
    alert.snoozed_until,
    alert.resolved_at,
    alert.resolve_reason,
    alert.episode,
    event.n_events,
    event.kind AS last_kind,
    event.occurred_at AS last_event_at,
    json_extract_string(event.payload, '$.data.author') AS author,
    json_extract_string(event.payload, '$.data.note') AS note,
    look.scan_id,
    alert.fingerprint,
    alert.workspace_id
FROM alerts AS alert
JOIN last_event AS event
    ON event.workspace_id = alert.workspace_id
    AND event.fingerprint = alert.fingerprint
LEFT JOIN last_look AS look
    ON look.workspace_id = alert.workspace_id
    AND look.rule_id = alert.rule_id
    AND look.labels = alert.labels;
