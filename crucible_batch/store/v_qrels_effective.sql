-- in:    qrels, judgment_overrides, golden_items
-- out:   one row per query and judged document, graded as at document granularity; all llm judges
--        count, as they do without the setting `llm_lanes`
-- nulls: a source that did not judge; the question of a query that is no item
CREATE OR REPLACE VIEW $view AS
WITH override AS (
    SELECT
        workspace_id,
        json_extract_string(target_key, '$[0]') AS query_id,
        json_extract_string(target_key, '$[1]') AS target,
        json_extract_string(target_key, '$[2]') AS source,
        json_extract_string(target_key, '$[3]') AS judge,
        CASE WHEN target_column = 'grade' THEN CAST("new" AS BIGINT) END AS grade
    FROM judgment_overrides
    WHERE target_table = 'qrels' AND target_column = 'grade'
    QUALIFY row_number() OVER (
        PARTITION BY workspace_id, query_id, target, source, judge
        ORDER BY created_at DESC, override_id DESC
    ) = 1
),
judgment AS (
    SELECT
        qrels.workspace_id,
        qrels.query_id,
        qrels.doc_id,
        qrels.source,
        qrels.judge,
        coalesce(override.grade, qrels.grade) AS grade,
        override.grade IS NOT NULL AS is_overridden
    FROM qrels
    LEFT JOIN override
        ON override.workspace_id = qrels.workspace_id
        AND override.query_id = qrels.query_id
        AND override.target = qrels.target
        AND override.source = qrels.source
        AND override.judge = qrels.judge
    WHERE qrels.doc_id IS NOT NULL
),
graded AS (
    SELECT
        workspace_id,
        query_id,
        doc_id,
        max(grade) FILTER (WHERE source = 'human') AS grade_human,
        max(grade) FILTER (WHERE source = 'provenance') AS grade_provenance,
        max(grade) FILTER (WHERE source = 'llm') AS grade_llm,
        count(*) AS n_judgments,
        list_sort(list(DISTINCT judge)) AS judges,
        count(*) FILTER (WHERE is_overridden) AS n_overridden
    FROM judgment
    GROUP BY workspace_id, query_id, doc_id
),
item AS (
    SELECT workspace_id, item_id, arg_max(question, revision) AS question
    FROM golden_items
    GROUP BY workspace_id, item_id
)
SELECT
    graded.query_id,
    graded.doc_id,
    coalesce(grade_human, grade_provenance, grade_llm) AS grade,
    CASE
        WHEN grade_human IS NOT NULL THEN 'human'
        WHEN grade_provenance IS NOT NULL THEN 'provenance'
        ELSE 'llm'
    END AS source,
    grade_human,
    grade_provenance,
    grade_llm,
    n_judgments,
    judges,
    n_overridden,
    item.question,
    graded.workspace_id
FROM graded
LEFT JOIN item
    ON item.workspace_id = graded.workspace_id
    AND item.item_id = graded.query_id;
