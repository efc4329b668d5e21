"""Rows of `comparison_documents`: which documents moved the items that moved most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from crucible_batch.assemble.compare.sides import Side
from crucible_batch.assemble.evaluate import Options
from crucible_batch.assemble.evaluate.ruler import judgments
from crucible_batch.contracts import TABLES
from crucible_batch.metrics.contributions import contributions, placed_documents
from crucible_batch.metrics.grades import resolve_grades
from crucible_batch.store import Snapshot

if TYPE_CHECKING:
    from crucible_batch.assemble.compare.work import Work

DOCUMENTS = TABLES["comparison_documents"]
EXPLAINED = 50
"""Items per metric that are explained, those that moved most: the table stays small."""


def documents(snapshot: Snapshot, work: Work, items: pl.DataFrame) -> pl.DataFrame:
    """Explain, metric by metric, the items that moved most.

    Args:
        snapshot: What both sides were scored with.
        work: The two runs, compared.
        items: Rows of `comparison_items`.
    """
    moved = items.filter((pl.col("delta") != 0) & (pl.col("rank") <= EXPLAINED))
    cells = moved.select("metric", "item_id")
    if cells.is_empty():
        return DOCUMENTS.empty()
    ids = cells.select("item_id").unique()
    overrides = snapshot.read("judgment_overrides").drop("_commit").collect()
    grading = Options().grading(work.settings)
    grades = resolve_grades(judgments(snapshot, overrides, grading, ids)).rename(
        {"query_id": "item_id"}
    )
    cited = work.citations.filter(pl.col("kind") == "required").select("item_id", "doc_id")
    sides = (work.baseline, work.candidate)
    placed = [
        placed_documents(
            _retrieved(snapshot, one, ids),
            grades,
            cited.join(ids, on="item_id", how="semi"),
            relevant_at=work.candidate.row["relevant_at"],
        )
        for one in sides
    ]
    rows = contributions(
        placed[0], placed[1], [_carried(one, cells) for one in sides], cells, work.metrics
    )
    return rows.with_columns(
        workspace_id=pl.lit(work.baseline.row["workspace_id"]),
        comparison_id=pl.lit(work.comparison_id),
    ).select(DOCUMENTS.names)


def _retrieved(snapshot: Snapshot, one: Side, ids: pl.DataFrame) -> pl.DataFrame:
    rows = snapshot.read("retrievals", subject=one.row["run_id"])
    return (
        rows.select("item_id", "sample_index", "rank", "doc_id")
        .join(ids.lazy(), on="item_id", how="semi")
        .collect()
    )


def _carried(one: Side, cells: pl.DataFrame) -> pl.DataFrame:
    """Results of a side that carry a metric, of the cells explained."""
    return (
        one.evaluation.scan("scores")
        .filter(pl.col("value").is_not_null())
        .select("metric", "item_id", "sample_index")
        .join(cells.lazy(), on=["metric", "item_id"], how="semi")
        .collect()
    )
