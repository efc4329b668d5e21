"""What changed between two versions of a golden set, item by item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crucible_batch.assemble.evaluate.ruler import load_golden_set
from crucible_batch.assemble.golden.sets import CHILDREN, as_objects, resolve_hash
from crucible_batch.store import Snapshot, canonical_json

NOT_CONTENT = {"revision", "golden_set", "author", "created_at", "retired", "promoted_from"}
"""Columns of an item that its hash does not cover."""

Item = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ItemChange:
    """One item that differs between two versions.

    Attributes:
        item_id: The item.
        kind: added, removed or changed.
        question: Its question, of the newer version it is in.
        fields: Field to its values before and after, for a changed item: columns of the item,
            and its assertions, concepts and citations that only one version has.
    """

    item_id: str
    kind: str
    question: str
    fields: Mapping[str, tuple[Any, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        fields = {name: {"before": a, "after": b} for name, (a, b) in self.fields.items()}
        return vars(self) | {"fields": fields}


def diff_sets(snapshot: Snapshot, before: str, after: str) -> tuple[ItemChange, ...]:
    """Compare two versions; see `resolve_hash` for what may name one.

    Returns:
        The items that were added, removed or changed, by item_id.

    Raises:
        UnknownNameError: A name stands for no version.
    """
    old, new = (
        as_objects(load_golden_set(snapshot, resolve_hash(snapshot, name)))
        for name in (before, after)
    )
    return changes(old, new)


def changes(old: Mapping[str, Item], new: Mapping[str, Item]) -> tuple[ItemChange, ...]:
    """The differences of two sets of nested items."""
    found = []
    for item_id in sorted(old.keys() | new.keys()):
        a, b = old.get(item_id), new.get(item_id)
        fields = {} if a is None or b is None else _fields(a, b)
        kind = "added" if a is None else "removed" if b is None else "changed" if fields else ""
        if kind:
            question = (b or a or {})["question"]
            found.append(ItemChange(item_id=item_id, kind=kind, question=question, fields=fields))
    return tuple(found)


def _fields(old: Item, new: Item) -> dict[str, tuple[Any, Any]]:
    fields = {}
    for name in old.keys() - NOT_CONTENT:
        a, b = old[name], new[name]
        if name == "tags":
            a, b = sorted(set(a)), sorted(set(b))
        if name in CHILDREN:
            a, b = _only(old[name], new[name]), _only(new[name], old[name])
        if a != b:
            fields[name] = (a, b)
    return dict(sorted(fields.items()))


def _only(rows: list[Any], others: list[Any]) -> list[Any]:
    """The rows that the other version does not have."""
    there = {canonical_json(row) for row in others}
    return [row for row in rows if canonical_json(row) not in there]
