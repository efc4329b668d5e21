"""Contributions of documents add up to the difference of an item, whatever was retrieved."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch import retrieval_scores
from crucible_batch.metrics import catalog, retrieval
from crucible_batch.metrics.contributions import contributions, placed_documents, term
from crucible_batch.metrics.grains import RANKING

DOCS = [f"d{n:02}" for n in range(14)]
KS = (1, 3, 10)
METRICS = {
    metric.name: metric
    for metric in (
        *(family(k) for family in retrieval.WITH_CUT.values() for k in KS),
        *retrieval.UNCUT,
    )
}
SUMS = {name: metric for name, metric in METRICS.items() if term(metric) is not None}

Ranking = list[str]
Run = dict[str, list[Ranking]]
"""Item to the rankings of its samples; a document may be repeated."""


def runs(n_samples: int) -> st.SearchStrategy[Run]:
    rankings = st.lists(st.sampled_from(DOCS), max_size=16)
    samples = st.lists(rankings, min_size=n_samples, max_size=n_samples)
    return st.fixed_dictionaries({"q1": samples, "q2": samples})


GRADES = st.dictionaries(st.sampled_from(DOCS), st.integers(0, 3), max_size=10)
CASES = st.integers(1, 3).flatmap(
    lambda n: st.tuples(runs(n), runs(n), st.fixed_dictionaries({"q1": GRADES, "q2": GRADES}))
)


def rows_of(run: Run) -> pl.DataFrame:
    rows = [
        (item, sample, rank, doc)
        for item, samples in run.items()
        for sample, ranking in enumerate(samples)
        for rank, doc in enumerate(ranking, start=1)
    ]
    schema = {"item_id": pl.String, "sample_index": pl.Int64, "rank": pl.Int64, "doc_id": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def scored(run: Run, qrels: pl.DataFrame) -> dict[tuple[str, str, int], float]:
    """Value by metric, item and sample, where a sample retrieved anything."""
    found = {}
    for sample in range(len(run["q1"])):
        one = rows_of(run).filter(pl.col("sample_index") == sample)
        if one.is_empty() or qrels.is_empty():
            continue
        ranking = one.select("doc_id", "rank", query_id="item_id")
        scores = retrieval_scores(ranking, qrels, list(SUMS), order="rank")
        for query, metric, value in scores.select("query_id", "metric", "value").rows():
            if value is not None:
                found[metric, query, sample] = value
    return found


def carried(values: dict[tuple[str, str, int], float]) -> pl.DataFrame:
    schema = {"metric": pl.String, "item_id": pl.String, "sample_index": pl.Int64}
    return pl.DataFrame(list(values), schema=schema, orient="row")


def means(values: dict[tuple[str, str, int], float]) -> dict[tuple[str, str], float]:
    """Mean over the samples by metric and item."""
    by_cell: dict[tuple[str, str], list[float]] = {}
    for (metric, item, _), value in values.items():
        by_cell.setdefault((metric, item), []).append(value)
    return {cell: math.fsum(these) / len(these) for cell, these in by_cell.items()}


def explained(case: tuple[Run, Run, dict[str, dict[str, int]]]) -> tuple[pl.DataFrame, Any]:
    """Contributions, and the difference by metric and item."""
    old, new, judged = case
    triples = [(q, doc, grade) for q, grades in judged.items() for doc, grade in grades.items()]
    schema = {"item_id": pl.String, "doc_id": pl.String, "grade": pl.Int64}
    grades = pl.DataFrame(triples, schema=schema, orient="row")
    values = [scored(run, grades.rename({"item_id": "query_id"})) for run in (old, new)]
    before, after = map(means, values)
    differences = {cell: after[cell] - before[cell] for cell in before.keys() & after.keys()}
    cells = pl.DataFrame(
        list(differences), schema={"metric": pl.String, "item_id": pl.String}, orient="row"
    )
    nothing = grades.select("item_id", "doc_id").clear()
    placed = [placed_documents(rows_of(r), grades, nothing, relevant_at=2) for r in (old, new)]
    return contributions(*placed, [carried(one) for one in values], cells, SUMS), differences


@given(CASES)
@settings(max_examples=20)
def test_contributions_sum_to_the_difference_of_the_item(case):
    rows, differences = explained(case)
    sums = dict.fromkeys(differences, 0.0)
    for metric, item, part in rows.select("metric", "item_id", "contribution").rows():
        sums[metric, item] += part
    for cell, difference in differences.items():
        assert abs(sums[cell] - difference) <= 1e-12, cell


@pytest.mark.slow  # ten seconds
@given(CASES)
@settings(max_examples=15, deadline=None)
def test_the_other_way_round_contributions_change_their_sign(case):
    rows, _ = explained(case)
    mirrored, _ = explained((case[1], case[0], case[2]))
    assert mirrored.select(
        "metric",
        "item_id",
        "doc_id",
        rank_baseline="rank_candidate",
        rank_candidate="rank_baseline",
        grade="grade",
        contribution=-pl.col("contribution") + 0.0,
    ).equals(rows.with_columns(pl.col("contribution") + 0.0))


def test_every_metric_of_rankings_is_a_sum_but_the_counts_that_are_none():
    ranked = [metric for metric in catalog.result_metrics() if metric.grain is RANKING]
    assert len(ranked) > 20
    without = [metric.name for metric in ranked if term(metric) is None]
    assert without == ["n_retrieved", "n_relevant"]
