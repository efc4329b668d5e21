-- in:    run_metrics, evaluations, runs
-- out:   one row per run and slice of the default evaluation of each run
-- nulls: a mean no result carries; a coverage where the metric applies to nothing
CREATE OR REPLACE VIEW $view AS
WITH evaluated AS (  -- an evaluation that is later than the pin is not shown
    FROM evaluations
    QUALIFY row_number() OVER (PARTITION BY workspace_id, evaluation_id ORDER BY seq DESC) = 1
)
SELECT
    number.run_id,
    any_value(runs.label) AS label,
    number.slice_by,
    number.slice,
    max(number.n_expected) AS n_expected,
    max(number.mean) FILTER (WHERE number.metric = 'accuracy') AS accuracy,
    max(number.n_scored) FILTER (WHERE number.metric = 'accuracy') AS n_accuracy,
    max(number.coverage) FILTER (WHERE number.metric = 'accuracy') AS coverage_accuracy,
    max(number.mean) FILTER (WHERE number.metric = 'groundedness') AS groundedness,
    max(number.n_scored) FILTER (WHERE number.metric = 'groundedness') AS n_groundedness,
    max(number.coverage) FILTER (WHERE number.metric = 'groundedness') AS coverage_groundedness,
    max(number.mean) FILTER (WHERE number.metric = 'citation_precision') AS citation_precision,
    max(number.n_scored) FILTER (WHERE number.metric = 'citation_precision') AS n_citation_precision,
    max(number.coverage) FILTER (WHERE number.metric = 'citation_precision') AS coverage_citation_precision,
    max(number.mean) FILTER (WHERE number.metric = 'citation_recall') AS citation_recall,
    max(number.n_scored) FILTER (WHERE number.metric = 'citation_recall') AS n_citation_recall,
    max(number.coverage) FILTER (WHERE number.metric = 'citation_recall') AS coverage_citation_recall,
    max(number.mean) FILTER (WHERE number.metric = 'retrieval_hit_rate') AS retrieval_hit_rate,
    max(number.n_scored) FILTER (WHERE number.metric = 'retrieval_hit_rate') AS n_retrieval_hit_rate,
    max(number.coverage) FILTER (WHERE number.metric = 'retrieval_hit_rate') AS coverage_retrieval_hit_rate,
    max(number.mean) FILTER (WHERE number.metric = 'recall_at_10') AS recall_at_10,
    max(number.n_scored) FILTER (WHERE number.metric = 'recall_at_10') AS n_recall_at_10,
    max(number.coverage) FILTER (WHERE number.metric = 'recall_at_10') AS coverage_recall_at_10,
    max(number.mean) FILTER (WHERE number.metric = 'ndcg_at_10') AS ndcg_at_10,
    max(number.n_scored) FILTER (WHERE number.metric = 'ndcg_at_10') AS n_ndcg_at_10,
    max(number.coverage) FILTER (WHERE number.metric = 'ndcg_at_10') AS coverage_ndcg_at_10,
    max(number.mean) FILTER (WHERE number.metric = 'mean_truthfulness') AS mean_truthfulness,
    max(number.n_scored) FILTER (WHERE number.metric = 'mean_truthfulness') AS n_mean_truthfulness,
    max(number.coverage) FILTER (WHERE number.metric = 'mean_truthfulness') AS coverage_mean_truthfulness,
    any_value(evaluated.status) AS status,
    any_value(runs.started_at) AS started_at,
    any_value(runs.golden_set) AS golden_set,
    any_value(evaluated.judge) AS judge,
    any_value(evaluated.qrel_source) AS qrel_source,
    any_value(evaluated.relevant_at) AS relevant_at,
    any_value(evaluated.granularity) AS granularity,
    any_value(evaluated.golden_set_hash) AS golden_set_hash,
    any_value(number.ruler_hash) AS ruler_hash,
    number.evaluation_id,
    number.workspace_id
FROM run_metrics AS number  -- each metric stands once per run and slice: max() takes it as it is
JOIN evaluated
    ON evaluated.workspace_id = number.workspace_id
    AND evaluated.evaluation_id = number.evaluation_id
JOIN runs
    ON runs.workspace_id = number.workspace_id
    AND runs.run_id = number.run_id
GROUP BY
    number.workspace_id, number.evaluation_id, number.run_id, number.slice_by, number.slice;
