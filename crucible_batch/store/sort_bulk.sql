-- in:    pieces of one bulk table with the contract's columns, in any order and any split
-- out:   one file sorted by key
-- nulls: first (setting of the connection)
COPY (
    SELECT $columns
    FROM read_parquet($sources, union_by_name = true, hive_partitioning = false)
    ORDER BY $key
) TO $target (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE $row_group, KV_METADATA $about);
