-- How many entities there are of every type.
--
-- in     entities(entity_id, entity_type), entity_id unique
-- out    entity_type, n
-- nulls  none; a type without entities has no row
SELECT entity_type, count(*) AS n
FROM entities
GROUP BY entity_type
ORDER BY entity_type
