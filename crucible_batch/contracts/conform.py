"""Bring a frame of any provenance to the types of a contract, losslessly or with a reason.

A whole column of an impossible type, a missing or an unknown column is an error of the file. A
single value that does not fit (1.5 where an integer is due) becomes null and the row carries a
reason, so that validation puts it into quarantine with the row as it was handed in.
"""

from __future__ import annotations

from difflib import get_close_matches

import polars as pl

from crucible_batch.contracts.table import UTC, Column, Kind, Table
from crucible_batch.errors import ContractError

META: dict[str, pl.DataType] = {
    "_source_file": pl.String(),
    "_source_row": pl.Int64(),
    "_reasons": pl.List(pl.String()),
    "_row": pl.String(),
}
"""Columns that travel beside a table's own until validation has split it."""

SHOWN_CHARACTERS = 80
"""How much of an offending value a reason shows."""

EXACT = 2**53
"""Beyond this, float64 cannot hold every integer."""


def reason(column: str, check: str, value: pl.Expr) -> pl.Expr:
    """Text `column: check: value`, the value cut to a readable length."""
    shown = value.cast(pl.String).str.slice(0, SHOWN_CHARACTERS)
    return pl.format("{}: {}: {}", pl.lit(column), pl.lit(check), shown.fill_null("null"))


def conform(table: Table, frame: pl.DataFrame, *, source: str, first_row: int = 1) -> pl.DataFrame:
    """Return `frame` with contract types and the meta columns of `META`.

    Args:
        table: Contract to conform to.
        frame: Columns as found; meta columns and `_commit` are allowed and kept or dropped.
        source: Name of the input, for messages and `_source_file`.
        first_row: Number of the first row within the source.

    Returns:
        The contract columns that were found, in published order, and the meta columns.

    Raises:
        ContractError: A column is missing, unknown, or of a type that cannot be converted.
    """
    found = [name for name in frame.columns if name not in META and name != "_commit"]
    _require_columns(table, found, source)
    _require_types(table, frame, found, source)
    columns = [column for column in table.columns if column.name in found]
    problems = [problem for column in columns for problem in _misfits(column, frame)]
    rows = _meta(frame, source, first_row)
    if problems:
        fresh = pl.concat_list(problems).list.drop_nulls()
        as_handed_in = pl.struct([_json_safe(frame, name) for name in found]).struct.json_encode()
        rows = rows.with_columns(_reasons=pl.col("_reasons").list.concat(fresh))
        rows = rows.with_columns(
            _row=pl.when(pl.col("_reasons").list.len() > 0)
            .then(pl.coalesce("_row", as_handed_in))
            .otherwise("_row")
        )
    return rows.select(
        *[_converted(column, frame.schema[column.name]) for column in columns], *META
    )


def complete(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Add the contract columns that `frame` leaves out, and put defaults where values are absent.

    A column without a default becomes null: not measured, not known, or still to be filled by the
    loader. Returns the contract columns in published order, then the meta columns present.
    """
    columns = [
        (pl.col(column.name) if column.name in frame.columns else pl.lit(None, column.dtype))
        .pipe(_with_default, column)
        .alias(column.name)
        for column in table.columns
    ]
    return frame.select(*columns, *[name for name in META if name in frame.columns])


def _with_default(value: pl.Expr, column: Column) -> pl.Expr:
    if not column.has_default:
        return value
    constant = column.default
    return value.fill_null(
        pl.lit(list(constant) if isinstance(constant, tuple) else constant, column.dtype)
    )


def _require_columns(table: Table, found: list[str], source: str) -> None:
    problems = []
    for name in found:
        if name not in table.names:
            near = get_close_matches(name, table.names, n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]}?" if near else ""
            problems.append(f"unknown column {name!r}{hint}")
    problems += [
        f"column {column.name!r} is missing ({column.description})"
        for column in table.columns
        if column.name not in found and not column.optional
    ]
    if problems:
        raise ContractError(
            f"{source} breaks the {table.name} contract",
            problems=problems,
            fix=f"`crucible schema {table.name}` prints the contract.",
        )


def _require_types(table: Table, frame: pl.DataFrame, found: list[str], source: str) -> None:
    problems = [
        f"column {name!r} is {frame.schema[name]}, the contract says {_wanted(table.column(name))}"
        for name in found
        if not _convertible(table.column(name).kind, frame.schema[name])
    ]
    if problems:
        raise ContractError(
            f"{source} breaks the {table.name} contract",
            problems=problems,
            fix="Convert the column where the file is written; ids are text (007 is not 7) and "
            "times carry a zone.",
        )


def _wanted(column: Column) -> str:
    return {Kind.TIME: "a timestamp with a time zone"}.get(column.kind, str(column.dtype))


def _convertible(kind: Kind, dtype: pl.DataType) -> bool:  # noqa: PLR0911 (one line per kind)
    if dtype == pl.Null:
        return True
    match kind:
        case Kind.INT:
            return dtype.is_integer() or dtype.is_float() or isinstance(dtype, pl.Decimal)
        case Kind.FLOAT:
            return dtype.is_numeric()
        case Kind.BOOL:
            return dtype == pl.Boolean
        case Kind.TIME:
            return isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
        case Kind.WORDS:
            return isinstance(dtype, pl.List | pl.Array) and _is_text(dtype.inner)
        case _:
            return _is_text(dtype)


def _is_text(dtype: object) -> bool:
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum) or dtype == pl.Null


def _misfits(column: Column, frame: pl.DataFrame) -> list[pl.Expr]:
    """Reasons for values that the contract type cannot hold exactly."""
    dtype, value = frame.schema[column.name], pl.col(column.name)
    if column.kind is Kind.INT and not dtype.is_integer() and dtype != pl.Null:
        number = value.cast(pl.Float64)
        fits = number.is_finite() & (number == number.floor()) & (number.abs() <= EXACT)
        broken = value.is_not_null() & ~fits
        return [pl.when(broken).then(reason(column.name, "not an integer", value))]
    if column.kind is Kind.INT and dtype in {pl.UInt64, pl.Int128, pl.UInt128}:
        broken = value.is_not_null() & value.cast(pl.Int64, strict=False).is_null()
        return [pl.when(broken).then(reason(column.name, "too large", value))]
    if column.kind is Kind.FLOAT and dtype.is_integer():
        broken = value.cast(pl.Int128).abs() > EXACT
        return [pl.when(broken).then(reason(column.name, "too large", value))]
    return []


def _converted(column: Column, found: pl.DataType) -> pl.Expr:
    value = pl.col(column.name)
    if column.kind is Kind.INT and not found.is_integer() and found != pl.Null:
        number = value.cast(pl.Float64)
        whole = number.is_finite() & (number == number.floor()) & (number.abs() <= EXACT)
        value = pl.when(whole).then(number)
    elif column.kind is Kind.TIME and found != pl.Null:
        value = value.dt.convert_time_zone("UTC").cast(UTC)
    return value.cast(column.dtype, strict=False).alias(column.name)


def _meta(frame: pl.DataFrame, source: str, first_row: int) -> pl.DataFrame:
    """`frame` with the meta columns it does not carry yet."""
    numbers = pl.int_range(first_row, first_row + pl.len(), dtype=pl.Int64)
    fresh: dict[str, pl.Expr] = {
        "_source_file": pl.lit(source, dtype=pl.String),
        "_source_row": numbers,
        "_reasons": pl.lit([], dtype=pl.List(pl.String)),
        "_row": pl.lit(None, dtype=pl.String),
    }
    return frame.with_columns(
        **{name: expr for name, expr in fresh.items() if name not in frame.columns}
    )


def _json_safe(frame: pl.DataFrame, name: str) -> pl.Expr:
    """JSON has no NaN and no infinity: those become text, so that the row can be read again."""
    dtype = frame.schema[name]
    if isinstance(dtype, pl.Decimal | pl.Categorical | pl.Enum) or dtype.is_temporal():
        return pl.col(name).cast(pl.String)
    if dtype.is_float() and not bool(frame[name].is_finite().all()):
        return pl.col(name).cast(pl.String)
    return pl.col(name)


def row_json(frame: pl.DataFrame) -> pl.Expr:
    """Every row of `frame` as JSON text, without meta columns and what a load notes beside it."""
    names = [name for name in frame.columns if not name.startswith("_")]
    return pl.struct([_json_safe(frame, name) for name in names]).struct.json_encode()
