-- What the answer cache held and did at its latest observation.
--
-- in     observations(observed_at, mode, lookups, hits, last_hit_at), none later than $as_of
--        entries(observed_at, has_embedding, invalidated_at, expires_at)
--        $as_of: time of the scan
-- out    one row: observed_at, hit_rate, active, with_embedding, invalidated, expired, last_hit_at,
--        mode; no row without an observation
--        An entry that is invalidated and expired counts as both; active ones are neither
-- nulls  hit_rate is null without look-ups
WITH latest AS (
    SELECT * FROM observations ORDER BY observed_at DESC LIMIT 1
),

held AS (
    SELECT
        has_embedding,
        invalidated_at IS NOT NULL AND invalidated_at <= $as_of AS is_invalidated,
        expires_at IS NOT NULL AND expires_at <= $as_of AS is_expired
    FROM entries
    WHERE observed_at = (SELECT observed_at FROM latest)
),

counts AS (
    SELECT
        count(*) FILTER (NOT is_invalidated AND NOT is_expired) AS active,
        count(*) FILTER (has_embedding) AS with_embedding,
        count(*) FILTER (is_invalidated) AS invalidated,
        count(*) FILTER (is_expired) AS expired
    FROM held
)

SELECT
    latest.observed_at,
    latest.hits / nullif(latest.lookups, 0) AS hit_rate,
    counts.active,
    counts.with_embedding,
    counts.invalidated,
    counts.expired,
    latest.last_hit_at,
    latest.mode
FROM latest
CROSS JOIN counts
ORDER BY latest.observed_at
