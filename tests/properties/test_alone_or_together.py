"""A result depends on its own rows only, to the last bit: alone it scores as it does among others.

Polars takes other paths for a column of one row, and a bucket may hold a single result.
"""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch import retrieval_scores
from crucible_batch.metrics import catalog
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.retrieval import UNCUT, WITH_CUT
from crucible_batch.metrics.score import score

KS = (1, 3, 5, 6, 7, 10)
RANKED = [*(f"{family}@{k}" for family in WITH_CUT for k in KS), *(m.name for m in UNCUT)]
DOCS = [f"d{number}" for number in range(14)]

rankings = st.lists(st.sampled_from(DOCS), unique=True, max_size=len(DOCS))
grades = st.dictionaries(st.sampled_from(DOCS), st.integers(0, 3), max_size=len(DOCS))
queries = st.lists(st.tuples(rankings, grades), min_size=1, max_size=4)


def bits(scores: pl.DataFrame) -> set[tuple[str, str, str]]:
    return {
        (query, metric, float.hex(value) if value is not None else reason)
        for query, metric, value, reason in scores.iter_rows()
    }


@settings(max_examples=60, deadline=None)
@given(queries)
def test_a_query_alone_scores_as_it_does_among_others(asked):
    ranked, judged = [], []
    for number, (docs, graded) in enumerate(asked):
        ranked += [(f"q{number}", doc, float(-at)) for at, doc in enumerate(docs)]
        judged += [(f"q{number}", doc, grade) for doc, grade in graded.items()]
    run, qrels = (
        pl.DataFrame(
            rows,
            schema={"query_id": pl.String, "doc_id": pl.String, name: dtype},
            orient="row",
        )
        for rows, name, dtype in ((ranked, "score", pl.Float64), (judged, "grade", pl.Int64))
    )
    # Three of each, so that no query is ever alone.
    many = [
        pl.concat(frame.with_columns(pl.col("query_id") + f"/{n}") for n in range(3))
        for frame in (run, qrels)
    ]
    together = bits(retrieval_scores(*many, RANKED))
    for query in sorted({*run["query_id"], *qrels["query_id"]}):
        own = (frame.filter(query_id=query) for frame in (run, qrels))
        alone = bits(retrieval_scores(*own, RANKED))
        expected = {(f"{name}/1", metric, value) for name, metric, value in alone}
        assert expected == {row for row in together if row[0] == f"{query}/1"}


@pytest.mark.parametrize("k", [3, 5, 6, 7, 10])
@pytest.mark.parametrize("n_queries", [1, 2])
def test_a_precision_is_rounded_once(n_queries, k):
    found = {f"q{n}": {f"d{at}": -float(at) for at in range(k)} for n in range(n_queries)}
    for n_relevant in range(k + 1):
        judged = {query: {f"d{at}": 2 * (at < n_relevant) for at in range(k)} for query in found}
        values = retrieval_scores(found, judged, f"precision@{k}")["value"].to_list()
        assert values == [n_relevant / k] * n_queries


@pytest.mark.parametrize(
    "metric", catalog.result_metrics(catalog.for_ks((10,))), ids=lambda metric: metric.name
)
def test_the_example_of_every_metric_scores_the_same_beside_itself(metric: Metric):
    rows = metric.grain.rows(*metric.example.rows)
    some = [
        score({metric.grain.name: pl.concat([rows] * n).with_row_index("row")}, [metric], ["row"])
        for n in (1, 2, 5)
    ]
    first, *others = (frame["value"].unique().to_list() for frame in some)
    assert all(values == first for values in others)
