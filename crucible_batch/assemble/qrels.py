"""Appending judgments: one row per lane, one audit event per row, in one transaction.

A lane is (query, target, source, judge). A judgment of a lane that is there already is a no-op; if
its grade differs it says so, because a grade is only ever changed by an override.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.errors import ConflictError
from crucible_batch.store import (
    About,
    Counts,
    Plan,
    Snapshot,
    Workspace,
    content_fingerprint,
    qrel_ids,
)

QRELS, CHUNKS = TABLES["qrels"], TABLES["chunks"]
LANE = QRELS.key
AUTHORED = "qrel.author"


@dataclass(frozen=True, kw_only=True)
class QrelPlan:
    """What appending judgments would do.

    Attributes:
        fresh: Rows of `qrels` to append, one per new lane.
        audit: Their `qrel.author` events, one per row.
        kept: Stored rows of the lanes that were there already, sorted by lane.
        messages: Lanes that keep another grade than the one offered.
        n_already_there: Rows that change nothing.
    """

    fresh: pl.DataFrame
    audit: pl.DataFrame
    kept: pl.DataFrame
    messages: tuple[str, ...]
    n_already_there: int


@dataclass(frozen=True, kw_only=True)
class QrelAppend:
    """What appending judgments did.

    Attributes:
        appended: Rows written.
        already_there: Rows whose lane was there already.
        rows: The stored row of every offered lane, new or not, sorted by lane.
        messages: Lanes that keep another grade than the one offered.
        commit: Number of the commit that holds the rows; None when nothing was written.
    """

    appended: int
    already_there: int
    rows: pl.DataFrame
    messages: tuple[str, ...]
    commit: int | None


def plan_qrels(existing: pl.DataFrame, new: pl.DataFrame, *, actor: str, now: datetime) -> QrelPlan:
    """Work out which judgments are new, and the audit event of each.

    Args:
        existing: Stored rows of `qrels`, at least those of the offered lanes.
        new: Offered rows with the contract's columns; `qrel_id` and `created_at` may be null.
        actor: Who hands them in; a row's own author comes first.
        now: Time of the events, and of rows that have none.

    A lane offered twice with the same content counts once.

    Raises:
        ConflictError: A lane is offered twice with different content.
    """
    offered = new.select(QRELS.names).sort(*LANE)
    firsts = offered.unique(LANE, keep="first", maintain_order=True)
    _refuse_contradictions(offered)
    kept = existing.select(QRELS.names).join(firsts, on=LANE, how="semi").sort(*LANE)
    stored = kept.select(*LANE, pl.col("grade").alias("kept"))
    fresh = firsts.join(stored, on=LANE, how="anti", maintain_order="left")
    differing = firsts.join(stored, on=LANE).filter(pl.col("grade") != pl.col("kept"))
    fresh = _completed(fresh, now)
    return QrelPlan(
        fresh=fresh,
        audit=audit_rows(fresh, actor=actor, now=now),
        kept=kept,
        messages=_messages(differing),
        n_already_there=len(new) - len(fresh),
    )


def audit_rows(fresh: pl.DataFrame, *, actor: str, now: datetime) -> pl.DataFrame:
    """Return the `qrel.author` event of every stored judgment; its id follows from the row's."""
    # Canonical JSON; a grade is a number and an id is hex, so that nothing needs quoting.
    detail = pl.concat_str(
        pl.lit('{"grade":'), "grade", pl.lit(',"qrel_id":"'), "qrel_id", pl.lit('"}')
    )
    return fresh.select(
        "workspace_id",
        event_id=pl.concat_str(pl.lit(f"{AUTHORED}:"), "qrel_id"),
        action=pl.lit(AUTHORED),
        target="query_id",
        actor=pl.coalesce("author", pl.lit(actor)),
        occurred_at=pl.lit(now, TABLES["audit_log"].schema["occurred_at"]),
        detail=detail,
    )


def append_qrels(
    workspace: Workspace,
    frame: pl.DataFrame,
    *,
    actor: str,
    idempotency_key: str | None = None,
    kind: str = "append.qrels",
    about: About | None = None,
) -> QrelAppend:
    """Append judgments to a workspace; racing duplicates give one row and one event.

    Args:
        workspace: Where to.
        frame: Rows of `qrels` that keep the contract; `qrel_id` and `created_at` may be null.
        actor: Who hands them in.
        idempotency_key: Key of the commit; by default a hash of the rows, so that handing the same
            rows in twice is a no-op.
        kind: Kind of the commit.
        about: Inputs and settings of the commit.
    """
    plans: list[QrelPlan] = []

    def decide(snapshot: Snapshot) -> Plan:
        plan = plan_qrels(snapshot_lanes(snapshot, frame), frame, actor=actor, now=workspace.now())
        plans.append(plan)
        return Plan(
            events={"qrels": plan.fresh, "audit_log": plan.audit},
            messages=plan.messages,
            counts=Counts(
                n_rows_in=len(frame),
                n_accepted=len(plan.fresh),
                n_already_there=plan.n_already_there,
            ),
        )

    done = workspace.commit(
        decide,
        kind=kind,
        idempotency_key=idempotency_key or _rows_key(kind, frame),
        about=about,
    )
    if done.plan is None:
        stored = snapshot_lanes(workspace.snapshot(), frame)
        return QrelAppend(
            appended=0,
            already_there=len(frame),
            rows=stored.sort(*LANE),
            messages=done.messages,
            commit=None,
        )
    plan = plans[-1]
    return QrelAppend(
        appended=len(plan.fresh),
        already_there=plan.n_already_there,
        rows=pl.concat([plan.fresh, plan.kept]).sort(*LANE),
        messages=plan.messages,
        commit=done.seq if done.created else None,
    )


def snapshot_lanes(snapshot: Snapshot, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the stored rows of the lanes that are offered."""
    rows = snapshot.read("qrels").drop("_commit")
    return rows.join(frame.lazy().select(LANE).unique(), on=LANE, how="semi").collect()


def fill_lane(rows: pl.DataFrame) -> pl.DataFrame:
    """Derive target and judge where an input leaves them out (CONTRACTS.md, qrels)."""
    model = pl.concat_str(["judge_model", "prompt_version"], separator="@")
    own = pl.when(pl.col("source") == "llm").then(model).otherwise(pl.coalesce("author", "source"))
    return rows.with_columns(
        target=pl.coalesce("target", "chunk_id", pl.concat_str(pl.lit("doc:"), "doc_id")),
        judge=pl.coalesce("judge", own),
    )


def place(qrels: pl.DataFrame, snapshot: Snapshot, new_chunks: pl.DataFrame) -> pl.DataFrame:
    """Give chunk judgments the document of their chunk, where the store knows it.

    `chunks` is asked first, then any retrieval row; an unknown chunk keeps a null doc_id, stays out
    of document-granularity metrics and is counted there.
    """
    lost = qrels.filter(pl.col("doc_id").is_null()).select("chunk_id").unique()
    if lost.is_empty():
        return qrels
    on = ["chunk_id", "doc_id"]
    known = pl.concat([snapshot.read("chunks").select(on).collect(), new_chunks.select(on)])
    known = known.join(lost, on="chunk_id", how="semi")
    rest = lost.join(known, on="chunk_id", how="anti")
    if rest.height:
        seen = snapshot.read("retrievals").select(on).join(rest.lazy(), on="chunk_id", how="semi")
        known = pl.concat([known, seen.unique().collect(engine="streaming")])
    first = known.sort(on).unique("chunk_id", keep="first").rename({"doc_id": "_doc"})
    return (
        qrels.join(first, on="chunk_id", how="left", maintain_order="left")
        .with_columns(doc_id=pl.coalesce("doc_id", "_doc"))
        .drop("_doc")
    )


def _completed(fresh: pl.DataFrame, now: datetime) -> pl.DataFrame:
    return fresh.with_columns(
        qrel_ids(fresh),
        pl.col("created_at").fill_null(pl.lit(now, QRELS.schema["created_at"])),
    )


def _refuse_contradictions(offered: pl.DataFrame) -> None:
    contents = offered.unique(QRELS.content)
    twice = contents.filter(contents.select(LANE).is_duplicated()).sort(*LANE, "grade")
    if len(twice):
        raise ConflictError(
            "A judgment is offered twice with different content",
            problems=[
                f"{row['query_id']}, {row['target']} ({row['source']}, {row['judge']}): "
                f"grade {row['grade']}, rationale {row['rationale']!r}"
                for row in twice.iter_rows(named=True)
            ],
            fix="keep one row per query, target, source and judge",
        )


def _messages(differing: pl.DataFrame) -> tuple[str, ...]:
    rows = differing.sort(*LANE)
    return tuple(
        f"{row['query_id']}, {row['target']} ({row['source']}, {row['judge']}): "
        f"kept grade {row['kept']}, offered {row['grade']}: use crucible override qrel"
        for row in rows.iter_rows(named=True)
    )


def _rows_key(kind: str, frame: pl.DataFrame) -> str:
    return f"{kind}:{content_fingerprint(frame, QRELS)}"
