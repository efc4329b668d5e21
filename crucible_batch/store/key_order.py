"""Whether the rows of a file stand in key order, each key once."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from crucible_batch.contracts import Table
from crucible_batch.errors import ContractError
from crucible_batch.pieces import InPieces
from crucible_batch.store.staging import ROW_GROUP


def check_order(table: Table, path: Path) -> None:
    """Refuse rows out of key order, or a key that is there twice; one row group at a time.

    Raises:
        ContractError: Names the rows.
    """
    keys = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(table.key)
    last: pl.DataFrame | None = None
    with InPieces(keys, ROW_GROUP) as pieces:
        for piece in pieces:
            here = piece if last is None else pl.concat([last, piece])
            # Neighbours are compared key by key: sorting long texts would take far longer.
            after = _is_after_the_one_before(here)
            if not after.all():
                _refuse(table, here, after.to_list().index(False))
            last = piece.tail(1)


def _is_after_the_one_before(rows: pl.DataFrame) -> pl.Series:
    """For every row but the first; null comes before every value."""
    # Most columns of a key (workspace, run) are the same in all rows of a file.
    varying = [column for column in rows if not _is_constant(column)]
    after = pl.repeat(value=False, n=max(rows.height - 1, 0), eager=True)
    for column in reversed(varying):
        before, value = column.head(-1), column.tail(-1)
        more = value > before
        if column.has_nulls():
            more = more.fill_null(value.is_not_null() & before.is_null())
        after = more | (value.eq_missing(before) & after)
    return after


def _is_constant(column: pl.Series) -> bool:
    if column.is_empty() or column.has_nulls():
        return False
    return bool((column == column.first()).all())


def _refuse(table: Table, rows: pl.DataFrame, at: int) -> None:
    before, row = rows.row(at, named=True), rows.row(at + 1, named=True)
    if before == row:
        raise ContractError(f"A key of mart {table.name} is there twice", problems=[str(row)])
    raise ContractError(
        f"Rows for mart {table.name} are not in key order", problems=[f"{row} after {before}"]
    )
