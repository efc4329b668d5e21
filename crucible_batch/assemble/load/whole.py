"""A result, a golden item, the judgments of a query: each stands or falls with its own rows.

A score is computed from all rows of a result. Were one of them refused and the others kept, it
would be the score of an answer without its bad claim, of a ranking without its odd document: too
high, and nobody would see it. So the parent of a refused row is refused with all its rows; it then
counts as missing, which every number says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from crucible_batch.assemble.load.report import Tally

HERE: Final = ["_source_file", "_source_row"]
ORPHANED: Final = r"^item_id: (no_result|parent_quarantined|unknown_item): "
"""Reasons of rows that are refused for the parent they name, not for a value of their own."""

CHILD_QUARANTINED: Final = pl.format("item_id: child_quarantined: {}", "_why")


def refused_rows(tallies: Mapping[str, Tally], key: Sequence[str]) -> dict[str, pl.LazyFrame]:
    """The rows of child tables that were refused for a value of their own.

    Args:
        tallies: Child tables, and where their rows went.
        key: The column that names the item, and those that tell its parents apart.

    Returns:
        For each table that has such rows: the key, `HERE`, `_why` (place and first reason), and
        `_names_none` and `_names_all`: the row says no item, or not which of the item's parents.
    """
    own = pl.element().filter(~pl.element().str.contains(ORPHANED))
    faults = pl.col("_reasons").list.eval(own)
    columns = faults.list.eval(pl.element().str.split(": ").list.first())
    found = {}
    for table, tally in tallies.items():
        if not tally.pieces:
            continue
        place = pl.format("{} of {} row {}: ", pl.lit(table), *HERE)
        rows = pl.concat(tally.pieces, how="diagonal").filter(faults.list.len() > 0)
        found[table] = rows.select(
            *key,
            *HERE,
            _why=pl.concat_str(place, faults.list.first()),
            _names_none=pl.col(key[0]).is_null() | columns.list.contains(key[0]),
            _names_all=pl.any_horizontal(
                [pl.lit(value=False), *[columns.list.contains(name) for name in key[1:]]]
            ),
        )
    return found


def incomplete(
    refused: Mapping[str, pl.LazyFrame],
    parents: pl.DataFrame,
    lines: pl.DataFrame,
    key: Sequence[str],
) -> pl.DataFrame:
    """The parents that refused rows are missing from.

    A row that stands under a parent belongs to that one, whatever it says; any other row to the
    parent it names. If it names an item, but which of its parents cannot be read, to all of them.

    Args:
        refused: As from `refused_rows`.
        parents: The key and `HERE` of parents; `HERE` is null for those of an earlier load.
        lines: `HERE` of all parents handed in, refused ones too.
        key: As for `refused_rows`.

    Returns:
        The key of each parent and `_why`: the first row it lacks.
    """
    if not refused:
        return parents.select(key).clear().with_columns(_why=pl.lit("", pl.String))
    lost = pl.concat(refused.values()).collect()
    loose = lost.join(lines, on=HERE, how="anti").filter(~pl.col("_names_none"))
    names = parents.select(key).unique()
    found = [
        parents.join(lost.drop(key), on=HERE),
        names.join(loose, on=key),
        names.join(loose.filter("_names_all").drop(key[1:]), on=key[0]),
    ]
    every = pl.concat([rows.select(*key, *HERE, "_why") for rows in found])
    return every.sort(*key, *HERE, "_why").unique(key, keep="first").select(*key, "_why").sort(key)


def nameless(refused: Mapping[str, pl.LazyFrame], lines: pl.DataFrame) -> tuple[str, ...]:
    """Refused rows, in words, that neither name an item nor stand under one.

    Args:
        refused: As from `refused_rows`.
        lines: As for `incomplete`.
    """
    if not refused:
        return ()
    lost = pl.concat(refused.values()).filter("_names_none").collect()
    return tuple(lost.join(lines, on=HERE, how="anti").sort(*HERE, "_why")["_why"])
