-- What happened to every document between two corpus versions; unchanged ones are left out.
--
-- in     previous_documents, documents: doc_id (unique), content_hash, hash_version
-- out    doc_id, change, moved_from, hash_version (the current one, else the previous one)
--        change: added, removed, changed, or rehashed: its two hashes were made in different ways,
--        so whether the text changed cannot be told
--        moved_from: the removed document whose text an added one has; where several have it, the
--        nth added one comes from the nth removed one by doc_id, and each is used once
-- nulls  moved_from is null but for an added document with such a partner
WITH fates AS (
    SELECT
        coalesce(documents.doc_id, previous_documents.doc_id) AS doc_id,
        coalesce(documents.content_hash, previous_documents.content_hash) AS content_hash,
        coalesce(documents.hash_version, previous_documents.hash_version) AS hash_version,
        CASE
            WHEN previous_documents.doc_id IS NULL THEN 'added'
            WHEN documents.doc_id IS NULL THEN 'removed'
            WHEN previous_documents.hash_version <> documents.hash_version THEN 'rehashed'
            WHEN previous_documents.content_hash <> documents.content_hash THEN 'changed'
        END AS change
    FROM previous_documents
    FULL JOIN documents ON previous_documents.doc_id = documents.doc_id
),

numbered AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY change, hash_version, content_hash ORDER BY doc_id
        ) AS place
    FROM fates
    WHERE change IN ('added', 'removed')
),

moves AS (
    SELECT added.doc_id, removed.doc_id AS moved_from
    FROM numbered AS added
    INNER JOIN numbered AS removed
        ON added.hash_version = removed.hash_version
        AND added.content_hash = removed.content_hash
        AND added.place = removed.place
    WHERE added.change = 'added' AND removed.change = 'removed'
)

SELECT fates.doc_id, fates.change, moves.moved_from, fates.hash_version
FROM fates
LEFT JOIN moves ON fates.doc_id = moves.doc_id
WHERE fates.change IS NOT NULL
ORDER BY fates.doc_id
