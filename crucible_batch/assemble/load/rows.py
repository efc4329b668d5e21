"""Steps every load shares: fill what an input may leave out, split, and count."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from crucible_batch.assemble.load.report import Tallies, Tally
from crucible_batch.contracts import TABLES, Table
from crucible_batch.contracts.conform import META, complete
from crucible_batch.contracts.validate import Split, reject, split, split_duplicates
from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats.chunk import Chunk


def gather(chunks: Iterable[Chunk]) -> dict[str, pl.DataFrame]:
    """Collect chunks into one completed frame per table, in the order of the inputs."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for chunk in chunks:
        frames.setdefault(chunk.table, []).append(complete(TABLES[chunk.table], chunk.frame))
    return {name: pl.concat(parts) for name, parts in frames.items()}


def fill_constant(frame: pl.DataFrame, column: str, value: str, *, option: str) -> pl.DataFrame:
    """Fill a column that must hold one value everywhere; refuse rows that say another one.

    Raises:
        ContractError: A row names another value; the error says which row of which file.
    """
    other = frame.filter(pl.col(column).is_not_null() & (pl.col(column) != value))
    if other.height:
        first = other.row(0, named=True)
        raise ContractError(
            f"The input holds rows of {column} {first[column]!r}, not of {value!r}",
            problems=[
                f"{row['_source_file']} row {row['_source_row']}: {column} is {row[column]!r}"
                for row in other.unique(column, maintain_order=True).iter_rows(named=True)
            ],
            fix=f"load one {column} at a time, or name it with {option} {first[column]}.",
        )
    return frame.with_columns(pl.lit(value).alias(column))


def one_value(frames: Iterable[pl.DataFrame], column: str, given: str | None) -> str | None:
    """The one value of `column` in the frames, or `given`; None when nobody says.

    Raises:
        UsageError: The frames hold several values and none was asked for.
    """
    if given is not None:
        return given
    found = sorted(
        {
            value
            for frame in frames
            if column in frame.columns
            for value in frame[column].drop_nulls().unique()
        }
    )
    if len(found) > 1:
        raise UsageError(
            f"The input holds {len(found)} values of {column}",
            problems=found,
            fix=f"load one {column} at a time: put each into files of its own.",
        )
    return found[0] if found else None


def admit(table: Table, frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Split rows by their contract and their keys; count; return the good ones with meta."""
    tally.n_in += frame.height
    good = keep(split(table, frame), tally)
    unique = split_duplicates(table, good)
    tally.n_already_there += unique.n_already_there
    return keep(unique, tally)


def keep(parts: Split, tally: Tally) -> pl.DataFrame:
    """Put the bad rows aside and return the good ones."""
    tally.put_aside(parts.quarantined)
    return parts.accepted


def refuse_orphans(
    frame: pl.DataFrame,
    parents: pl.DataFrame,
    on: list[str],
    reason: pl.Expr,
    tally: Tally,
) -> pl.DataFrame:
    """Put aside rows whose parent is not among `parents`; null key parts count as equal."""
    known = parents.select(on).unique()
    orphans = frame.join(known, on=on, how="anti", nulls_equal=True, maintain_order="left")
    tally.put_aside(reject(orphans, pl.lit(value=True), reason).quarantined)
    return frame.join(known, on=on, how="semi", nulls_equal=True, maintain_order="left")


def without_meta(frame: pl.DataFrame) -> pl.DataFrame:
    """Contract columns only."""
    return frame.drop([name for name in META if name in frame.columns])


def tallies_for(tables: Iterable[str]) -> Tallies:
    """An empty tally per table."""
    return {name: Tally() for name in tables}
