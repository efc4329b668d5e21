"""Arrow batches as Polars frames: texts that are not UTF-8, and types Polars cannot hold.

Arrow trusts the bytes of a text column and Polars does so after it; a file written by a program
that keeps lone surrogates, or by a damaged one, would end the process later on.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from crucible_batch.contracts.conform import META, row_json
from crucible_batch.errors import ContractError
from crucible_batch.formats.chunk import Findings, reason
from crucible_batch.formats.lines import decode_text


def to_polars(batch: pa.RecordBatch, source: str, findings: Findings) -> pl.DataFrame:
    """Turn a batch into a frame.

    Lone surrogates become U+FFFD and are counted. A text that is not UTF-8 otherwise becomes null;
    its row gets a reason, and `_row` with the bad bytes replaced.

    Args:
        batch: Columns of one Parquet file.
        source: Its name, for messages.
        findings: Receives the number of replaced surrogates.

    Returns:
        The columns, and the meta columns `_reasons` and `_row` if any text had to be given up.

    Raises:
        ContractError: A column has a type or time zone that no contract type can stand for.
    """
    _require_types(batch.schema, source)
    columns: list[Any] = []
    broken: dict[str, list[int]] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not _is_valid(column):
            column, broken[name] = _repaired(column, findings)  # noqa: PLW2901
        columns.append(column)
    table = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    try:
        frame = pl.DataFrame(pl.from_arrow(table))
    except pl.exceptions.PolarsError as error:  # an unknown time zone
        raise ContractError(
            f"{source} has a column that cannot be read",
            problems=[str(error).splitlines()[0]],
            fix="convert times to UTC where the file is written",
        ) from error
    return _with_reasons(frame, {name: rows for name, rows in broken.items() if rows})


def _require_types(schema: pa.Schema, source: str) -> None:
    problems = [
        f"column {field.name!r} is {field.type}"
        for field in schema
        if pa.types.is_decimal256(field.type)
    ]
    if problems:
        raise ContractError(
            f"{source} has columns that cannot be read",
            problems=problems,
            fix="convert them to double where the file is written",
        )


def _is_valid(column: pa.Array) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _repaired(column: pa.Array, findings: Findings) -> tuple[pa.Array, list[int]]:
    """The column in valid UTF-8, and the rows in which bytes were replaced that mean nothing."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    nested = pa.types.is_nested(column.type)
    raw = column.cast(pa.list_(pa.large_binary()) if nested else pa.large_binary()).to_pylist()
    texts: list[Any] = []
    broken: list[int] = []
    for at, value in enumerate(raw):
        parts = [_decoded(part, findings) for part in (value if nested else [value]) or []]
        if any(is_broken for _, is_broken in parts):
            broken.append(at)
        found = [text for text, _ in parts]
        texts.append((found if value is not None else None) if nested else found[0])
    return pa.array(texts, pa.list_(pa.large_string()) if nested else pa.large_string()), broken


def _decoded(raw: bytes | None, findings: Findings) -> tuple[str | None, bool]:
    if raw is None:
        return None, False
    try:
        text, n_replaced = decode_text(raw)
    except UnicodeDecodeError:
        return raw.decode(errors="replace"), True
    findings.n_replaced_surrogates += n_replaced
    return text, False


def _with_reasons(frame: pl.DataFrame, broken: dict[str, list[int]]) -> pl.DataFrame:
    if not broken:
        return frame
    reasons: list[list[str]] = [[] for _ in range(frame.height)]
    for name, rows in broken.items():
        for at in rows:
            reasons[at].append(reason(name, "not UTF-8", frame[name].gather([at]).to_list()[0]))
    bad = pl.Series("_reasons", reasons, dtype=META["_reasons"])
    number = pl.int_range(pl.len())
    return frame.with_columns(
        *[pl.when(~number.is_in(rows)).then(name).alias(name) for name, rows in broken.items()],
        bad,
        pl.when(bad.list.len() > 0).then(row_json(frame)).alias("_row"),
    )
