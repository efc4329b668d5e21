-- in:    comparisons, runs, metric_catalog, plugin_metrics
-- out:   one row per default comparison of two runs, slice and metric
-- nulls: what was not measured; the verdict of a blocked row; titles of undeclared plugin metrics
CREATE OR REPLACE VIEW $view AS
SELECT
    compared.workspace_id,
    compared.comparison_id,
    compared.baseline_run_id,
    baseline.label AS baseline_label,
    compared.candidate_run_id,
    candidate.label AS candidate_label,
    candidate.golden_set,
    compared.slice_by,
    compared.slice,
    compared.metric,
    coalesce(metric.title, plugin.title) AS title,
    metric.metric_group,
    coalesce(metric.headline, false) AS headline,
    coalesce(metric.better, plugin.better) AS better,
    compared.mean_baseline,
    compared.mean_candidate,
    compared.delta,
    compared.ci_low,
    compared.ci_high,
    compared.ci_label,
    compared.p_value,
    compared.p_adjusted,
    compared.family,
    compared.family_size,
    compared.n_pairs,
    compared.n_missing_baseline,
    compared.n_missing_candidate,
    compared.n_better,
    compared.n_same,
    compared.n_worse,
    compared.verdict,
    compared.blocked_reason,
    compared.negligible,
    compared.unequal_judging,
    compared.golden_set_changed
FROM comparisons AS compared
JOIN runs AS baseline  -- a run that is later than the pin is not shown
    ON baseline.workspace_id = compared.workspace_id
    AND baseline.run_id = compared.baseline_run_id
JOIN runs AS candidate
    ON candidate.workspace_id = compared.workspace_id
    AND candidate.run_id = compared.candidate_run_id
LEFT JOIN metric_catalog AS metric
    ON metric.workspace_id = compared.workspace_id
    AND metric.metric = compared.metric
LEFT JOIN plugin_metrics AS plugin
    ON plugin.workspace_id = compared.workspace_id
    AND plugin.metric = compared.metric;
