-- in:    comparisons, runs, metric_catalog, plugin_metrics
-- out:   one row per default comparison of two runs, slice and metric
-- nulls: what was not measured; the verdict of a blocked row; titles of undeclared plugin metrics
CREATE OR REPLACE VIEW $view AS
SELECT
    compared.baseline_run_id,
    compared.candidate_run_id,
    compared.slice_by,
    compared.slice,
    compared.metric,
    coalesce(metric.title, plugin.title) AS title,
    compared.verdict,
    compared.delta,
    compared.ci_low,
    compared.ci_high,
    compared.p_adjusted,
    compared.n_pairs,
    compared.mean_baseline,
    compared.mean_candidate,
    compared.n_better,
    compared.n_same,
    compared.n_worse,
    compared.ci_label,
    compared.p_value,
    compared.family,
    compared.family_size,
    compared.n_missing_baseline,
    compared.n_missing_candidate,
    compared.blocked_reason,
    compared.negligible,
    compared.unequal_judging,
    compared.golden_set_changed,
    coalesce(metric.headline, false) AS headline,
    metric.metric_group,
    coalesce(metric.better, plugin.better) AS better,
    baseline.label AS baseline_label,
    candidate.label AS candidate_label,
    candidate.golden_set,
    compared.comparison_id,
    compared.workspace_id
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
