CREATE OR REPLACE VIEW $view AS
SELECT
    * EXCLUDE (filename),
    regexp_extract(filename, 'c([0-9]+)/[^/]+$', 1)::BIGINT AS _commit
FROM read_parquet(
    coalesce(getvariable('crucible_root'), $root) || $files,
    filename = true, union_by_name = true, hive_partitioning = false
)
WHERE regexp_extract(filename, 'c([0-9]+)/[^/]+$', 1)::BIGINT
    <= coalesce(getvariable('crucible_pin'), 9223372036854775807);
