"""The golden items a run is measured by: the version of a golden set that its hash names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.errors import ContractError, UnknownNameError, UsageError
from crucible_batch.store.golden_hash import hash_of_items, item_hashes
from crucible_batch.store.snapshot import Snapshot

NO_SET = "load one first: crucible load golden FILE."
REVISION = ["item_id", "revision"]


@dataclass(frozen=True, kw_only=True)
class Ruler:
    """The golden items a run is measured by.

    Attributes:
        items: item_id, revision, has_contexts of the pinned set.
        assertions: item_id, assertion_id of the pinned revisions.
    """

    golden_set: str
    golden_set_hash: str
    items: pl.DataFrame
    assertions: pl.DataFrame


def find_ruler(snapshot: Snapshot, stated: Mapping[str, Any]) -> Ruler:
    """The golden items of the stated hash, else of the current version of the stated set.

    Raises:
        ContractError: The hash is unknown, is of another set than the stated one, or the set has
            no active item.
        UsageError: No golden set is stated and there is not exactly one.
        UnknownNameError: No golden set has the stated name.
    """
    sets = snapshot.read("golden_items").select(*REVISION, "golden_set").collect()
    versions = snapshot.read("golden_set_versions").collect()
    pinned = stated.get("golden_set_hash")
    name = stated.get("golden_set")
    if pinned is None:
        name = _set_name(sets, name)
        pinned = current_hash(snapshot, name)
    members = versions.filter(pl.col("golden_set_hash") == pinned)
    if members.is_empty():
        raise _unknown_hash(str(pinned), None if stated.get("golden_set_hash") else name)
    name = name or str(members["golden_set"][0])
    of_items = sets.join(members, on="item_id", how="semi")["golden_set"]
    if name not in {*members["golden_set"], *of_items}:  # a set may have been renamed since
        raise ContractError(
            f"The golden-set hash is not one of golden set {name!r}",
            problems=[f"golden_set_hash: of {members['golden_set'][0]!r}: {pinned}"],
            fix="leave golden_set or golden_set_hash out, or correct it.",
        )
    return _ruler(snapshot, name, str(pinned), members.select(REVISION))


def _ruler(snapshot: Snapshot, name: str, pinned: str, members: pl.DataFrame) -> Ruler:
    items = snapshot.read("golden_items").select(
        *REVISION, pl.col("contexts").is_not_null().alias("has_contexts")
    )
    assertions = snapshot.read("golden_assertions").select(*REVISION, "assertion_id")
    return Ruler(
        golden_set=name,
        golden_set_hash=pinned,
        items=members.join(items.collect(), on=REVISION, how="inner"),
        assertions=members.join(assertions.collect(), on=REVISION, how="inner").drop("revision"),
    )


def current_hash(snapshot: Snapshot, golden_set: str) -> str:
    """Hash of the active items of a golden set; of revisions on record, as recorded."""
    items, *children = [
        snapshot.read(name).drop("_commit").collect()
        for name in ("golden_items", "golden_assertions", "golden_concepts", "golden_citations")
    ]
    newest = items.filter(pl.col("revision") == pl.col("revision").max().over("item_id"))
    of_set = newest.filter(pl.col("golden_set") == golden_set)
    recorded = snapshot.read("golden_set_versions").collect()
    return hash_of_items(item_hashes(of_set, *children, recorded=recorded))


def _unknown_hash(pinned: str, current_of: str | None) -> ContractError:
    if current_of is not None:
        return ContractError(
            f"Golden set {current_of!r} has no active item",
            fix="load its items again, or name another set with --golden-set.",
        )
    return ContractError(
        f"No golden set of this workspace has the hash {pinned}",
        problems=[f"golden_set_hash: unknown: {pinned}"],
        fix="load the golden items the run was made for, or leave golden_set_hash out to take the "
        "current ones.",
    )


def _set_name(items: pl.DataFrame, stated: str | None) -> str:
    known = sorted(items["golden_set"].unique())
    if stated is not None:
        if stated not in known:
            raise UnknownNameError("golden set", stated, known, fix="" if known else NO_SET)
        return stated
    if len(known) != 1:
        raise UsageError(
            "The input does not say which golden set the run answers",
            problems=known,
            fix="say --golden-set NAME." if known else NO_SET,
        )
    return str(known[0])
