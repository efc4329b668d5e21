"""The `ranking` grain of a run in the store: its retrieval rows against the effective grades."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from crucible_batch.metrics.companions import COMPANION_COLUMNS
from crucible_batch.metrics.grades import Granularity
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.ranking_facts import Unjudged
from crucible_batch.metrics.ranking_frame import (
    Rankings,
    codes,
    columns_read,
    ranking_frame,
    stretches,
)

TOP_GRADE = 3
"""The best grade of the store's scale."""


def result_rankings(
    expected: pl.DataFrame,
    retrievals: pl.DataFrame,
    grades: pl.DataFrame,
    judged: pl.DataFrame,
    citations: pl.DataFrame,
    *,
    metrics: Iterable[Metric],
    relevant_at: int,
    retrieval_reported: bool,
    granularity: Granularity = "document",
    companions: bool = False,
) -> Rankings:
    """Gather the facts that retrieval metrics read, for every expected result of a run.

    Args:
        expected: item_id, sample_index, has_result, errored, answerable, retrieval_ran: every
            sample of every item, sorted by key.
        retrievals: item_id, sample_index, rank, doc_id, chunk_id, score; positions count from 1
            by rank, after later rows of a document are dropped.
        grades: Effective grades of the granularity: query_id (the item), doc_id, chunk_id (chunk
            granularity only), grade, source.
        judged: query_id, n_qrels, n_placed: how many judgments each item has.
        citations: `golden_citations` of the items: item_id, doc_id, kind.
        metrics: What will be scored; only the columns they read are built.
        relevant_at: Smallest grade that counts as relevant.
        retrieval_reported: As `runs` says.
        granularity: `document` or `chunk`.
        companions: Also build what `companions` reads.

    Returns:
        The frame with its key; optimistic frames only with `companions`.
    """
    asked = [metric for metric in metrics if metric.grain is RANKING]
    columns = columns_read(asked) | (set(COMPANION_COLUMNS) if companions else set())
    keys = expected["item_id"].unique(maintain_order=True)
    samples_n = expected.height // max(len(keys), 1)
    target = "doc_id" if granularity == "document" else "chunk_id"
    required = citations.filter(pl.col("kind") == "required").select("item_id", doc="doc_id")
    return ranking_frame(
        _with_judgments(expected, judged, granularity, retrieval_reported=retrieval_reported),
        _rows(retrievals, keys, samples_n, granularity),
        _per_sample(grades.select("query_id", "grade", "source", doc=target), keys, samples_n),
        relevant_at=relevant_at,
        columns=columns,
        required=_per_sample(required.unique().rename({"item_id": "query_id"}), keys, samples_n),
        unjudged=Unjudged(TOP_GRADE, _views(asked)) if companions else None,
    )


def _views(metrics: Iterable[Metric]) -> dict[int | None, set[str]]:
    """By cut-off, the columns that its metrics which rest on judgments read."""
    views: dict[int | None, set[str]] = {}
    for metric in metrics:
        read = columns_read([metric])
        if "n_qrels" in read:
            views.setdefault(metric.cut, set()).update(read)
    return views


def _with_judgments(
    expected: pl.DataFrame,
    judged: pl.DataFrame,
    granularity: Granularity,
    *,
    retrieval_reported: bool,
) -> pl.DataFrame:
    """Key and state of every expected result, and how many judgments its item has."""
    # Judgments of documents say nothing about chunks: such an item has none.
    n_qrels = "n_placed" if granularity == "chunk" else "n_qrels"
    counts = judged.select("n_placed", item_id="query_id", n_qrels=n_qrels)
    return (
        expected.select(
            "item_id",
            "sample_index",
            "has_result",
            "errored",
            "answerable",
            pl.col("retrieval_ran").fill_null(value=True),
            retrieval_reported=pl.lit(retrieval_reported),
        )
        .join(counts, on="item_id", how="left", maintain_order="left")
        .with_columns(pl.col("n_qrels", "n_placed").fill_null(0))
    )


def _rows(
    retrievals: pl.DataFrame, keys: pl.Series, samples_n: int, granularity: Granularity
) -> pl.DataFrame:
    """Retrieval rows as `ranking_frame` wants them; rows of other items or samples are left out."""
    place = codes(stretches(retrievals["item_id"]), keys)
    sample = retrievals["sample_index"].to_numpy()
    known = (place >= 0) & (sample < samples_n)
    group = place.astype(np.uint32)
    group *= np.uint32(samples_n)
    group += sample.astype(np.uint32)
    rows = retrievals.select(
        "doc_id",
        "chunk_id",
        "score",
        order=-pl.col("rank").cast(pl.Float64),
        group=pl.Series(group),
    )
    if not known.all():
        rows = rows.filter(pl.Series(known))
    if granularity == "document":
        return rows.select("group", "order", "score", doc="doc_id")
    chunk = pl.coalesce("chunk_id", pl.concat_str(pl.lit("doc:"), "doc_id"))
    return rows.select("group", "order", "score", doc=chunk, document="doc_id")


def _per_sample(rows: pl.DataFrame, keys: pl.Series, samples_n: int) -> pl.DataFrame:
    """Rows per item (query_id) as rows per result (group): once for every sample."""
    place = codes(stretches(rows["query_id"]), keys).astype(np.int64)
    rows = rows.filter(pl.Series(place >= 0)).drop("query_id")
    group = np.add.outer(place[place >= 0] * samples_n, np.arange(samples_n)).ravel()
    repeated = rows[np.repeat(np.arange(rows.height), samples_n)] if samples_n != 1 else rows
    return repeated.with_columns(group=pl.Series(group, dtype=pl.UInt32))
