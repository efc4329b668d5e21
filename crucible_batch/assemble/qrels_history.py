"""Everything that was ever said of one document for one query, and what counts now."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.assemble.evaluate.ruler import QREL_KEY, Grading, judgments
from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError
from crucible_batch.metrics.grades import resolve_grades
from crucible_batch.settings import load_settings
from crucible_batch.store import Snapshot, Store

EVENT = {
    "at": pl.Datetime("us", "UTC"),
    "commit": pl.Int64(),
    "event": pl.String(),
    "target": pl.String(),
    "source": pl.String(),
    "judge": pl.String(),
    "grade": pl.Int64(),
    "author": pl.String(),
    "note": pl.String(),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class QrelHistory:
    """What was said of a document.

    Attributes:
        events: Judgments and overrides, oldest first: at, commit, event (judged, overridden),
            target, source, judge, grade, author, note.
        grade: The document's effective grade; None when no lane that counts has judged it, or
            the document of a judged chunk is not known.
        source: The source that gives it.
    """

    events: pl.DataFrame
    grade: int | None
    source: str | None


def qrel_history(
    store: Store, workspace: str, query_id: str, doc_id: str, *, pin: int | None = None
) -> QrelHistory:
    """Gather what was said of a document, its chunks included.

    Args:
        store: The store.
        workspace: Workspace of the judgments.
        query_id: Golden item.
        doc_id: Document, or one chunk.
        pin: The store as of this commit; the newest when None.

    Raises:
        UnknownNameError: No such workspace, or nobody judged such a document for the query.
    """
    snapshot = store.workspace(workspace).snapshot(pin)
    of_query = snapshot.read("qrels").filter(pl.col("query_id") == query_id).collect()
    if of_query.is_empty():
        judged = snapshot.read("qrels").select(pl.col("query_id").unique()).collect()
        raise UnknownNameError("judged query", query_id, sorted(judged["query_id"]))
    rows = of_query.filter((pl.col("doc_id") == doc_id) | (pl.col("chunk_id") == doc_id))
    if rows.is_empty():
        known = {name for name in (*of_query["doc_id"], *of_query["chunk_id"]) if name}
        raise UnknownNameError(f"document judged for {query_id}", doc_id, sorted(known))
    effective = _effective(snapshot, rows, load_settings(store.root, workspace).scoring.llm_lanes)
    return QrelHistory(
        events=pl.concat([_judged(rows), _overridden(snapshot, rows)]).sort(
            "at", "commit", "target", "source", "judge", maintain_order=True
        ),
        grade=effective.get("grade"),
        source=effective.get("source"),
    )


def _effective(
    snapshot: Snapshot, rows: pl.DataFrame, llm_lanes: tuple[str, ...] | str
) -> dict[str, Any]:
    overrides = snapshot.read("judgment_overrides").drop("_commit").collect()
    query = rows.select(item_id="query_id").unique()
    counting = judgments(snapshot, overrides, Grading(llm_lanes=llm_lanes), query)
    grades = resolve_grades(counting).filter(pl.col("doc_id").is_in(rows["doc_id"].implode()))
    return grades.row(0, named=True) if grades.height else {}


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        at="created_at",
        commit="_commit",
        event=pl.lit("judged"),
        target="target",
        source="source",
        judge="judge",
        grade="grade",
        author="author",
        note="rationale",
    ).cast(EVENT)  # type: ignore[arg-type]


def _overridden(snapshot: Snapshot, rows: pl.DataFrame) -> pl.DataFrame:
    lanes = set(rows.select(QREL_KEY).iter_rows())
    overrides = (
        snapshot.read("judgment_overrides")
        .filter(pl.col("target_table") == "qrels")
        .sort(TABLES["judgment_overrides"].key)
        .collect()
    )
    events = []
    for row in overrides.iter_rows(named=True):
        lane = tuple(json.loads(row["target_key"]))
        if lane in lanes:
            _, target, source, judge = lane
            events.append(
                {
                    "at": row["created_at"],
                    "commit": row["_commit"],
                    "event": "overridden",
                    "target": target,
                    "source": source,
                    "judge": judge,
                    "grade": int(row["new"]),
                    "author": row["author"],
                    "note": row["reason"],
                }
            )
    return pl.DataFrame(events, schema=EVENT)
