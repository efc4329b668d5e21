"""Long scores are made from arrays while they are read, whatever part of them is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from crucible_batch.assemble.evaluate import collect
from crucible_batch.assemble.evaluate.collect import Collection
from crucible_batch.assemble.evaluate.scoring import Scored
from crucible_batch.metrics import catalog
from crucible_batch.metrics.companions import Companions
from crucible_batch.metrics.results import RunCounts
from crucible_batch.metrics.score import REASON_NAMES, ScoreTable

METRICS = sorted(catalog.result_metrics(catalog.for_ks((5,)))[:6], key=lambda metric: metric.name)
N_RESULTS = 23


def table(first: int, n_results: int) -> ScoreTable:
    random = np.random.default_rng(first)
    codes = random.integers(0, len(REASON_NAMES) + 1, (n_results, len(METRICS)), dtype=np.uint8)
    values = np.where(codes, np.nan, random.random(codes.shape))
    index = pl.DataFrame(
        {
            "item_id": [f"i{place:03}" for place in range(first, first + n_results)],
            "sample_index": [0] * n_results,
        }
    )
    return ScoreTable(index, METRICS, values, codes)


def scored(scores: ScoreTable) -> Scored:
    wide = scores.index.with_columns(error_class=pl.lit(None, dtype=pl.String))
    return Scored(
        scores=scores,
        companions=Companions.room([], scores.index.height),
        outcomes=scores.index,
        wide=wide,
        counts=RunCounts(scores.index.height, 0, 0, 0, 0, 0),
        n_blank_contexts=0,
    )


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setattr(collect, "PIECE", 4)
    made = Collection(tmp_path, METRICS, N_RESULTS)
    for first, n_results in ((0, 9), (9, 1), (10, 13)):
        made.add(scored(table(first, n_results)))
    return made


@pytest.fixture
def every() -> pl.DataFrame:
    return pl.concat([table(0, 9).long(), table(9, 1).long(), table(10, 13).long()])


def test_long_scores_are_those_of_the_buckets(collection, every):
    assert collection.scores().collect().equals(every)


def test_they_can_be_read_twice(collection, every):
    scores = collection.scores()
    assert scores.collect().equals(scores.collect())


@pytest.mark.parametrize("n_rows", [0, 1, 5, 24, 25, 1_000])
def test_the_first_rows_are_the_first_rows(collection, every, n_rows):
    assert collection.scores().head(n_rows).collect().equals(every.head(n_rows))


def test_columns_and_rows_can_be_chosen(collection, every):
    chosen = pl.col("null_reason").is_null(), pl.col("item_id") > "i005"
    expected = every.filter(*chosen).select("value", "metric")
    assert collection.scores().filter(*chosen).select("value", "metric").collect().equals(expected)


def test_rows_are_counted(collection, every):
    assert collection.scores().select(pl.len()).collect().item() == every.height


def test_the_first_rows_may_be_chosen_from_and_chosen_rows_cut(collection, every):
    carried = pl.col("value").is_not_null()
    scores = collection.scores()
    assert scores.head(9).filter(carried).collect().equals(every.head(9).filter(carried))
    assert scores.filter(carried).head(9).collect().equals(every.filter(carried).head(9))
    assert scores.slice(5, 30).collect().equals(every.slice(5, 30))
    assert scores.tail(3).collect().equals(every.tail(3))
