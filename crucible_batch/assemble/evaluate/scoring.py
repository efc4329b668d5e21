"""Score one bucket of a run: frames per grain, every metric, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from crucible_batch.assemble.evaluate.ruler import Ruler
from crucible_batch.assemble.evaluate.subject import KEY, Bucket
from crucible_batch.metrics import taxonomy
from crucible_batch.metrics.answer_frames import answer_frame, outcome_frame
from crucible_batch.metrics.companions import Companions, companions
from crucible_batch.metrics.facts import (
    RunFlags,
    evidence_hashes,
    expected_results,
    is_blank,
)
from crucible_batch.metrics.grades import check_granularity
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.plugins import plugin_frame
from crucible_batch.metrics.ranking_frame import Rankings
from crucible_batch.metrics.result_rankings import result_rankings
from crucible_batch.metrics.results import RunCounts, run_counts, wide_results
from crucible_batch.metrics.score import ScoreTable, score_table

EVIDENCE_ROWS = 20_000
"""Evidence texts hashed at a time: they may be long."""


@dataclass(frozen=True, kw_only=True)
class How:
    """What is the same for every bucket of a run."""

    metrics: tuple[Metric, ...]
    flags: RunFlags
    relevant_at: int
    granularity: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """Everything computed of one bucket, by key.

    Attributes:
        scores: Every metric of every expected result.
        companions: What stands beside the retrieval metrics.
        outcomes: The `outcome` grain with its key.
        wide: The table of results for people.
        counts: What became of the results.
        n_blank_contexts: Retrieval rows whose text is blank.
    """

    scores: ScoreTable
    companions: Companions
    outcomes: pl.DataFrame
    wide: pl.DataFrame
    counts: RunCounts
    n_blank_contexts: int


def score_bucket(bucket: Bucket, ruler: Ruler, how: How, in_wide: Sequence[str]) -> Scored:
    """Score the results of a bucket with every metric.

    Args:
        bucket: Items with everything that belongs to them.
        ruler: What they are measured with.
        how: What is the same for every bucket.
        in_wide: Metrics that get a column in the table for people.
    """
    ids = bucket.golden.items["item_id"]
    grades, by_document, judged = (
        _of_items(frame, ids) for frame in (ruler.grades, ruler.document_grades, ruler.judged)
    )
    ranked = [metric for metric in how.metrics if metric.grain is RANKING]
    expected = expected_results(bucket.golden.items, bucket.rows.results, how.flags.samples_n)

    def rank(retrievals: pl.DataFrame, *, beside: bool) -> Rankings:
        return result_rankings(
            expected,
            retrievals,
            grades,
            judged,
            bucket.golden.citations,
            metrics=ranked,
            relevant_at=how.relevant_at,
            retrieval_reported=how.flags.retrieval_reported,
            granularity=check_granularity(how.granularity),
            companions=beside,
        )

    rankings = rank(bucket.rows.retrievals, beside=True)
    blank = bucket.evidence.filter(is_blank("text")).select(*KEY, "rank").collect()
    contexts = rankings.frame
    if blank.height:
        filled = bucket.rows.retrievals.join(blank, on=[*KEY, "rank"], how="anti")
        contexts = rank(filled, beside=False).frame
    answers = answer_frame(
        bucket.golden,
        bucket.rows,
        how.flags,
        grades=by_document.rename({"query_id": "item_id"}),
        contexts=contexts,
        relevant_at=how.relevant_at,
    )
    outcomes = outcome_frame(answers)
    frames = {"ranking": rankings.frame, "answer": answers, "outcome": outcomes}
    for metric in how.metrics:
        if metric.grain.name not in frames:
            frames[metric.grain.name] = plugin_frame(
                answers, bucket.rows.external_scores, metric.grain
            )
    scores = score_table(frames, how.metrics, KEY)
    shown = scores.wide(in_wide)
    return Scored(
        scores=scores,
        companions=companions(rankings, ranked, KEY),
        outcomes=outcomes,
        wide=wide_results(shown, answers, taxonomy.classify(answers), _evidence(bucket)),
        counts=run_counts(answers),
        n_blank_contexts=blank.height,
    )


def _of_items(rows: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Rows of a bucket's items; both are sorted, so they are one stretch of the rows."""
    if ids.is_empty():
        return rows.clear()
    queries = rows["query_id"]
    start = queries.search_sorted(ids[0], side="left")
    return rows[start : queries.search_sorted(ids[-1], side="right")]


def _evidence(bucket: Bucket) -> pl.DataFrame:
    """Hash of the evidence of every result that has any, a few thousand texts at a time."""
    keys = bucket.evidence.select(KEY).collect()
    if keys.is_empty():
        return pl.DataFrame(
            schema={"item_id": pl.String, "sample_index": pl.Int64, "evidence_hash": pl.String}
        )
    return pl.concat(
        evidence_hashes(bucket.evidence.filter(inside).collect()) for inside in _ranges(keys)
    )


def _ranges(keys: pl.DataFrame) -> Iterable[pl.Expr]:
    """Conditions on item_id that cover all rows, each about `EVIDENCE_ROWS` of them."""
    counts = keys.group_by("item_id").agg(n=pl.len()).sort("item_id")
    group = (counts["n"].cum_sum() - 1).to_numpy() // EVIDENCE_ROWS
    for number in np.unique(group):
        ids = counts["item_id"].filter(pl.Series(group == number))
        yield pl.col("item_id").is_between(pl.lit(ids[0]), pl.lit(ids[-1]))
