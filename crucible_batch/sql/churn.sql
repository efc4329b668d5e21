-- How much a corpus changed: the counts of its document changes, and their share of the union.
--
-- in     changes(change, moved_from, hash_version), as document_changes.sql gives it
--        $doc_count: documents of the current version; with the removed ones they are the union
-- out    one row: doc_added, doc_removed, doc_changed, doc_churn, doc_churn_ratio, doc_moved, reason
-- nulls  changed, and so churn and its ratio, and moved are null when a document of both versions
--        was rehashed; moved also when removed and added documents were not all hashed in one way;
--        reason then says hash_version_changed. The ratio is null when the union is empty
WITH counts AS (
    SELECT
        count(*) FILTER (change = 'added') AS n_added,
        count(*) FILTER (change = 'removed') AS n_removed,
        count(*) FILTER (change = 'changed') AS n_changed,
        count(*) FILTER (change = 'rehashed') AS n_rehashed,
        count(moved_from) AS n_moved,
        count(DISTINCT hash_version) FILTER (change IN ('added', 'removed')) AS n_ways_to_hash
    FROM changes
),

known AS (
    SELECT
        n_added,
        n_removed,
        CASE WHEN n_rehashed = 0 THEN n_changed END AS n_changed,
        CASE
            WHEN n_rehashed = 0 AND (n_ways_to_hash <= 1 OR least(n_added, n_removed) = 0)
                THEN n_moved
        END AS n_moved
    FROM counts
)

SELECT
    n_added AS doc_added,
    n_removed AS doc_removed,
    n_changed AS doc_changed,
    n_added + n_removed + n_changed AS doc_churn,
    (n_added + n_removed + n_changed) / nullif($doc_count + n_removed, 0) AS doc_churn_ratio,
    n_moved AS doc_moved,
    CASE WHEN n_changed IS NULL OR n_moved IS NULL THEN 'hash_version_changed' END AS reason
FROM known
