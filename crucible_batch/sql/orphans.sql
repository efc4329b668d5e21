-- How many entities nothing mentions.
--
-- in     entity_mentions(entity_id, mentioned), as entity_mentions.sql gives it
-- out    one row: entity_count, orphan_count, orphan_rate
-- nulls  the rate is null without entities
SELECT
    count(*) AS entity_count,
    count(*) FILTER (NOT mentioned) AS orphan_count,
    count(*) FILTER (NOT mentioned) / nullif(count(*), 0) AS orphan_rate
FROM entity_mentions
