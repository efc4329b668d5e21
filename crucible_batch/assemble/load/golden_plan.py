"""Which revisions a golden set gains: a pure decision over what comes and what is stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.errors import ConflictError
from crucible_batch.formats.verbs import VERB_TABLES, Verb
from crucible_batch.store.fingerprint import canonical_json
from crucible_batch.store.golden_hash import hash_of_items, item_hashes

GOLDEN = VERB_TABLES[Verb.GOLDEN]
ITEMS, *CHILDREN = GOLDEN
GIVEN = "_given"
"""The revision as the input states it; null where it leaves that to the store."""

Frames = Mapping[str, pl.DataFrame]
Revision = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class GoldenPlan:
    """What loading golden items appends.

    Attributes:
        events: New rows per table, with their revisions, and golden_set_versions.
        already_there: Rows per table that are stored already.
        hashes: Golden set to its hash after the load, for every set of the input or touched.
        messages: What happened, in words.
    """

    events: dict[str, pl.DataFrame]
    already_there: dict[str, int]
    hashes: dict[str, str]
    messages: tuple[str, ...]


@dataclass
class _Fates:
    """What becomes of the incoming items."""

    assigned: dict[Revision, int] = field(default_factory=dict)  # (item, stated or 1) -> revision
    n_new: int = 0
    n_changed: int = 0
    n_same: int = 0


def plan_golden(
    incoming: Frames, stored: Frames, versions: pl.DataFrame, *, retire_missing: bool = False
) -> GoldenPlan:
    """Decide which revisions to append.

    Args:
        incoming: Valid rows of the golden tables; `revision` is 1 and `_given` null where the input
            states none.
        stored: All stored rows of the golden tables of the workspace.
        versions: Stored rows of golden_set_versions.
        retire_missing: Retire active items of the incoming sets that are not in the input.

    Raises:
        ConflictError: A stated revision is stored with other content or is older than the newest,
            or an id belongs to another set with another question.
    """
    latest = _latest(stored[ITEMS])
    _refuse_foreign(incoming[ITEMS], latest)
    fates = _decide(incoming, stored, latest)
    fresh = {name: _fresh(incoming[name], fates.assigned) for name in GOLDEN}
    there = {name: incoming[name].height - fresh[name].height for name in GOLDEN}
    retired = _retired(incoming[ITEMS], stored, latest) if retire_missing else {}
    fresh = {n: pl.concat([fresh[n], retired[n]]) if retired else fresh[n] for n in GOLDEN}
    touched = _touched(incoming[ITEMS], fresh[ITEMS], latest)
    after = {
        name: pl.concat([stored[name].select(fresh[name].columns), fresh[name]]) for name in GOLDEN
    }
    hashes, new_versions = _versions(after, touched, versions)
    return GoldenPlan(
        events={**fresh, "golden_set_versions": new_versions},
        already_there=there,
        hashes=hashes,
        messages=_messages(fates, retired[ITEMS].height if retired else 0),
    )


def _latest(items: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Item id to its newest stored row."""
    newest = items.sort("item_id", "revision")
    return {row["item_id"]: row for row in newest.iter_rows(named=True)}


def _refuse_foreign(items: pl.DataFrame, latest: Mapping[str, Mapping[str, Any]]) -> None:
    problems = []
    for row in items.iter_rows(named=True):
        there = latest.get(row["item_id"])
        if there is None or there["golden_set"] == row["golden_set"]:
            continue
        if there["question"] != row["question"]:
            problems.append(
                f"{row['_source_file']} row {row['_source_row']}: item {row['item_id']!r} is in "
                f"golden set {there['golden_set']!r} with the question {there['question'][:80]!r}"
            )
    if problems:
        raise ConflictError(
            "Item ids belong to another golden set, with other questions",
            problems=problems,
            fix="item ids are unique in a workspace: rename these, or use another workspace.",
        )


def _decide(incoming: Frames, stored: Frames, latest: Mapping[str, Mapping[str, Any]]) -> _Fates:
    ids = incoming[ITEMS]["item_id"].unique()
    known = {name: stored[name].filter(pl.col("item_id").is_in(ids.implode())) for name in GOLDEN}
    there, coming = _contents(known), _contents(incoming)
    fates, problems = _Fates(), []
    rows = incoming[ITEMS].sort("item_id", "revision").select("item_id", "revision", GIVEN)
    newest = {item: row["revision"] for item, row in latest.items()}
    current = {
        item: there[item, revision]
        for item, revision in newest.items()
        if (item, revision) in there
    }
    for item, revision, given in rows.iter_rows():
        content = coming[item, revision]
        last = newest.get(item)
        if given is not None and (item, given) in there:
            if there[item, given] == content:
                fates.n_same += 1
            else:
                problems.append(f"item {item!r}: revision {given} is stored with other content")
        elif last is None:
            _assign(fates, newest, current, (item, revision), given or 1, content)
            fates.n_new += 1
        elif given is None and current[item] == content:
            fates.n_same += 1
        elif given is not None and given < last:
            problems.append(f"item {item!r}: revision {given} is older than the stored {last}")
        else:
            _assign(fates, newest, current, (item, revision), given or last + 1, content)
            fates.n_changed += 1
    if problems:
        raise ConflictError(
            "Stated revisions contradict the store",
            problems=problems,
            fix="leave the revision out: the loader appends the next one.",
        )
    return fates


def _assign(
    fates: _Fates,
    newest: dict[str, int],
    current: dict[str, str],
    row: Revision,
    revision: int,
    content: str,
) -> None:
    fates.assigned[row] = revision
    newest[row[0]], current[row[0]] = revision, content


def _contents(frames: Frames) -> dict[Revision, str]:
    """Canonical text of every item revision with its children; equal text, equal content."""
    children: dict[Revision, dict[str, list[str]]] = defaultdict(dict)
    for name in CHILDREN:
        for key, text in _texts(frames[name], name):
            children[key].setdefault(name, []).append(text)
    return {
        key: canonical_json([text, {n: sorted(rows) for n, rows in sorted(children[key].items())}])
        for key, text in _texts(frames[ITEMS], ITEMS)
    }


def _texts(frame: pl.DataFrame, name: str) -> Iterable[tuple[Revision, str]]:
    content = [c for c in TABLES[name].content if c not in {"workspace_id", "revision"}]
    for row in frame.select("revision", *content).iter_rows(named=True):
        revision = row.pop("revision")
        if row.get("tags") is not None:
            row["tags"] = sorted(set(row["tags"]))
        yield (row["item_id"], revision), canonical_json(row)


def _fresh(frame: pl.DataFrame, assigned: Mapping[Revision, int]) -> pl.DataFrame:
    """The rows of assigned items with their revisions; contract columns only."""
    numbers = pl.DataFrame(
        [(item, stated, revision) for (item, stated), revision in assigned.items()],
        schema={"item_id": pl.String, "revision": pl.Int64, "_assigned": pl.Int64},
        orient="row",
    )
    names = [name for name in frame.columns if not name.startswith("_")]
    joined = frame.join(numbers, on=["item_id", "revision"], how="inner", maintain_order="left")
    return joined.with_columns(revision=pl.col("_assigned")).select(names)


def _retired(
    items: pl.DataFrame, stored: Frames, latest: Mapping[str, Mapping[str, Any]]
) -> dict[str, pl.DataFrame]:
    """One retired revision for every active item of the incoming sets that is not incoming."""
    sets, ids = set(items["golden_set"]), set(items["item_id"])
    gone = {
        (item, row["revision"]): row["revision"] + 1
        for item, row in latest.items()
        if row["golden_set"] in sets and item not in ids and not row["retired"]
    }
    frames = {name: _fresh(stored[name], gone) for name in GOLDEN}
    frames[ITEMS] = frames[ITEMS].with_columns(retired=pl.lit(value=True))
    return frames


def _touched(
    items: pl.DataFrame, fresh: pl.DataFrame, latest: Mapping[str, Mapping[str, Any]]
) -> set[str]:
    """Sets of the input, and sets that items were moved out of."""
    moved_from = {latest[item]["golden_set"] for item in fresh["item_id"] if item in latest}
    return set(items["golden_set"]) | moved_from


def _versions(
    after: Frames, touched: Iterable[str], versions: pl.DataFrame
) -> tuple[dict[str, str], pl.DataFrame]:
    """Hash of every touched set, and the version rows that are not recorded yet."""
    newest = after[ITEMS].filter(pl.col("revision") == pl.col("revision").max().over("item_id"))
    known = set(versions["golden_set_hash"])
    hashes, rows = {}, [TABLES["golden_set_versions"].empty()]
    for name in sorted(touched):
        of_set = newest.filter(pl.col("golden_set") == name)
        ids = of_set.select("item_id", "revision")
        children = [
            after[child].join(ids, on=["item_id", "revision"], how="semi") for child in CHILDREN
        ]
        listed = item_hashes(of_set, *children, recorded=versions)
        hashes[name] = hash_of_items(listed)
        if hashes[name] not in known and listed.height:
            rows.append(
                listed.with_columns(
                    workspace_id=pl.lit(of_set["workspace_id"][0]),
                    golden_set=pl.lit(name),
                    golden_set_hash=pl.lit(hashes[name]),
                ).select(TABLES["golden_set_versions"].names)
            )
            known.add(hashes[name])
    return hashes, pl.concat(rows)


def _messages(fates: _Fates, n_retired: int) -> tuple[str, ...]:
    parts = [f"{fates.n_new:,} new", f"{fates.n_changed:,} changed (a new revision each)"]
    parts += [f"{n_retired:,} retired"] if n_retired else []
    return (f"items: {', '.join(parts)}, {fates.n_same:,} already there",)
