"""What a reader hands on: chunks of contract tables, and what it learned beside the rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from crucible_batch.contracts.conform import META, SHOWN_CHARACTERS


@dataclass(frozen=True)
class Chunk:
    """Rows of one contract table.

    Attributes:
        table: Name of the contract table.
        frame: The contract columns found, in contract types, and the columns of
            `contracts.conform.META`. A column
            that no row of the chunk gives is absent. `_source_row` is the row of a Parquet file,
            the line of a text file, or the pair of a gold set, from 1. An empty `_reasons` list
            says that reading found nothing wrong; `_row` is null then.
    """

    table: str
    frame: pl.DataFrame


@dataclass
class Findings:
    """What the inputs state beside their rows; complete once the chunks are consumed.

    Attributes:
        run: Content of a first line `{"run": {…}}`, as it stands: the loader checks its keys.
        run_source: The file that gave `run`.
        target: Payload of the target snapshot that a gold set names (rewrite_n, top_k).
        tags: Run tags of TREC files.
        reported: Tables whose key stood on any line, or that have a file of their own.
        n_rows: Rows handed on, by table.
        n_replaced_surrogates: Lone surrogates replaced by U+FFFD.
        n_repeated_questions: Pairs of a gold set that repeat an earlier one word for word. They
            are handed on like the others, and count as already there.
    """

    run: dict[str, Any] | None = None
    run_source: str | None = None
    target: dict[str, int] | None = None
    tags: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)
    n_rows: dict[str, int] = field(default_factory=dict)
    n_replaced_surrogates: int = 0
    n_repeated_questions: int = 0


@dataclass(frozen=True)
class Reading:
    """A lazy reading of inputs.

    Attributes:
        chunks: Bounded chunks, made as they are asked for; to be consumed once.
        findings: Filled while the chunks are consumed.
    """

    chunks: Iterator[Chunk]
    findings: Findings


def reason(column: str, check: str, value: object) -> str:
    """Say what is wrong with one value: `column: check: value`, the value cut to 80 characters."""
    return f"{column}: {check}: {shown(value)}"


def shown(value: object) -> str:
    """The value as people see it in a message: text as it is, all else as JSON; cut short."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:SHOWN_CHARACTERS]


def meta_columns(
    source: str,
    rows: pl.Series | list[int] | range,
    reasons: list[list[str]] | None = None,
    texts: list[str | None] | None = None,
) -> list[pl.Series]:
    """The columns of `META` for rows of one source.

    Args:
        source: The file as the user named it.
        rows: Row or line numbers, from 1.
        reasons: What is wrong with each row; None when nothing is.
        texts: The rows as handed in; None when no row needs it.
    """
    n = len(rows)
    return [
        pl.repeat(source, n, dtype=pl.String(), eager=True).alias("_source_file"),
        pl.Series("_source_row", rows, dtype=pl.Int64()),
        (
            pl.Series("_reasons", [[]], dtype=META["_reasons"]).new_from_index(0, n)
            if reasons is None
            else pl.Series("_reasons", reasons, dtype=META["_reasons"])
        ),
        (
            pl.repeat(None, n, dtype=pl.String(), eager=True).alias("_row")
            if texts is None
            else pl.Series("_row", texts, dtype=pl.String())
        ),
    ]
