CREATE VIEW $view AS
SELECT * FROM read_parquet($sources, union_by_name = true, hive_partitioning = false);
