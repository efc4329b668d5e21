CREATE OR REPLACE VIEW $view AS
SELECT *
FROM read_parquet(
    coalesce(getvariable('crucible_root'), $root) || $files,
    union_by_name = true, hive_partitioning = false
)
WHERE _commit <= coalesce(getvariable('crucible_pin'), 9223372036854775807);
