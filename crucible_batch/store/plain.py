"""Rows of a query as a frame every form can write: types and times no table holds are refused.

DuckDB knows types that Arrow hands on changed (a bit string becomes bytes, a time loses its zone)
or whose conversion ends in a panic, which is no exception a caller could tell of.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import duckdb
import polars as pl

from crucible_batch.errors import UsageError

FOREIGN = frozenset({"interval", "union", "bignum", "bit", "time with time zone"})
"""Types of DuckDB that no table here holds."""

_EPOCH = date(1970, 1, 1).toordinal()
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def plain_rows(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Run a relation; whole decimals (DuckDB's sums of integers) are integers where they fit.

    Raises:
        UsageError: A column has a type, or a time, that no table can hold.
        duckdb.Error: The query fails while it runs.
    """
    for name, kind in zip(relation.columns, relation.types, strict=True):
        for part in _parts(kind):
            if part.id in FOREIGN:
                raise _refused(name, f"is of type {part}, which no table can hold")
    frame: pl.DataFrame = relation.pl()
    for column in frame:
        if _is_out_of_calendar(column):
            raise _refused(column.name, "holds a time outside the years 1 to 9999")
    return frame.with_columns(_integers(frame))


def _refused(name: str, what: str) -> UsageError:
    quoted = '"' + name.replace('"', '""') + '"'
    return UsageError(f"Column {name!r} {what}", fix=f"cast it in the query: {quoted}::VARCHAR")


def _parts(kind: duckdb.sqltypes.DuckDBPyType) -> Iterator[duckdb.sqltypes.DuckDBPyType]:
    """A type and every type within it."""
    yield kind
    if kind.id in {"list", "array", "struct", "map"}:
        for _, child in kind.children:
            if isinstance(child, duckdb.sqltypes.DuckDBPyType):  # an array has its size here too
                yield from _parts(child)


def _is_out_of_calendar(column: pl.Series) -> bool:
    """Whether a date or instant is one that calendars of people do not have, as infinity."""
    if isinstance(column.dtype, pl.Datetime):
        per_day = _PER_DAY[column.dtype.time_unit]
    elif column.dtype == pl.Date:
        per_day = 1
    else:
        return False
    first = (date.min.toordinal() - _EPOCH) * per_day
    end = (date.max.toordinal() + 1 - _EPOCH) * per_day
    count = column.to_physical().cast(pl.Int64)
    return bool(((count < first) | (count >= end)).any())


def _integers(frame: pl.DataFrame) -> list[pl.Series]:
    whole = [
        name
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.Decimal) and dtype.scale == 0
    ]
    return [
        cast
        for name in whole
        if (cast := frame[name].cast(pl.Int64, strict=False)).null_count()
        == frame[name].null_count()
    ]
