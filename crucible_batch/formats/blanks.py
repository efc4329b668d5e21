"""Columns between blanks, parsed in blocks: by Polars where clean, line by line where not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from crucible_batch.formats.chunk import reason
from crucible_batch.formats.lines import blocks, readable
from crucible_batch.formats.sources import Source

BLOCK_BYTES = 1 << 23
BLANKS = bytes.maketrans(b"\t\v\f\r", b"    ")
LINE = "_source_row"


@dataclass(frozen=True)
class Parsed:
    """One block of a file.

    Attributes:
        good: One row per line with the right number of columns: the columns as text, and
            `_source_row`, the line number from 1.
        bad: The other lines but for blank ones: line number, reason, text.
    """

    good: pl.DataFrame
    bad: list[tuple[int, str, str]]


def parse(source: Source, columns: Sequence[str]) -> Iterator[Parsed]:
    """Parse a file whose lines hold `columns` between any blanks; nothing is a comment or a quote.

    Raises:
        ContractError: The file is cut off or damaged.
    """
    first = 1
    for raw in blocks(source, BLOCK_BYTES):
        block = _single_blanks(raw)
        yield _clean(block, columns, first) or _one_by_one(block, columns, first)
        first += block.count(b"\n")


def _single_blanks(block: bytes) -> bytes:
    """The block with one space between columns and none around lines; every line keeps its end."""
    block = block.translate(BLANKS)
    while b"  " in block:
        block = block.replace(b"  ", b" ")
    block = block.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    return block if block.endswith(b"\n") else block + b"\n"


def _table(block: bytes, columns: Sequence[str]) -> pl.DataFrame:
    return pl.read_csv(
        block,
        separator=" ",
        has_header=False,
        quote_char=None,
        schema={name: pl.String() for name in columns},
    )


def _clean(block: bytes, columns: Sequence[str], first: int) -> Parsed | None:
    """The whole block at once, or None if any of its lines is odd."""
    try:
        table = _table(block, columns)
    except pl.exceptions.PolarsError:
        return None
    if table.height != block.count(b"\n") or table[columns[-1]].null_count():
        return None
    numbers = pl.int_range(first, first + table.height, dtype=pl.Int64, eager=True)
    return Parsed(table.with_columns(numbers.alias(LINE)), [])


def _one_by_one(block: bytes, columns: Sequence[str], first: int) -> Parsed:
    """Keep the lines with the right number of columns, say of the others what is wrong."""
    good: list[bytes] = []
    numbers: list[int] = []
    bad: list[tuple[int, str, str]] = []
    for number, line in enumerate(block.split(b"\n")[:-1], start=first):
        check = _fault(line, columns)
        if check is None:
            good.append(line)
            numbers.append(number)
        elif line:
            text = readable(line)
            bad.append((number, reason("line", check, text), text))
    if not good:
        return Parsed(
            pl.DataFrame(schema={**dict.fromkeys(columns, pl.String()), LINE: pl.Int64()}), bad
        )
    table = _table(b"\n".join(good) + b"\n", columns)
    return Parsed(table.with_columns(pl.Series(LINE, numbers, dtype=pl.Int64())), bad)


def _fault(line: bytes, columns: Sequence[str]) -> str | None:
    found = line.count(b" ") + 1 if line else 0
    if found != len(columns):
        return f"{found} columns, not {len(columns)} ({' '.join(columns)})"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {error.start + 1})"
    return None
