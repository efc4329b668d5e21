-- in:    pieces of one bulk table
-- out:   its rows, and the bytes of text in them
-- nulls: no bytes
SELECT count(*) AS n_rows, coalesce(sum(strlen(concat(*COLUMNS($names)))), 0)::BIGINT AS n_bytes
FROM read_parquet($sources, union_by_name = true, hive_partitioning = false);
