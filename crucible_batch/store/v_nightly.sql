-- in:    nightly, runs, metric_catalog, nightly_metrics, gate_results, drift_evaluations,
--        drift_snapshots
-- out:   one row per night and candidate
-- nulls: a night without a gate, a scan or a metric concerned has none of what belongs to it
CREATE OR REPLACE VIEW $view AS
WITH gate AS (
    SELECT
        workspace_id,
        gate_id,
        count(*) AS n_rules,
        list(rule_id ORDER BY rule_id) FILTER (WHERE outcome = 'fail' AND severity = 'error')
            AS failed_rules,
        list(rule_id ORDER BY rule_id) FILTER (WHERE outcome = 'fail' AND severity = 'warn')
            AS warned_rules
    FROM gate_results
    GROUP BY workspace_id, gate_id
),
scan AS (
    SELECT
        workspace_id,
        scan_id,
        max(snapshot_id) AS snapshot_id,  -- a scan looks at one snapshot
        count(*) FILTER (WHERE verdict = 'breach') AS n_breaches,
        count(*) FILTER (WHERE verdict = 'unknown') AS n_unknown
    FROM drift_evaluations
    GROUP BY workspace_id, scan_id
)
SELECT
    night.as_of,
    night.candidate_run_id,
    night.baseline_run_id,
    night.verdict,
    night.gate_outcome,
    CASE WHEN gate.n_rules IS NOT NULL THEN coalesce(gate.failed_rules, []) END AS failed_rules,
    CASE WHEN gate.n_rules IS NOT NULL THEN coalesce(gate.warned_rules, []) END AS warned_rules,
    gate.n_rules,
    night.since,
    night.metric,
    metric.title,
    night.slice_by,
    night.slice,
    chart.delta,
    corpus.corpus_version,
    corpus.doc_count,
    corpus.doc_churn_ratio,
    scan.n_breaches,
    scan.n_unknown,
    candidate.label AS candidate_label,
    baseline.label AS baseline_label,
    night.gate_id,
    night.scan_id,
    night.workspace_id
FROM nightly AS night
LEFT JOIN runs AS candidate
    ON candidate.workspace_id = night.workspace_id
    AND candidate.run_id = night.candidate_run_id
LEFT JOIN runs AS baseline
    ON baseline.workspace_id = night.workspace_id
    AND baseline.run_id = night.baseline_run_id
LEFT JOIN metric_catalog AS metric
    ON metric.workspace_id = night.workspace_id
    AND metric.metric = night.metric
LEFT JOIN nightly_metrics AS chart
    ON chart.workspace_id = night.workspace_id
    AND chart.as_of = night.as_of
    AND chart.candidate_run_id = night.candidate_run_id
    AND chart.metric = night.metric
    AND chart.slice_by = night.slice_by
    AND chart.slice = night.slice
LEFT JOIN gate
    ON gate.workspace_id = night.workspace_id
    AND gate.gate_id = night.gate_id
LEFT JOIN scan
    ON scan.workspace_id = night.workspace_id
    AND scan.scan_id = night.scan_id
LEFT JOIN drift_snapshots AS corpus
    ON corpus.workspace_id = night.workspace_id
    AND corpus.snapshot_id = scan.snapshot_id;
