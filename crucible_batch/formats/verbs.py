"""Which verb takes which table (CONTRACTS.md), and which table a file holds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from pathlib import Path

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.table import Table
from crucible_batch.errors import ContractError


class Verb(StrEnum):
    """What is loaded."""

    GOLDEN = "golden"
    QRELS = "qrels"
    RUN = "run"
    CORPUS = "corpus"
    POLICY = "policy"
    CACHE = "cache"
    ANCHORS = "anchors"


VERB_TABLES: dict[Verb, tuple[str, ...]] = {
    Verb.GOLDEN: ("golden_items", "golden_assertions", "golden_concepts", "golden_citations"),
    Verb.QRELS: ("qrels", "chunks"),
    Verb.RUN: (
        "results",
        "retrievals",
        "answer_citations",
        "assertion_verdicts",
        "claims",
        "detected_concepts",
        "checks",
        "external_scores",
        "external_run_metrics",
        "plugin_metrics",
        "runs",
        "run_events",
        "config_snapshots",
    ),
    Verb.CORPUS: ("documents", "entities", "mentions", "chunks", "corpus_versions"),
    Verb.POLICY: ("policy_decisions",),
    Verb.CACHE: ("cache_entries", "cache_observations"),
    Verb.ANCHORS: ("anchors",),
}
"""The first table is the one the verb is about."""

CHILDREN: dict[str, dict[str, str]] = {
    "golden_items": {
        "assertions": "golden_assertions",
        "concepts": "golden_concepts",
        "citations": "golden_citations",
    },
    "results": {
        "retrievals": "retrievals",
        "citations": "answer_citations",
        "verdicts": "assertion_verdicts",
        "claims": "claims",
        "concepts": "detected_concepts",
        "checks": "checks",
        "scores": "external_scores",
    },
}
"""Keys of a JSON line that hold rows of other tables."""

PARENT_KEYS: dict[str, tuple[str, ...]] = {
    "golden_items": ("workspace_id", "item_id", "revision"),
    "results": ("workspace_id", "run_id", "item_id", "sample_index"),
}
"""Columns that a child row takes from its line."""

MAIN: dict[Verb, str] = {
    Verb.GOLDEN: "golden_items",
    Verb.QRELS: "qrels",
    Verb.RUN: "results",
    Verb.POLICY: "policy_decisions",
    Verb.ANCHORS: "anchors",
}
"""What a JSON Lines file holds when neither its name nor its first line says; absent: it must."""

MAY_BE_EMPTY = frozenset(table for group in CHILDREN.values() for table in group.values())
"""Tables for which no rows at all is a statement: reported, and empty."""


def named_table(name: str, verb: Verb) -> str | None:
    """The verb's table a file name begins with (`results.parquet`, `results-7.parquet`)."""
    stem = re.split(r"[.-]", name, maxsplit=1)[0]
    return stem if stem in VERB_TABLES[verb] else None


def choose_table(path: Path, verb: Verb, columns: Collection[str]) -> str | None:
    """Say which of the verb's tables a file holds.

    The file name decides; of a name with a suffix only unless the columns fit another table and
    not that one (`runs-7` may well hold results). Then the folder's name if the columns fit that
    table; then the columns if they fit exactly one table.

    Returns:
        The table's name, or None when several tables or none would fit.
    """
    named = named_table(path.name, verb)
    if not columns or path.name.split(".", maxsplit=1)[0] == named:
        return named
    folder = path.parent.name
    fitting = [name for name in VERB_TABLES[verb] if fits(TABLES[name], columns)]
    if named and (named in fitting or not fitting):
        return named
    if folder in fitting:
        return folder
    if not fitting:
        fitting = [n for n in VERB_TABLES[verb] if set(TABLES[n].names).issuperset(columns)]
    return fitting[0] if len(fitting) == 1 else None


def fits(table: Table, columns: Collection[str]) -> bool:
    """Whether the table knows all `columns` and they are all it needs."""
    needed = {column.name for column in table.columns if not column.optional}
    return needed <= set(columns) <= set(table.names)


def undecided(source: str, verb: Verb, columns: Iterable[str]) -> ContractError:
    """The error for a file whose table cannot be told."""
    found = ", ".join(columns) or "none"
    return ContractError(
        f"{source} could be more than one table, or none",
        problems=[f"its columns are {found}"],
        fix=f"name the file after its table: one of {', '.join(VERB_TABLES[verb])}; "
        "`crucible schema TABLE` prints the columns",
    )
