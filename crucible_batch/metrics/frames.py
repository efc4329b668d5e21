"""What callers hold becomes one Polars frame with fixed columns, or an error that says why not.

Accepted: Polars frames (eager and lazy), pandas frames, Arrow tables, batches and readers, DuckDB
relations (all through the Arrow PyCapsule interface), and pytrec_eval's dict of dicts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
from polars.exceptions import PolarsError

from crucible_batch.errors import ContractError, suggestion

Role = Literal["id", "integer", "number"]

_TYPES = {"id": pl.String, "integer": pl.Int64, "number": pl.Float64}
"""The published type of each role."""

_CODED_TYPES = (pl.Categorical, pl.Enum)
_ID_TYPES = (pl.String, *_CODED_TYPES, pl.Null)
_CAPSULES = ("__arrow_c_stream__", "__arrow_c_array__")


@dataclass(frozen=True)
class Field:
    """A column of an accepted input.

    Attributes:
        name: Its name.
        role: `id` (text; integers are spelled out), `integer` or `number`.
        required: Whether the input must have it.
        nullable: Whether it may hold nulls.
    """

    name: str
    role: Role
    required: bool = True
    nullable: bool = False


RUN = (
    Field("query_id", "id"),
    Field("doc_id", "id"),
    Field("chunk_id", "id", required=False, nullable=True),
    Field("score", "number", required=False, nullable=True),
    Field("rank", "integer", required=False, nullable=True),
)
QRELS = (
    Field("query_id", "id"),
    Field("doc_id", "id", required=False, nullable=True),
    Field("chunk_id", "id", required=False, nullable=True),
    Field("grade", "integer"),
    Field("source", "id", required=False),
    Field("judge", "id", required=False, nullable=True),
)
CHUNKS = (Field("chunk_id", "id"), Field("doc_id", "id"))


def normalise(
    data: Any, fields: Sequence[Field], name: str, *, coded: Collection[str] = ()
) -> pl.DataFrame:
    """Read all of `data`: see `open_table` and `read_table`."""
    return read_table(open_table(data, fields, name), fields, name, coded=coded)


def open_table(data: Any, fields: Sequence[Field], name: str) -> pl.LazyFrame:
    """Any accepted input as a LazyFrame that has the required columns.

    Args:
        data: Any accepted input; read once and never changed.
        fields: The columns that mean something; others are ignored.
        name: What the caller calls it, for messages: `run`, `qrels` or `chunks`.

    Raises:
        ContractError: The input is of no accepted kind or lacks a column.
    """
    lazy = _lazy(data, fields, name)
    _require(data, lazy.collect_schema().names(), fields, name)
    return lazy


def read_table(
    lazy: pl.LazyFrame,
    fields: Sequence[Field],
    name: str,
    *,
    wanted: Collection[str] | None = None,
    coded: Collection[str] = (),
) -> pl.DataFrame:
    """Read the columns of `fields` that are there, checked and cast to String, Int64, Float64.

    Args:
        lazy: What `open_table` returned.
        fields: The columns that mean something.
        name: What the caller calls it, for messages.
        wanted: Columns to read; the others are not even decoded. None reads all.
        coded: Ids that stay Categorical or Enum if they are: a quarter of the memory of text.

    Raises:
        ContractError: A column holds values of the wrong type, nulls where none may be, or
            numbers that are not finite; the message names rows, counted from 1.
    """
    narrow, present = narrowed(lazy, fields, name, wanted)
    return checked(narrow.collect(), present, name, coded=coded)


def narrowed(
    lazy: pl.LazyFrame, fields: Sequence[Field], name: str, wanted: Collection[str] | None
) -> tuple[pl.LazyFrame, list[Field]]:
    """The columns of `fields` that are there and wanted, and their fields; see `read_table`.

    Raises:
        ContractError: A column is of the wrong type.
    """
    schema = lazy.collect_schema()
    present = [f for f in fields if f.name in schema and (wanted is None or f.name in wanted)]
    for field in present:
        _check_type(schema[field.name], field, name)
    return lazy.select(f.name for f in present), present


def checked(
    frame: pl.DataFrame, present: Sequence[Field], name: str, *, coded: Collection[str]
) -> pl.DataFrame:
    """Rows of `narrowed`, as `read_table` returns them.

    Raises:
        ContractError: See `read_table`; the rows of `frame` are counted.
    """
    for field in present:
        check_values(frame.get_column(field.name), field, name)
    casts = [
        pl.col(f.name).cast(_TYPES[f.role])
        for f in present
        if frame.schema[f.name] != _TYPES[f.role]
        and (f.name not in coded or frame.schema[f.name] not in _CODED_TYPES)
    ]
    # A piece of a run is not worth a plan that does nothing.
    return frame.with_columns(casts) if casts else frame


def _lazy(data: Any, fields: Sequence[Field], name: str) -> pl.LazyFrame:
    """Any accepted input as a LazyFrame."""
    if isinstance(data, pl.LazyFrame):
        return data
    if isinstance(data, pl.DataFrame):
        return data.lazy()
    if isinstance(data, Mapping):
        return _nested(data, fields, name).lazy()
    if any(hasattr(data, capsule) for capsule in _CAPSULES) or _is_relation(data):
        frame = polars_frame(data, name)
        # pandas spells a missing value NaN, also in columns that hold no numbers.
        return frame.lazy().with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))
    raise ContractError(
        f"{name} is a {type(data).__name__}, which is no table",
        fix="Pass a Polars, pandas or Arrow table, a DuckDB relation, or {query: {doc: value}}; "
        "for a file use polars.scan_parquet(path).",
    )


def polars_frame(data: Any, name: str, **how: Any) -> pl.DataFrame:
    """`pl.DataFrame(data, **how)`, whose many kinds of error become one.

    Arrow tables are not copied: those of a mapped file stay there.

    Raises:
        ContractError: Two columns of one name, text that is no Unicode, a type Polars lacks, ….
    """
    try:
        if isinstance(data, pa.Table | pa.RecordBatch):
            data = pl.from_arrow(data, rechunk=False)
        return pl.DataFrame(data, **how)
    except (PolarsError, pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ContractError(
            f"{name} cannot be read as a table",
            problems=[
                f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()
            ],
            fix="Give every column a name of its own, one type, and text that is valid Unicode.",
        ) from error


def _is_relation(data: object) -> bool:
    """Whether `data` is a DuckDB relation, without importing DuckDB."""
    return type(data).__name__ == "DuckDBPyRelation"


def _nested(data: Mapping[Any, Any], fields: Sequence[Field], name: str) -> pl.DataFrame:
    """pytrec_eval's `{query: {doc: value}}` as rows; any other dict is refused."""
    if not all(isinstance(inner, Mapping) for inner in data.values()) or fields is CHUNKS:
        raise ContractError(
            f"{name} is a dict that is not {{query: {{doc: value}}}}",
            fix="Pass pytrec_eval's dict of dicts, or a table with the columns "
            + ", ".join(f.name for f in fields if f.required)
            + ".",
        )
    value = "grade" if fields is QRELS else "score"
    rows = [(str(q), str(d), v) for q, inner in data.items() for d, v in inner.items()]
    for number, (query, doc, given) in enumerate(rows, start=1):
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise ContractError(
                f"{name} holds a {value} that is no number",
                problems=[f"entry {number} ({query!r}, {doc!r}): {given!r}"],
                fix=f"Give every document a numeric {value}.",
            )
    dtype = pl.Float64 if any(isinstance(row[2], float) for row in rows) else pl.Int64
    schema = {"query_id": pl.String, "doc_id": pl.String, value: dtype}
    return polars_frame(rows, name, schema=schema, orient="row", strict=False)


def _require(data: object, columns: list[str], fields: Sequence[Field], name: str) -> None:
    """Refuse an input that lacks a required column; points at a pandas index that holds it."""
    missing = [f.name for f in fields if f.required and f.name not in columns]
    if not missing:
        return
    index = getattr(getattr(data, "index", None), "names", None) or ()
    in_index = [column for column in missing if column in index]
    fix = (
        f"{', '.join(in_index)} is in the index: call reset_index() first."
        if in_index
        else f"Rename the column. {suggestion(missing[0], columns)}"
    )
    raise ContractError(
        f"{name} has no column {', '.join(missing)}; it has {', '.join(columns) or 'none'}",
        fix=fix,
    )


def _check_type(dtype: pl.DataType, field: Field, name: str) -> None:
    """Refuse a column whose type cannot hold what the field means."""
    fine = dtype == pl.Null or (
        dtype in _ID_TYPES or dtype.is_integer() if field.role == "id" else dtype.is_numeric()
    )
    if not fine:
        meant = "text" if field.role == "id" else "a number"
        raise ContractError(
            f"{name}.{field.name} has type {dtype}, it must be {meant}",
            fix=f"Cast {field.name} before the call; ids are text: '007' is not 7.",
        )


def check_values(column: pl.Series, field: Field, name: str) -> None:
    """Refuse nulls, numbers that are not finite, and where integers are meant all else.

    Raises:
        ContractError: Names the first rows, counted from 1.
    """
    faults = {}
    if not field.nullable and column.has_nulls():
        faults["must not be null"] = column.is_null()
    if column.dtype.is_float() and not _all_finite(column):
        faults["must be a finite number"] = ~column.is_finite().fill_null(value=True)
    if field.role == "integer" and not column.dtype.is_integer():
        number = column.cast(pl.Float64)
        faults["must be an integer"] = (number != number.floor()).fill_null(value=False)
    if field.role == "integer" and column.dtype != pl.Int64:
        fitting = column.cast(pl.Int64, strict=False)
        faults["must fit in 64 bits"] = fitting.is_null() & column.is_not_null()
    for what, bad in faults.items():
        if bad.any():
            rows = bad.arg_true()
            raise ContractError(
                f"{name}.{field.name} {what}",
                problems=[
                    f"row {row + 1}: {value!r}"
                    for row, value in zip(rows, column.gather(rows), strict=True)
                ],
                fix=f"Correct or leave out these rows of {name}.",
            )


def _all_finite(column: pl.Series) -> bool:
    """Whether every number is finite; nulls are left out."""
    # NumPy finds the ends of a chunk, or its NaN, in a tenth of the time of Polars.
    known = column.drop_nulls() if column.has_nulls() else column
    chunks = (chunk.to_numpy() for chunk in known.get_chunks())
    return all(np.isfinite([part.min(), part.max()]).all() for part in chunks if part.size)
