"""Keys that are already there: the same content is a no-op, other content is refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from crucible_batch.contracts import Table
from crucible_batch.errors import ConflictError

SHOWN_CHARACTERS = 60


class OvertakenError(ConflictError):
    """Another load wrote to the same run meanwhile: what was checked has to be checked again."""


def settle(table: Table, rows: pl.DataFrame, stored: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Separate rows that are new from rows that are stored already.

    Args:
        table: Their contract.
        rows: Valid rows with unique keys.
        stored: Stored rows; rows of other keys are ignored.

    Returns:
        The new rows, and how many are stored already with the same content.

    Raises:
        ConflictError: A key is stored with other content; names key, column and both values.
    """
    key = list(table.key)
    refuse_changed(table, rows, stored)
    new = rows.join(stored, on=key, how="anti", nulls_equal=True, maintain_order="left")
    return new, rows.height - new.height


def refuse_changed(table: Table, rows: pl.DataFrame, stored: pl.DataFrame) -> None:
    """Raise if a row is stored under its key with other content.

    Raises:
        ConflictError: Names key, column and both values.
    """
    key, content = list(table.key), [n for n in table.content if n not in table.key]
    both = rows.join(stored, on=key, how="inner", nulls_equal=True, suffix="_stored")
    differs = pl.any_horizontal(
        [pl.lit(value=False), *[pl.col(n).ne_missing(pl.col(f"{n}_stored")) for n in content]]
    )
    changed = both.filter(differs).sort(key)
    if changed.height:
        raise ConflictError(
            f"{table.name} is already stored with other content in {changed.height:,} of the rows",
            problems=[_difference(row, key, content) for row in changed.head(6).to_dicts()],
            fix="stored rows never change: load new output under another run id or version.",
        )


def _difference(row: dict[str, object], key: Sequence[str], content: Sequence[str]) -> str:
    at = ", ".join(f"{name} {_shown(row[name])}" for name in key if name != "workspace_id")
    name = next(name for name in content if row[name] != row[f"{name}_stored"])
    old, new = (_shown(row[n]) for n in (f"{name}_stored", name))
    return f"{at}: {name} is {old}, the input says {new}"


def _shown(value: object) -> str:
    text = value.isoformat() if isinstance(value, datetime) else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
