CREATE OR REPLACE VIEW $view AS
SELECT $columns
FROM read_parquet(
    coalesce(getvariable('crucible_root'), $root) || $files,
    union_by_name = true, hive_partitioning = false
);
