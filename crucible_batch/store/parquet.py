"""Looking at one Parquet file, whatever characters its path has: Polars would glob `*?[`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl


def schema_of(path: Path) -> pl.Schema:
    """Return the columns and types of a file."""
    return pl.scan_parquet(path, glob=False, hive_partitioning=False).collect_schema()


def read(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """Return some columns of a file."""
    return pl.read_parquet(path, columns=list(columns), glob=False, hive_partitioning=False)


def footer_of(path: Path) -> dict[str, str]:
    """Return the key-value metadata of a file."""
    return dict(pl.read_parquet_metadata(path))
