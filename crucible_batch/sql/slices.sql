-- Which items belong to which slice: the whole set, every facet value, every tag.
--
-- in     items(item_id, question_type, popularity, dynamism, answerable, shape, tags)
-- out    slice_by, slice, item_id; every item once per facet, once per distinct tag
-- nulls  a null facet is the slice '(none)'; an item without tags is in no tag slice
SELECT slice_by, slice, item_id
FROM (
    SELECT 'all' AS slice_by, 'all' AS slice, item_id FROM items
    UNION ALL
    SELECT 'question_type', coalesce(question_type, '(none)'), item_id FROM items
    UNION ALL
    SELECT 'popularity', coalesce(popularity, '(none)'), item_id FROM items
    UNION ALL
    SELECT 'dynamism', coalesce(dynamism, '(none)'), item_id FROM items
    UNION ALL
    SELECT 'answerable', CASE WHEN answerable THEN 'true' ELSE 'false' END, item_id FROM items
    UNION ALL
    SELECT 'shape', coalesce(shape, '(none)'), item_id FROM items
    UNION ALL
    SELECT DISTINCT 'tag', unnest(tags), item_id FROM items
)
ORDER BY slice_by, slice, item_id
