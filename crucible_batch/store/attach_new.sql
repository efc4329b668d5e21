-- The format DuckDB 1.4 and later can open.
ATTACH $path AS catalog (STORAGE_VERSION 'v1.4.0');
