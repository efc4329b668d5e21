"""Append one judgment, as a person gives it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.report import Tally
from crucible_batch.assemble.qrels import (
    CHUNKS,
    QRELS,
    QrelAppend,
    append_qrels,
    fill_lane,
    place,
)
from crucible_batch.contracts.conform import complete
from crucible_batch.contracts.reasons import reason_lines
from crucible_batch.contracts.vocabulary import SOURCES
from crucible_batch.errors import UsageError, suggestion
from crucible_batch.formats.trec import Lane
from crucible_batch.store import Snapshot, Store


def add_qrel(
    store: Store,
    workspace: str,
    query_id: str,
    doc_id: str | None = None,
    *,
    grade: int,
    author: str,
    chunk_id: str | None = None,
    source: str = "human",
    judge: str | None = None,
    rationale: str | None = None,
) -> QrelAppend:
    """Append one judgment; one that is there already stays, and is returned.

    Args:
        store: The store.
        workspace: Workspace; made if it is not there.
        query_id: Golden item judged.
        doc_id: Document judged; of a chunk it is looked up when None.
        grade: 0 irrelevant, 1 marginal, 2 relevant, 3 perfect.
        author: Who judges; of a human judgment also its lane.
        chunk_id: Chunk judged, instead of its whole document.
        source: human, provenance or llm.
        judge: The lane, where it is not the source's own; of an llm it is model@prompt_version.
        rationale: Why.

    Returns:
        What was done; `rows` is the one stored row of the lane, the new or the existing one. A
        query that is no golden item is told in `messages`.

    Raises:
        UsageError: A value breaks the contract of `qrels`, or an llm's judge has no model and
            prompt version.
    """
    if source not in SOURCES:
        raise UsageError(f"No source is called {source!r}", fix=suggestion(source, SOURCES))
    if source == "human" and judge is None:
        lane = {"source": source, "judge": author}
    else:
        lane = Lane(source, judge).columns()
    row: dict[str, object] = {
        "workspace_id": workspace,
        "query_id": query_id,
        "doc_id": doc_id,
        "chunk_id": chunk_id,
        "grade": grade,
        "author": author,
        "rationale": rationale,
        **lane,
    }
    frame = _valid(row)
    opened = store.workspace(workspace, create=True)
    placed = place(frame, opened.snapshot(), CHUNKS.empty())
    done = append_qrels(opened, placed, actor=author, kind="add.qrels")
    return replace(done, messages=(*done.messages, *_of_no_item(opened.snapshot(), query_id)))


def _of_no_item(snapshot: Snapshot, query_id: str) -> tuple[str, ...]:
    """A word of warning: items may be loaded later, but a slip of the pen looks the same."""
    known = snapshot.read("golden_items").select("item_id").unique().collect()["item_id"]
    if query_id in known:
        return ()
    return (f"no golden item is called {query_id!r} yet. {suggestion(query_id, sorted(known))}",)


def _valid(row: dict[str, object]) -> pl.DataFrame:
    """The row as the table holds it; a fault is the caller's, so nothing goes to quarantine."""
    tally = Tally()
    rows = fill_lane(complete(QRELS, steps.with_meta(QRELS, row, "judgment")))
    good = steps.admit(QRELS, rows, tally, later=("qrel_id", "created_at"))
    if tally.n_quarantined:
        raise UsageError(
            "The judgment breaks the contract of qrels",
            problems=reason_lines(tally.reasons),
            fix="crucible qrels add QUERY DOC --grade 0..3.",
        )
    return steps.contract_rows(QRELS, good)
