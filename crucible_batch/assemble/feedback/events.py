"""The events of a failure: only ever appended; its status is that of the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.report import Tally
from crucible_batch.assemble.prefix import by_prefix
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.reasons import reason_lines
from crucible_batch.contracts.vocabulary import ERROR_CLASSES, FEEDBACK_KINDS
from crucible_batch.errors import UnknownNameError, UsageError, suggestion
from crucible_batch.store import Committed, Plan, Snapshot, Store, combined_hash

FEEDBACK = TABLES["eval_feedback"]
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Corrected:
    """What a person says is right; at least one part is given.

    Attributes:
        answer: The right answer.
        assertions: What a right answer must state; the answer itself when left out.
        doc_ids: The documents it rests on.
    """

    answer: str | None = None
    assertions: tuple[str, ...] = ()
    doc_ids: tuple[str, ...] = ()


def list_feedback(
    snapshot: Snapshot,
    *,
    run_id: str | None = None,
    status: str | None = None,
    error_class: str | None = None,
) -> pl.DataFrame:
    """Every failure with its last event.

    Args:
        snapshot: What is visible.
        run_id: Only failures of this run.
        status: Only failures whose last event is of this kind.
        error_class: Only failures of this class.

    Returns:
        feedback_id, status, run_id, item_id, sample_index, error_class, error_rule,
        promoted_item_id, note, author, created_at; by run, item and sample.

    Raises:
        UsageError: Status or class is none.
    """
    for value, known in ((status, FEEDBACK_KINDS), (error_class, ERROR_CLASSES)):
        if value is not None and value not in known:
            raise UsageError(f"There is no {value!r} here", fix=suggestion(value, known))
    rows = snapshot.read("eval_feedback").sort("feedback_id", "seq")
    last = rows.group_by("feedback_id", maintain_order=True).last().rename({"kind": "status"})
    kept = last.collect()
    wanted = {"run_id": run_id, "status": status, "error_class": error_class}
    for name, value in wanted.items():
        if value is not None:
            kept = kept.filter(pl.col(name) == value)
    return kept.select(
        *("feedback_id", "status", "run_id", "item_id", "sample_index", "error_class"),
        *("error_rule", "promoted_item_id", "note", "author", "created_at"),
    ).sort("run_id", "item_id", "sample_index")


def with_texts(snapshot: Snapshot, failures: pl.DataFrame) -> pl.DataFrame:
    """Put the question and the answer beside each failure, so that it can be told what was wrong.

    Args:
        snapshot: What is visible.
        failures: Rows of `list_feedback`.

    Returns:
        The same rows with question (of the item's newest revision) and answer.
    """
    key = ["run_id", "item_id", "sample_index"]
    wanted = failures.lazy().select(key)
    answers = snapshot.read("results").select(*key, "answer").join(wanted, on=key, how="semi")
    items = snapshot.read("golden_items").join(wanted, on="item_id", how="semi")
    newest = items.sort("item_id", "revision").unique("item_id", keep="last", maintain_order=True)
    return failures.join(
        newest.select("item_id", "question").collect(),
        on="item_id",
        how="left",
        maintain_order="left",
    ).join(answers.collect(), on=key, how="left", maintain_order="left")


def history(snapshot: Snapshot, feedback: str) -> list[Row]:
    """The events of one failure, oldest first.

    Args:
        snapshot: What is visible.
        feedback: Its id, or the first six or more characters of it.

    Raises:
        UnknownNameError: There is no such failure.
        UsageError: Several ids begin like this.
    """
    ids = snapshot.read("eval_feedback").select(pl.col("feedback_id").unique()).collect()
    found = by_prefix(
        "feedback", feedback, ids["feedback_id"], fix="crucible feedback list shows the ids."
    )
    own = snapshot.read("eval_feedback").filter(pl.col("feedback_id") == found).sort("seq")
    return own.drop("_commit").collect().to_dicts()


def following(last: Row, kind: str, *, author: str, now: datetime, **said: object) -> Row:
    """The event after `last`: of the same result and class, with what is said now."""
    kept = ("workspace_id", "feedback_id", "run_id", "item_id", "sample_index")
    return {
        **dict.fromkeys(FEEDBACK.names),
        **{name: last[name] for name in (*kept, "error_class", "error_rule")},
        "seq": last["seq"] + 1,
        "kind": kind,
        "author": author,
        "created_at": now,
        **said,
    }


def correct_feedback(
    store: Store,
    workspace: str,
    feedback: str,
    corrected: Corrected,
    *,
    author: str,
    note: str | None = None,
) -> Committed:
    """Say what the right answer would have been.

    Args:
        store: The store.
        workspace: Workspace of the failure.
        feedback: Its id or the beginning of it.
        corrected: What is right.
        author: Who says so.
        note: A remark.

    Returns:
        The commit; `created` is false when the last correction says the same.

    Raises:
        UnknownNameError: There is no such failure, or no such document.
        UsageError: Nothing is corrected, a text is blank, or the failure is promoted already.
    """
    said = {
        "corrected_answer": corrected.answer,
        "corrected_assertions": list(corrected.assertions) or None,
        "corrected_doc_ids": list(corrected.doc_ids) or None,
    }
    _check_said(said)
    _check_documents(store.workspace(workspace).snapshot(), corrected.doc_ids)

    def event(events: list[Row], now: datetime) -> Row | None:
        _refuse_closed(events)
        before = last_of(events, "corrected")
        if before and all(before[name] == value for name, value in said.items()):
            return None
        return following(events[-1], "corrected", author=author, now=now, note=note, **said)

    return _append(store, workspace, feedback, event, kind="feedback.correct", said=said)


def dismiss_feedback(
    store: Store, workspace: str, feedback: str, *, author: str, note: str
) -> Committed:
    """Say that a failure needs no test; a later change of its class does not bring it back.

    Raises:
        UnknownNameError: There is no such failure.
        UsageError: The note is blank, or the failure is promoted already.
    """
    if not note.strip():
        raise UsageError("The note is blank", fix="Say why with --note.")

    def event(events: list[Row], now: datetime) -> Row | None:
        _refuse_closed(events)
        if events[-1]["kind"] == "dismissed":
            return None
        return following(events[-1], "dismissed", author=author, now=now, note=note)

    return _append(store, workspace, feedback, event, kind="feedback.dismiss", said={"note": note})


def last_of(events: Sequence[Row], kind: str) -> Row | None:
    """The newest event of a kind."""
    return next((event for event in reversed(events) if event["kind"] == kind), None)


def _append(
    store: Store, workspace: str, feedback: str, event: Any, *, kind: str, said: dict[str, Any]
) -> Committed:
    opened = store.workspace(workspace)

    def decide(snapshot: Snapshot) -> Plan:
        row = event(history(snapshot, feedback), opened.now())
        return Plan() if row is None else Plan(events={"eval_feedback": valid_event(row)})

    events = history(opened.snapshot(), feedback)
    content = {"id": events[0]["feedback_id"], "after": events[-1]["seq"], **said}
    return opened.commit(decide, kind=kind, idempotency_key=f"{kind}-{combined_hash(content)[:24]}")


def valid_event(row: Row) -> pl.DataFrame:
    """The row as a frame of the contract; a fault in it is the caller's."""
    tally = Tally()
    good = steps.admit(FEEDBACK, steps.with_meta(FEEDBACK, row, "feedback"), tally)
    if tally.n_quarantined:
        raise UsageError(
            "The event breaks the contract of eval_feedback",
            problems=reason_lines(tally.reasons),
            fix="`crucible schema eval_feedback` prints the contract.",
        )
    return steps.contract_rows(FEEDBACK, good)


def _check_said(said: dict[str, Any]) -> None:
    texts = [said["corrected_answer"], *(said["corrected_assertions"] or ())]
    texts += said["corrected_doc_ids"] or ()
    given = [text for text in texts if text is not None]
    if not given or not all(text.strip() for text in given):
        raise UsageError(
            "A text of the correction is blank" if given else "Nothing is corrected",
            fix="crucible feedback correct ID --answer TEXT [--assertion TEXT …] [--doc DOC …].",
        )


def _check_documents(snapshot: Snapshot, doc_ids: Sequence[str]) -> None:
    """Refuse a document that is nowhere, once a corpus is loaded: no ranking could ever find it.

    Known is what any corpus version holds, and what was ever retrieved or judged.
    """
    left = set(doc_ids)
    if not left or snapshot.read("documents").head(1).collect().is_empty():
        return
    for table in ("documents", "chunks", "qrels", "retrievals"):
        named = pl.col("doc_id").is_in(sorted(left))
        found = snapshot.read(table).filter(named).select("doc_id").unique().collect()
        left -= set(found["doc_id"])
        if not left:
            return
    raise UnknownNameError(
        "document",
        min(left),
        (),
        fix="check its id, or load the corpus version that holds it: crucible load corpus.",
    )


def _refuse_closed(events: Sequence[Row]) -> None:
    promoted = last_of(events, "promoted")
    if promoted is not None:
        raise UsageError(
            f"{promoted['feedback_id']} is promoted: item {promoted['promoted_item_id']} tests it",
            fix="change the item: crucible golden show ITEM --json, edit, crucible load golden.",
        )
