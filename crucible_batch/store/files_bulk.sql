CREATE VIEW $view AS
SELECT
    * EXCLUDE (filename),
    regexp_extract(filename, 'c([0-9]+)/[^/]+$', 1)::BIGINT AS _commit
FROM read_parquet($sources, filename = true, union_by_name = true, hive_partitioning = false);
