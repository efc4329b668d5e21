"""Golden sets of a workspace, their versions, and their items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.assemble.evaluate.ruler import load_golden_set
from crucible_batch.assemble.load.run_ruler import current_hash
from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.metrics.facts import Golden
from crucible_batch.store import Snapshot

HASH_PREFIX = "sha256:"
SHORTEST = 6
"""Fewest hex digits that name a hash."""

CHILDREN = {
    "assertions": ("golden_assertions", ("assertion_id", "level", "text", "concept_id")),
    "concepts": ("golden_concepts", ("entity_id", "relevance")),
    "citations": ("golden_citations", ("doc_id", "chunk_id", "kind")),
}
"""Key of an item's JSON to its table and the columns shown."""


@dataclass(frozen=True, kw_only=True)
class GoldenVersion:
    """The version of a golden set that counts now.

    Attributes:
        golden_set: Its name.
        golden_set_hash: Its hash.
        n_items: Active items.
        n_retired: Items whose newest revision is retired.
        commit: The commit that first had this version; None when it has no item.
    """

    golden_set: str
    golden_set_hash: str
    n_items: int
    n_retired: int
    commit: int | None


def list_sets(snapshot: Snapshot) -> list[GoldenVersion]:
    """The golden sets of a workspace, by name, each in its present version."""
    rows = snapshot.read("golden_items").select("item_id", "revision", "golden_set", "retired")
    newest = rows.collect().filter(pl.col("revision") == pl.col("revision").max().over("item_id"))
    versions = snapshot.read("golden_set_versions").collect()
    found = []
    for name in sorted(set(newest["golden_set"])):
        own = newest.filter(pl.col("golden_set") == name)
        value = current_hash(snapshot, name)
        commits = versions.filter(pl.col("golden_set_hash") == value)["_commit"]
        n_retired = int(own["retired"].sum())
        found.append(
            GoldenVersion(
                golden_set=name,
                golden_set_hash=value,
                n_items=own.height - n_retired,
                n_retired=n_retired,
                commit=min(commits.to_list(), default=None),
            )
        )
    return found


def the_set(snapshot: Snapshot, name: str | None) -> GoldenVersion:
    """The set of a name, or the only one there is.

    Raises:
        UnknownNameError: No set has the name.
        UsageError: There is none, or there are several and none was named.
    """
    sets = list_sets(snapshot)
    names = [one.golden_set for one in sets]
    if name is not None:
        if name not in names:
            raise UnknownNameError("golden set", name, names)
        return sets[names.index(name)]
    if len(sets) == 1:
        return sets[0]
    if not sets:
        raise UsageError("There is no golden set yet", fix="crucible load golden FILE.")
    raise UsageError(
        f"There are {len(sets)} golden sets", problems=names, fix="Say which, with --golden-set."
    )


def resolve_hash(snapshot: Snapshot, name: str) -> str:
    """The golden-set hash that a name stands for.

    Args:
        snapshot: What is visible.
        name: A hash or the first six or more hex digits of one, the name of a set (its present
            version), or the id of a run (the version it pinned).

    Raises:
        UnknownNameError: It stands for none.
        UsageError: Several hashes begin like this.
    """
    versions = snapshot.read("golden_set_versions").collect()
    known: list[str] = sorted(set(versions["golden_set_hash"]))
    if name in known:
        return name
    sets = {one.golden_set: one.golden_set_hash for one in list_sets(snapshot)}
    if name in sets:
        return sets[name]
    pins = snapshot.read("runs").select("run_id", "golden_set_hash").collect()
    runs: dict[str, str] = dict(pins.iter_rows())
    if name in runs:
        return runs[name]
    digits = name.removeprefix(HASH_PREFIX)
    fitting = [one for one in known if one.removeprefix(HASH_PREFIX).startswith(digits)]
    if len(digits) < SHORTEST or not fitting:
        raise UnknownNameError("golden set, version or run", name, [*sets, *known, *runs])
    if len(fitting) > 1:
        raise UsageError(
            f"{len(fitting)} versions begin with {name!r}", problems=fitting, fix="Say more digits."
        )
    return fitting[0]


def list_items(snapshot: Snapshot, golden_set_hash: str) -> pl.DataFrame:
    """The items of a version, one row each, sorted by item_id.

    Returns:
        item_id, revision, question_type, popularity, shape, answerable, n_must, n_should,
        n_required (documents), tags, question.
    """
    golden = load_golden_set(snapshot, golden_set_hash)
    level, required = pl.col("level"), pl.col("kind") == "required"
    counts = golden.assertions.group_by("item_id").agg(
        n_must=(level == "must").sum().cast(pl.Int64),
        n_should=(level == "should").sum().cast(pl.Int64),
    )
    cited = (
        golden.citations.filter(required)
        .group_by("item_id")
        .agg(n_required=pl.col("doc_id").n_unique().cast(pl.Int64))
    )
    return (
        golden.items.join(counts, on="item_id", how="left")
        .join(cited, on="item_id", how="left")
        .select(
            *("item_id", "revision", "question_type", "popularity", "shape", "answerable"),
            pl.col("n_must", "n_should", "n_required").fill_null(0),
            "tags",
            "question",
        )
        .sort("item_id")
    )


def item_detail(snapshot: Snapshot, golden_set_hash: str, item_id: str) -> dict[str, Any]:
    """One item of a version with its children, as `crucible load golden` reads it.

    Raises:
        UnknownNameError: The version has no such item.
    """
    items = as_objects(load_golden_set(snapshot, golden_set_hash))
    if item_id not in items:
        raise UnknownNameError("item of this version", item_id, sorted(items))
    return items[item_id]


def as_objects(golden: Golden) -> dict[str, dict[str, Any]]:
    """The items of a version as nested objects, by item_id; children sorted by their keys."""
    items = {
        row["item_id"]: {name: row[name] for name in row if name != "workspace_id"}
        | {name: [] for name in CHILDREN}
        for row in golden.items.sort("item_id").iter_rows(named=True)
    }
    frames = dict(
        zip(CHILDREN, (golden.assertions, golden.concepts, golden.citations), strict=True)
    )
    for name, (table, columns) in CHILDREN.items():
        for row in frames[name].sort(TABLES[table].key).iter_rows(named=True):
            items[row["item_id"]][name].append({column: row[column] for column in columns})
    return items
