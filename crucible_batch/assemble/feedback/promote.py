"""A corrected failure becomes a golden item, so that later runs are measured by it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.assemble.feedback.events import Row, following, history, last_of, valid_event
from crucible_batch.assemble.golden.sets import as_objects
from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.golden import plan_revisions
from crucible_batch.assemble.load.golden_rows import admit_golden
from crucible_batch.assemble.load.report import all_reasons
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.ids import assertion_id
from crucible_batch.contracts.validate import is_id
from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats.chunk import Findings
from crucible_batch.formats.jsonl import Batch
from crucible_batch.metrics.facts import Golden
from crucible_batch.store import Plan, Snapshot, Store, canonical_json

TAG = "regression"
"""The tag of every promoted item: what a must_pass rule of the gate names."""

PROMOTE = "golden.promote"
NOT_KEPT = ("revision", "retired", "promoted_from", "author", "created_at")
TABLES_OF_ITEM = ("golden_items", "golden_assertions", "golden_concepts", "golden_citations")


@dataclass(frozen=True, kw_only=True)
class Promotion:
    """A failure that is a test now.

    Attributes:
        feedback_id: The failure.
        item_id: The item that tests it.
        revision: The revision that was made.
        golden_set: Its set.
        golden_set_hash: The version of the set that first had it.
        created: Whether it was promoted now; False: it was already.
    """

    feedback_id: str
    item_id: str
    revision: int
    golden_set: str
    golden_set_hash: str
    created: bool


def promote_feedback(
    store: Store, workspace: str, feedback: str, *, author: str, item_id: str | None = None
) -> Promotion:
    """Turn a corrected failure into a golden item, in one commit with all that follows from it.

    The item's next revision (or the new item) states what the correction states: its assertions
    become must assertions, its documents required citations with provenance judgments, its answer
    the ground truth. What the correction leaves out stays as the item has it. The revision carries
    `promoted_from` and the tag `regression`. Stored numbers of earlier runs do not change: each run
    is measured by the version it pinned.

    Args:
        store: The store.
        workspace: Workspace of the failure.
        feedback: Its id or the beginning of it.
        author: Who promotes.
        item_id: Make a new item of this id instead, beside the one that was failed.

    Returns:
        The promotion; a failure is only promoted once.

    Raises:
        UnknownNameError: There is no such failure.
        UsageError: It was not corrected, or `item_id` is taken or no id.
        ContractError: The correction makes no valid item.
    """
    if item_id is not None and not is_id(item_id):
        raise UsageError(
            f"{item_id!r} is no id of an item",
            fix="choose an id of 1 to 256 characters without control characters.",
        )
    opened = store.workspace(workspace)

    def decide(snapshot: Snapshot) -> Plan:
        events = history(snapshot, feedback)
        if last_of(events, "promoted") is not None:
            return Plan()
        return _plan(snapshot, events, author=author, item_id=item_id, now=opened.now())

    found = history(opened.snapshot(), feedback)[0]["feedback_id"]
    done = opened.commit(decide, kind=PROMOTE, idempotency_key=f"{PROMOTE}-{found}")
    return _promotion(opened.snapshot(), found, created=done.created)


def _plan(
    snapshot: Snapshot, events: list[Row], *, author: str, item_id: str | None, now: datetime
) -> Plan:
    corrected, failed = last_of(events, "corrected"), events[-1]
    if corrected is None:
        raise UsageError(
            f"{failed['feedback_id']} is not corrected: nobody has said what would be right",
            fix=f"crucible feedback correct {failed['feedback_id']} --answer TEXT --doc DOC.",
        )
    base = _newest(snapshot, failed["item_id"])
    if item_id is not None and _newest(snapshot, item_id, missing_ok=True) is not None:
        raise UsageError(f"There is an item {item_id!r} already", fix="choose another id.")
    item = _item(base, corrected, author=author, now=now) | {
        "item_id": item_id or failed["item_id"]
    }
    golden = plan_revisions(snapshot, _admitted(item, snapshot.workspace), now=now)
    promoted = following(
        failed, "promoted", author=author, now=now, promoted_item_id=item["item_id"]
    )
    event = _audit(promoted, golden.hashes, author=author, now=now)
    return Plan(
        events={
            **golden.events,
            "audit_log": pl.concat([golden.events["audit_log"], event]),
            "eval_feedback": valid_event(promoted),
        },
        messages=golden.messages,
    )


def _newest(snapshot: Snapshot, item_id: str, *, missing_ok: bool = False) -> Row | None:
    """The newest revision of an item, nested."""
    items, *children = (
        snapshot.read(name).filter(pl.col("item_id") == item_id).drop("_commit").collect()
        for name in TABLES_OF_ITEM
    )
    if items.is_empty():
        if missing_ok:
            return None
        raise ContractError(f"Item {item_id!r} is not in the store", fix="restore the lake.")
    last = pl.col("revision") == items["revision"].max()
    assertions, concepts, citations = (frame.filter(last) for frame in children)
    golden = Golden(
        items=items.filter(last), assertions=assertions, concepts=concepts, citations=citations
    )
    return as_objects(golden)[item_id]


def _item(base: Row | None, corrected: Row, *, author: str, now: datetime) -> Row:
    """The item as the correction makes it; see `promote_feedback`."""
    old = base or {}
    answer, texts = corrected["corrected_answer"], corrected["corrected_assertions"]
    stated = texts or ([answer] if answer is not None else None)
    docs = corrected["corrected_doc_ids"]
    return {
        **{name: value for name, value in old.items() if name not in NOT_KEPT},
        "ground_truth": answer if answer is not None else old["ground_truth"],
        "assertions": old["assertions"] if stated is None else _must(stated, old["assertions"]),
        "citations": old["citations"] if docs is None else _required(docs, old["citations"]),
        "tags": sorted({*old["tags"], TAG}),
        "promoted_from": corrected["feedback_id"],
        "author": author,
        "created_at": now.isoformat(),
    }


def _must(texts: list[str], old: list[Row]) -> list[Row]:
    """Must assertions of these texts; one that the item has already keeps its id and concept."""
    known = {row["text"]: row for row in old if row["level"] == "must"}
    return [
        known.get(text)
        or {"assertion_id": assertion_id("must", text), "level": "must", "text": text}
        for text in dict.fromkeys(texts)
    ]


def _required(docs: list[str], old: list[Row]) -> list[Row]:
    """These documents required; forbidden ones stay forbidden unless they are required now."""
    forbidden = [row for row in old if row["kind"] == "forbidden" and row["doc_id"] not in docs]
    return forbidden + [{"doc_id": doc, "kind": "required"} for doc in dict.fromkeys(docs)]


def _admitted(item: Row, workspace: str) -> dict[str, pl.DataFrame]:
    """The item as rows that keep their contracts."""
    batch = Batch("golden_items", Findings())
    batch.take_row(1, item)
    good, tallies = admit_golden(steps.gather(batch.chunks("promotion")), workspace, None)
    if any(tally.n_quarantined for tally in tallies.values()):
        raise ContractError(
            f"The correction makes no valid item {item['item_id']!r}",
            problems=all_reasons(tallies),
            fix="correct the feedback again.",
        )
    return good


def _audit(promoted: Row, hashes: dict[str, str], *, author: str, now: datetime) -> pl.DataFrame:
    detail = {"feedback_id": promoted["feedback_id"], "golden_set_hashes": hashes}
    event: dict[str, Any] = {
        "workspace_id": promoted["workspace_id"],
        "event_id": f"{PROMOTE}:{promoted['feedback_id']}",
        "action": PROMOTE,
        "target": promoted["promoted_item_id"],
        "actor": author,
        "occurred_at": now,
        "detail": canonical_json(detail),
    }
    return pl.DataFrame([event], schema=TABLES["audit_log"].schema)


def _promotion(snapshot: Snapshot, feedback_id: str, *, created: bool) -> Promotion:
    row = promoted_items(snapshot).filter(pl.col("feedback_id") == feedback_id).row(0, named=True)
    return Promotion(**{name: row[name] for name in row if name != "promoted_at"}, created=created)


def promoted_items(snapshot: Snapshot) -> pl.DataFrame:
    """Every promoted failure with the revision that tests it.

    Returns:
        feedback_id, item_id, revision, golden_set, golden_set_hash (the first version of the set
        with this revision), promoted_at; by feedback_id.
    """
    promoted = snapshot.read("eval_feedback").filter(pl.col("kind") == "promoted")
    # A revision that a later edit made carries promoted_from too: the first one is meant.
    items = snapshot.read("golden_items").sort("item_id", "revision")
    first = items.group_by("promoted_from", maintain_order=True).first()
    versions = snapshot.read("golden_set_versions").sort("_commit", "golden_set_hash")
    hashes = versions.group_by("item_id", "revision", maintain_order=True).first()
    return (
        promoted.select("feedback_id", item_id="promoted_item_id", promoted_at="created_at")
        .join(
            first.select("item_id", "revision", "golden_set", feedback_id="promoted_from"),
            on=["feedback_id", "item_id"],
        )
        .join(hashes.select("item_id", "revision", "golden_set_hash"), on=["item_id", "revision"])
        .select(
            *("feedback_id", "item_id", "revision", "golden_set", "golden_set_hash"),
            "promoted_at",
        )
        .sort("feedback_id")
        .collect()
    )
