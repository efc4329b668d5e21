"""A run as it is stored: its row, its status, its judge, and its rows bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from crucible_batch.assemble.evaluate.ruler import Ruler
from crucible_batch.contracts.payloads import payload_of
from crucible_batch.errors import UnknownNameError
from crucible_batch.metrics.facts import Golden, RunRows
from crucible_batch.store import Snapshot, combined_hash

BY_RESULT = (
    "results",
    "retrievals",
    "answer_citations",
    "assertion_verdicts",
    "claims",
    "detected_concepts",
    "checks",
    "external_scores",
)
"""Tables keyed by a result, in the order of `RunRows`."""

BULK = (
    "results",
    "retrievals",
    "answer_citations",
    "detected_concepts",
    "checks",
    "external_scores",
)
FINGERPRINTED = (*BY_RESULT, "external_run_metrics")
KEY = ["item_id", "sample_index"]
UNREAD = {"retrievals": ("workspace_id", "run_id", "text", "doc_updated_at")}
"""Columns that no metric reads, of a table with many rows; texts are hashed apart."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """The run that is scored.

    Attributes:
        snapshot: What is visible.
        row: Its row of `runs`.
        status: Its last event.
        status_reason: What the event says.
        judge: The judge it pins, None without one.
        fingerprints: Content fingerprint of its rows by table.
    """

    snapshot: Snapshot
    row: dict[str, Any]
    status: str
    status_reason: str | None
    judge: str | None
    fingerprints: dict[str, str]

    @property
    def run_id(self) -> str:
        """Its id."""
        return str(self.row["run_id"])

    @property
    def rows_hash(self) -> str:
        """SHA-256 over the content fingerprints of all its rows."""
        return combined_hash(self.fingerprints)

    def scan(self, table: str) -> pl.LazyFrame:
        """Its rows of one table."""
        if table in {"assertion_verdicts", "claims"}:
            rows = self.snapshot.read(table).filter(pl.col("run_id") == self.run_id)
        else:
            rows = self.snapshot.read(table, subject=self.run_id)
        return rows.drop("_commit")


def load_subject(snapshot: Snapshot, run_id: str) -> Subject:
    """Find a run.

    Raises:
        UnknownNameError: The workspace has no such run.
    """
    runs = snapshot.read("runs").drop("_commit").collect()
    own = runs.filter(pl.col("run_id") == run_id)
    if own.is_empty():
        raise UnknownNameError("run", run_id, sorted(runs["run_id"]))
    row = own.row(0, named=True)
    events = snapshot.read("run_events").filter(pl.col("run_id") == run_id).sort("seq").collect()
    last: dict[str, Any] = {"status": "running", "reason": None}
    if events.height:
        last = events.row(-1, named=True)
    configurations = snapshot.read("config_snapshots").collect()
    judge = payload_of(configurations, row["judge_snapshot_id"]).get("judge")
    return Subject(
        snapshot=snapshot,
        row=row,
        status=last["status"],
        status_reason=last["reason"],
        judge=judge,
        fingerprints={t: snapshot.fingerprint(t, subject=run_id) for t in FINGERPRINTED},
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Bucket:
    """Some items with everything that belongs to them."""

    golden: Golden
    rows: RunRows
    evidence: pl.LazyFrame
    """item_id, sample_index, rank, chunk_id, doc_id, text of retrieval rows that have a text."""


def buckets(subject: Subject, ruler: Ruler, bucket_rows: int) -> Iterator[Callable[[], Bucket]]:
    """Cut the items of a run into buckets of about `bucket_rows` ranking rows.

    Each is read when it is called, by the thread that works on it. Items are taken in key order
    and never cut in two; a result depends on its own rows only, so the size of buckets changes no
    number.
    """
    items = ruler.golden.items.sort("item_id")
    small = {name: subject.scan(name).collect() for name in ("assertion_verdicts", "claims")}
    edges = _edges(subject, items["item_id"], bucket_rows)
    for start, stop in pairwise(edges):
        part = items[start:stop]
        yield partial(_bucket, subject, ruler, part, small, whole=len(edges) == 2)


def _edges(subject: Subject, ids: pl.Series, bucket_rows: int) -> list[int]:
    """Positions in `ids` where buckets begin, and the end."""
    counts = subject.scan("retrievals").group_by("item_id").agg(n=pl.len()).collect()
    if counts["n"].sum() <= bucket_rows:
        return [0, len(ids)]
    per_item = ids.to_frame().join(counts, on="item_id", how="left", maintain_order="left")
    ends = np.cumsum(per_item["n"].fill_null(0).to_numpy())
    edges = [0]
    while edges[-1] < len(ids):
        done = ends[edges[-1] - 1] if edges[-1] else 0
        step = int(np.searchsorted(ends, done + bucket_rows, side="right"))
        edges.append(max(edges[-1] + 1, step))
    return edges


def _bucket(
    subject: Subject,
    ruler: Ruler,
    items: pl.DataFrame,
    small: dict[str, pl.DataFrame],
    *,
    whole: bool,
) -> Bucket:
    first, last = items["item_id"][0], items["item_id"][-1]
    inside = pl.col("item_id").is_between(pl.lit(first), pl.lit(last))

    def rows(table: str) -> pl.DataFrame:
        if table in small:
            return small[table] if whole else small[table].filter(inside)
        scan = subject.scan(table) if whole else subject.scan(table).filter(inside)
        return scan.drop(UNREAD.get(table, ())).collect()

    def children(frame: pl.DataFrame) -> pl.DataFrame:
        return frame if whole else frame.filter(inside)

    retrieved = subject.scan("retrievals")
    evidence = retrieved if whole else retrieved.filter(inside)
    return Bucket(
        golden=Golden(
            items=items,
            assertions=children(ruler.golden.assertions),
            concepts=children(ruler.golden.concepts),
            citations=children(ruler.golden.citations),
        ),
        rows=RunRows(**{table: rows(table) for table in BY_RESULT}, overrides=ruler.overrides),
        evidence=evidence.select(*KEY, "rank", "chunk_id", "doc_id", "text").filter(
            pl.col("text").is_not_null()
        ),
    )
