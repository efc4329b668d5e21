-- in:    committed files of one bulk table
-- out:   their columns in key order
-- nulls: first (setting of the connection)
SELECT $columns
FROM read_parquet($sources, union_by_name = true, hive_partitioning = false)
ORDER BY $key;
