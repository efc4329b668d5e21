"""Steps every load shares: fill what an input may leave out, split, and count."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load.report import Tallies, Tally
from crucible_batch.contracts import TABLES, Kind, Table
from crucible_batch.contracts.conform import META, complete, reason
from crucible_batch.contracts.validate import Split, reject, split, split_duplicates
from crucible_batch.errors import ContractError
from crucible_batch.formats.chunk import Chunk

Check = Callable[[pl.DataFrame, Tally], pl.DataFrame]
"""Puts rows aside that break a rule across tables, and returns the others."""

ALWAYS = pl.lit(value=True)


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


def _as_they_are(frame: pl.DataFrame, _: Tally) -> pl.DataFrame:
    """The check of tables that no rule across tables speaks of."""
    return frame


def admit(
    table: Table,
    frame: pl.DataFrame,
    tally: Tally,
    *,
    later: Iterable[str] = (),
    check: Check = _as_they_are,
) -> pl.DataFrame:
    """Split rows by their contract, by `check` and by their keys; count; return the good ones."""
    tally.n_in += frame.height
    good = check(keep(split(table, canonical(table, frame), later=later), tally), tally)
    return keep(split_duplicates(table, good), tally)


def canonical(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """JSON columns as canonical text; a value that is no JSON stays, and is a reason."""
    for column in table.columns:
        name = column.name
        if column.kind is not Kind.JSON or frame[name].null_count() == frame.height:
            continue
        texts = [None if text is None else canonical_text(text) for text in frame[name]]
        fixed = pl.Series("_fixed", texts, dtype=pl.String)
        broken = pl.col("_fixed").is_null() & pl.col(name).is_not_null()
        problem = pl.when(broken).then(pl.concat_list(reason(name, "not_json", pl.col(name))))
        frame = (
            frame.with_columns(fixed)
            .with_columns(_reasons=pl.col("_reasons").list.concat(problem.fill_null([])))
            .with_columns(pl.coalesce("_fixed", name).alias(name))
            .drop("_fixed")
        )
    return frame


def canonical_text(text: str) -> str | None:
    """The canonical form of a JSON text, or None if it is none; NaN and infinities are none."""
    try:
        return json.dumps(
            json.loads(text),
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
            allow_nan=False,
        )
    except (ValueError, RecursionError):
        return None


def keep(parts: Split, tally: Tally) -> pl.DataFrame:
    """Put the bad rows aside, note the copies, and return the good rows."""
    tally.put_aside(parts.quarantined)
    tally.note_copies(parts.copies)
    return parts.accepted


def refuse_orphans(
    frame: pl.DataFrame,
    parents: pl.DataFrame,
    on: list[str],
    reason: pl.Expr,
    tally: Tally,
) -> pl.DataFrame:
    """Put aside rows whose parent is not among `parents`; null key parts count as equal.

    Copies of a row go with it: a row that is stored nowhere is not already there.
    """
    known = parents.select(on).unique()
    orphans = frame.join(known, on=on, how="anti", nulls_equal=True, maintain_order="left")
    orphans = pl.concat([orphans, *tally.recall_copies(known, on, how="anti")])
    tally.put_aside(reject(orphans, ALWAYS, reason).quarantined)
    return frame.join(known, on=on, how="semi", nulls_equal=True, maintain_order="left")


def refuse_among(
    frame: pl.DataFrame, keys: pl.DataFrame, on: list[str], reason: pl.Expr, tally: Tally
) -> pl.DataFrame:
    """Put aside rows whose key is among `keys`, and copies of such rows.

    Args:
        frame: Rows, with meta columns.
        keys: Distinct keys; `reason` may name further columns of theirs.
        on: Columns of the key.
        reason: Why.
        tally: Counts.
    """
    if keys.is_empty():
        return frame
    names = keys.select(on)
    hit = frame.join(names, on=on, how="semi", nulls_equal=True, maintain_order="left")
    hit = pl.concat([hit, *tally.recall_copies(names, on, how="semi")])
    told = hit.join(keys, on=on, how="left", nulls_equal=True, maintain_order="left")
    tally.put_aside(reject(told, ALWAYS, reason).quarantined)
    return frame.join(names, on=on, how="anti", nulls_equal=True, maintain_order="left")


def contract_rows(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows without what only the load needs."""
    return frame.select(table.names)


def with_meta(table: Table, row: dict[str, object], source: str) -> pl.DataFrame:
    """One row that no table of the input holds, with meta columns, so that it can be checked."""
    meta = {"_source_file": source, "_source_row": 1, "_reasons": [], "_row": None}
    return pl.DataFrame([row | meta], schema={**table.schema, **META})


def tallies_for(tables: Iterable[str], spill: Path | None = None) -> Tallies:
    """An empty tally per table."""
    return {name: Tally(spill) for name in tables}
