-- in:    result_metrics, evaluations, runs, golden_set_versions, golden_items, results
-- out:   one row per expected result of the default evaluation of each run
-- nulls: not measured; answer, confidence, error and costs also where the result has no row
CREATE OR REPLACE VIEW $view AS
WITH measured AS (
    FROM result_metrics
    UNION ALL BY NAME
    SELECT  -- the columns are there before the first run is scored
        NULL::DOUBLE AS accuracy,
        NULL::DOUBLE AS groundedness,
        NULL::DOUBLE AS citation_precision,
        NULL::DOUBLE AS citation_recall,
        NULL::DOUBLE AS retrieval_hit_rate,
        NULL::DOUBLE AS recall_at_10,
        NULL::DOUBLE AS ndcg_at_10,
        NULL::DOUBLE AS mean_truthfulness
    WHERE false
),
evaluated AS (  -- an evaluation that is later than the pin is not shown
    FROM evaluations
    QUALIFY row_number() OVER (PARTITION BY workspace_id, evaluation_id ORDER BY seq DESC) = 1
)
SELECT
    measured.run_id,
    measured.item_id,
    measured.sample_index,
    item.question,
    CASE
        WHEN result.run_id IS NULL THEN 'no_result'
        WHEN measured.errored THEN 'errored'
        WHEN result.abstained THEN 'abstained'
        WHEN result.answer IS NULL THEN 'no_answer'
        ELSE 'answered'
    END AS state,
    measured.truthfulness_label,
    measured.error_class,
    measured.accuracy,
    measured.groundedness,
    measured.citation_precision,
    measured.citation_recall,
    measured.retrieval_hit_rate,
    measured.recall_at_10,
    measured.ndcg_at_10,
    measured.mean_truthfulness,
    result.answer,
    item.ground_truth,
    result.confidence,
    item.answerable,
    item.question_type,
    item.shape,
    item.popularity,
    item.dynamism,
    item.cluster_id,
    item.tags,
    measured.error_rule,
    result.error,
    result.latency_ms,
    result.prompt_tokens,
    result.completion_tokens,
    result.cost_usd,
    runs.label,
    runs.golden_set,
    evaluated.status AS run_status,
    item.revision,
    measured.evaluation_id,
    measured.workspace_id
FROM measured
JOIN evaluated
    ON evaluated.workspace_id = measured.workspace_id
    AND evaluated.evaluation_id = measured.evaluation_id
JOIN runs
    ON runs.workspace_id = measured.workspace_id
    AND runs.run_id = measured.run_id
JOIN golden_set_versions AS pinned
    ON pinned.workspace_id = measured.workspace_id
    AND pinned.golden_set_hash = evaluated.golden_set_hash
    AND pinned.item_id = measured.item_id
JOIN golden_items AS item
    ON item.workspace_id = measured.workspace_id
    AND item.item_id = measured.item_id
    AND item.revision = pinned.revision
LEFT JOIN results AS result
    ON result.workspace_id = measured.workspace_id
    AND result.run_id = measured.run_id
    AND result.item_id = measured.item_id
    AND result.sample_index = measured.sample_index;
