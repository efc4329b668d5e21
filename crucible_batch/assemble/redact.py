"""Take what people wrote out of a store: texts go, keys, grades and numbers stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.report import words
from crucible_batch.store import (
    Plan,
    Redaction,
    Snapshot,
    Store,
    Workspace,
    canonical_json,
    combined_hash,
)

ACTION = "text.redact"

OF_ITEMS = {
    "golden_items": ("question", "ground_truth", "contexts"),
    "golden_assertions": ("text",),
    "qrels": ("rationale",),
}
OF_RESULTS = {
    "results": ("answer", "error"),
    "retrievals": ("text",),
    "assertion_verdicts": ("raw",),
    "claims": ("text",),
    "checks": ("detail",),
}
OF_FEEDBACK = ("corrected_answer", "corrected_assertions", "note")
"""Columns that hold what people or pipelines wrote, by table."""


@dataclass(frozen=True, kw_only=True)
class Redacted:
    """What was taken out.

    Attributes:
        rows: Table to its rows that lost a text.
        created: Whether anything was left to take out.
        notes: What is out of reach of the command.
    """

    rows: dict[str, int]
    created: bool
    notes: tuple[str, ...]


def redact(
    store: Store,
    workspace: str,
    *,
    items: Sequence[str] = (),
    run_id: str | None = None,
    sample_index: int | None = None,
    author: str,
    reason: str,
) -> Redacted:
    """Replace texts by `[redacted]` in every committed file, with an audit event per item or run.

    Args:
        store: The store.
        workspace: Workspace of the texts.
        items: Without `run_id`: the golden items whose own texts go, in all their revisions, with
            the rationales of their judgments. With it: only results of these items.
        run_id: The run whose results lose their texts: answers, errors, evidence, claims, judges'
            raw texts, and what feedback says of them.
        sample_index: Only this sample of the results.
        author: Who says so.
        reason: Why; it stands in the audit log for ever.

    Hashes on record (of items, golden sets, evidence, rows) stay those of the texts that were
    there. Waits until no other command writes.

    Raises:
        UnknownNameError: There is no such workspace, item or run.
        UsageError: Nothing is named, the run has no such sample, or the reason is blank.
    """
    if not reason.strip():
        raise UsageError("The reason is blank", fix="Say why with --reason.")
    if not items and run_id is None:
        raise UsageError("Nothing is named", fix="crucible redact --item ID, or --run RUN.")
    opened = store.workspace(workspace)
    snapshot = opened.snapshot()
    _check_names(snapshot, items, run_id)
    _check_sample(snapshot, run_id, sample_index)
    wanted = _wanted(items, run_id, sample_index)
    found = opened.texts_left(wanted)
    if found:
        said = {"items": sorted(items), "run_id": run_id, "sample_index": sample_index}
        _record(opened, said, found, author=author, reason=reason)
        found = opened.redact(wanted)
    return Redacted(rows=found, created=bool(found), notes=_notes(opened))


def _check_names(snapshot: Snapshot, items: Sequence[str], run_id: str | None) -> None:
    for table, column, kind, names in (
        ("golden_items", "item_id", "item", items),
        ("runs", "run_id", "run", [run_id] if run_id is not None else []),
    ):
        rows = snapshot.read(table).select(pl.col(column).unique()).collect()
        known = sorted(rows[column])
        for name in names:
            if name not in known:
                raise UnknownNameError(kind, name, known)


def _check_sample(snapshot: Snapshot, run_id: str | None, sample_index: int | None) -> None:
    """A sample the run never had is a slip: `nothing to do` would say its texts are gone."""
    if sample_index is None:
        return
    if run_id is None:
        raise UsageError("--sample is of a run", fix="crucible redact --run RUN --sample N.")
    runs = snapshot.read("runs").filter(pl.col("run_id") == run_id).collect()
    samples_n = int(runs["samples_n"].item())
    if not 0 <= sample_index < samples_n:
        raise UsageError(
            f"Run {run_id!r} has no sample {sample_index}",
            fix=f"its samples are 0 to {samples_n - 1}.",
        )


def _wanted(
    items: Sequence[str], run_id: str | None, sample_index: int | None
) -> dict[str, Redaction]:
    if run_id is None:
        return {
            table: Redaction(
                where=pl.col("query_id" if table == "qrels" else "item_id").is_in(list(items)),
                columns=columns,
            )
            for table, columns in OF_ITEMS.items()
        }
    where = pl.col("run_id") == run_id
    if items:
        where &= pl.col("item_id").is_in(list(items))
    if sample_index is not None:
        where &= pl.col("sample_index") == sample_index
    every = OF_RESULTS | {"eval_feedback": OF_FEEDBACK}
    return {table: Redaction(where=where, columns=columns) for table, columns in every.items()}


def _record(
    workspace: Workspace,
    said: dict[str, Any],
    found: dict[str, int],
    *,
    author: str,
    reason: str,
) -> None:
    """The audit events, before the texts go: a crash in between leaves them to be taken out."""
    seq = workspace.snapshot().seq
    now = workspace.now()
    targets = [said["run_id"]] if said["run_id"] is not None else said["items"]
    events = [
        {
            "workspace_id": workspace.name,
            "event_id": f"{ACTION}:{combined_hash({**said, 'of': target, 'at': seq})[:32]}",
            "action": ACTION,
            "target": target,
            "actor": author,
            "occurred_at": now,
            "detail": canonical_json({**said, "reason": reason, "rows": found}),
        }
        for target in targets
    ]
    frame = pl.DataFrame(events, schema=TABLES["audit_log"].schema)
    key = combined_hash({**said, "at": seq})
    workspace.commit(
        lambda _: Plan(events={"audit_log": frame}),
        kind=ACTION,
        idempotency_key=f"{ACTION}-{key[:24]}",
    )


def _notes(workspace: Workspace) -> tuple[str, ...]:
    """Files that may repeat a text and are no committed ones."""
    aside = sorted(workspace.layout.root.glob("quarantine/*/*.parquet"))
    if not aside:
        return ()
    hold = words.count(len(aside), "quarantine file holds", "quarantine files hold")
    folder = workspace.layout.root / "quarantine"
    return (f"{hold} rows as they were handed in: look into {folder} and delete what must go",)
