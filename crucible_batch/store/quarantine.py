"""Rows a load put aside, whole, with the reasons."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from crucible_batch.store import durable


def write(path: Path, rows: pl.DataFrame | pl.LazyFrame, folder: Path) -> None:
    """Write rows to `path` at once, by way of the staging folder; never half a file.

    Args:
        path: `quarantine/<load>/<table>.parquet`.
        rows: Quarantined rows with `_reasons`, `_source_file`, `_source_row` and `_row`.
        folder: Staging folder on the same filesystem.
    """
    aside = folder / path.name
    rows.lazy().sink_parquet(aside, compression="zstd")
    durable.sync(aside)
    durable.replace(aside, path)
