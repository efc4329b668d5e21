"""Rows of a query as a table, CSV, JSON Lines, Parquet or Markdown.

Only a table on a terminal leaves anything out, and it says so; every other form is whole.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.assemble.outputs import output_file
from crucible_batch.cli.layout import NULL
from crucible_batch.cli.output import emit, emit_bytes, json_line, table
from crucible_batch.cli.sql import SHOWN, Format
from crucible_batch.printable import one_line


def to_stdout(rows: pl.DataFrame, form: Format) -> None:
    """Print rows."""
    if form is Format.PARQUET:
        emit_bytes(_parquet(rows))
    elif form is Format.TABLE:
        emit(_table(rows, shown=SHOWN if sys.stdout.isatty() else rows.height))
    else:
        for text in _texts(rows, form):
            emit(text)


def to_file(rows: pl.DataFrame, form: Format, path: Path) -> None:
    """Write rows to a file, which is whole or as it was before.

    Raises:
        CrucibleError: It cannot be written.
    """
    with output_file(path) as file:
        if form is Format.PARQUET:
            file.buffer.write(_parquet(rows))
        else:
            texts = [_table(rows, shown=rows.height)] if form is Format.TABLE else None
            file.writelines(text + "\n" for text in texts or _texts(rows, form))
    told = "row" if rows.height == 1 else "rows"
    print(f"wrote {rows.height:,} {told} to {path}", file=sys.stderr)


def _texts(rows: pl.DataFrame, form: Format) -> list[str]:
    if form is Format.JSON:
        return [json_line(row) for row in _as_hex(rows).iter_rows(named=True)]
    if form is Format.CSV:
        return [_flat(rows).write_csv().removesuffix("\n")]
    return _markdown(rows)


def _table(rows: pl.DataFrame, *, shown: int) -> str:
    told = f"{rows.height:,} row{'' if rows.height == 1 else 's'}"
    if rows.height > shown:
        told = f"{shown:,} of {told}; --format csv or json prints all"
    return table(rows.columns, _readable(rows.head(shown)).rows()) + f"\n({told})"


def _markdown(rows: pl.DataFrame) -> list[str]:
    numeric = [dtype.is_numeric() for dtype in rows.dtypes]
    return [
        _markdown_line(rows.columns),
        "|" + "|".join("---:" if right else "---" for right in numeric) + "|",
        *(_markdown_line(row) for row in _readable(rows).iter_rows()),
    ]


def _markdown_line(values: Sequence[Any]) -> str:
    cells = (NULL if value is None else one_line(str(value)) for value in values)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _parquet(rows: pl.DataFrame) -> bytes:
    written = BytesIO()
    rows.write_parquet(written)
    return written.getvalue()


def _flat(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that fit into CSV: readable, and times with their zone."""
    times = [name for name, dtype in rows.schema.items() if isinstance(dtype, pl.Datetime)]
    return _readable(rows).with_columns(pl.col(name).dt.to_string("iso:strict") for name in times)


def _readable(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows without what only a program reads: lists and structs as JSON, bytes in hex."""
    nested = [name for name, dtype in rows.schema.items() if dtype.is_nested()]
    return _as_hex(rows).with_columns(
        pl.Series(name, [_json_or_null(value) for value in rows[name].to_list()], pl.String)
        for name in nested
    )


def _as_hex(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.col(pl.Binary).bin.encode("hex"))


def _json_or_null(value: Any) -> str | None:
    return None if value is None else json_line(value)
