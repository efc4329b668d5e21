-- Whether every entity is mentioned anywhere in its corpus version.
--
-- in     entities(entity_id), unique; mentions(entity_id), any number of rows each
-- out    entity_id, mentioned
-- nulls  none; a mention of an entity that is not listed counts for nothing
SELECT
    entities.entity_id,
    EXISTS (SELECT 1 FROM mentions WHERE mentions.entity_id = entities.entity_id) AS mentioned
FROM entities
ORDER BY entities.entity_id
