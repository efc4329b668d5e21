"""The two sides of a comparison, scored with one ruler, and what stands against a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.assemble.evaluate import Evaluation
from crucible_batch.assemble.evaluate.ruler import load_golden_set
from crucible_batch.assemble.evaluate.subject import load_subject
from crucible_batch.metrics.metric import Declaration
from crucible_batch.store import Snapshot

NO_VERDICT = ("running", "failed", "degraded")


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """One run of a comparison.

    Attributes:
        evaluation: The run, scored.
        run: Its row of `runs`.
        hashes: item_id and item_hash of the version it pins.
    """

    evaluation: Evaluation
    run: Mapping[str, Any]
    hashes: pl.DataFrame

    @property
    def row(self) -> Mapping[str, Any]:
        """Its row of `evaluations`."""
        return self.evaluation.row


def side(snapshot: Snapshot, evaluation: Evaluation) -> Side:
    """Gather what a comparison needs to know of a scored run."""
    row = evaluation.row
    versions = snapshot.read("golden_set_versions")
    own = versions.filter(pl.col("golden_set_hash") == row["golden_set_hash"])
    return Side(
        evaluation=evaluation,
        run=load_subject(snapshot, row["run_id"]).row,
        hashes=own.select("item_id", "item_hash").sort("item_id").collect(),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Matched:
    """Items of either side, and which of them may be paired.

    Attributes:
        items: Every item of either side, once, sorted.
        in_baseline: Whether the baseline has the item; same order.
        in_candidate: Whether the candidate has it.
        n_content_changed: Items of both sides whose content differs; on neither side.
        golden_set_changed: Whether the sides pin different versions.
    """

    items: pl.Series
    in_baseline: pl.Series
    in_candidate: pl.Series
    n_content_changed: int
    golden_set_changed: bool

    @property
    def is_paired(self) -> pl.Series:
        """Whether both sides have the item; in the order of `items`."""
        return self.in_baseline & self.in_candidate

    @property
    def paired(self) -> pl.Series:
        """The items of both sides."""
        return self.items.filter(self.is_paired)

    @property
    def n_paired(self) -> int:
        """How many items both sides have."""
        return int(self.is_paired.sum())


def match(baseline: Side, candidate: Side) -> Matched:
    """Pair the items of two pinned versions: those of identical content."""
    both = baseline.hashes.join(
        candidate.hashes, on="item_id", how="full", suffix="_candidate", coalesce=True
    ).sort("item_id")
    old, new = pl.col("item_hash"), pl.col("item_hash_candidate")
    changed = both.filter(old != new)
    kept = both.join(changed, on="item_id", how="anti", maintain_order="left")
    return Matched(
        items=kept["item_id"],
        in_baseline=kept["item_hash"].is_not_null(),
        in_candidate=kept["item_hash_candidate"].is_not_null(),
        n_content_changed=changed.height,
        golden_set_changed=baseline.row["golden_set_hash"] != candidate.row["golden_set_hash"],
    )


def golden_of(
    snapshot: Snapshot, candidate: Side, baseline: Side, matched: Matched
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Golden items that may be paired, sorted, and their citations.

    Items of both sides have the same content, so the candidate's stand for both.
    """
    hashes = dict.fromkeys(one.row["golden_set_hash"] for one in (candidate, baseline))
    parts = [load_golden_set(snapshot, name) for name in hashes]
    items = (
        pl.concat([part.items for part in parts])
        .unique("item_id", keep="first", maintain_order=True)
        .join(matched.items.to_frame("item_id"), on="item_id", how="semi")
        .sort("item_id")
    )
    return items, pl.concat([part.citations for part in parts])


def blocked_reason(
    baseline: Side, candidate: Side, metric: Declaration, *, allow_golden_change: bool
) -> str | None:
    """Why a metric gets no verdict, None when it may have one; the first reason that holds."""
    for status in NO_VERDICT:
        if status in {baseline.row["status"], candidate.row["status"]}:
            return status
    changed = baseline.row["golden_set_hash"] != candidate.row["golden_set_hash"]
    if changed and not allow_golden_change:
        return "golden_set_differs"
    if metric.uses_judge and baseline.row["judge"] != candidate.row["judge"]:
        return "judge_differs"
    return None
