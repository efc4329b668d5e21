"""What every table promises: declarations, vocabularies, conforming and validation."""

from __future__ import annotations

from crucible_batch.contracts import corpus, golden, outputs, qrels, runs, trails, views, watch
from crucible_batch.contracts.table import Column, Kind, Role, Rule, Storage, Table
from crucible_batch.errors import UnknownNameError

ALL: tuple[Table, ...] = (
    *golden.TABLES,
    *qrels.TABLES,
    *runs.TABLES,
    *corpus.TABLES,
    *trails.TABLES,
    *outputs.TABLES,
    *watch.TABLES,
    *views.TABLES,
)
"""Every table, in the order of the handbook."""

TABLES: dict[str, Table] = {table.name: table for table in ALL}
"""Every table by name."""


def get_table(name: str) -> Table:
    """Return the table called `name`.

    Raises:
        UnknownNameError: If there is none; it says which names are near.
    """
    if name not in TABLES:
        raise UnknownNameError("table", name, tuple(TABLES))
    return TABLES[name]


__all__ = [
    "ALL",
    "TABLES",
    "Column",
    "Kind",
    "Role",
    "Rule",
    "Storage",
    "Table",
    "get_table",
]
