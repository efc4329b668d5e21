"""Inputs no table can be made of end in one kind of error, whatever library raised."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crucible_batch.errors import ContractError, UsageError
from crucible_batch.metrics import frames
from crucible_batch.metrics.grades import resolve_grades
from crucible_batch.metrics.retrieval_scores import retrieval_scores

RUN = {"q": {"d": 1.0}}
QRELS = {"q": {"d": 1}}
TWICE = pd.DataFrame([["q", "d", 1.0, 2.0]], columns=["query_id", "doc_id", "score", "score"])
MIXED = pd.DataFrame({"query_id": ["q", 5], "doc_id": ["d", {}], "score": [1.0, 2.0]})


@pytest.mark.parametrize("metrics", [None, 5, [1], [None], ["ndcg@10", 10], b"mrr", [["mrr"]]])
def test_a_metric_that_is_no_name_is_refused(metrics: Any) -> None:
    with pytest.raises(UsageError, match="by its name") as caught:
        retrieval_scores(RUN, QRELS, metrics)
    assert caught.value.problems


def test_metrics_may_come_from_any_iterable() -> None:
    assert retrieval_scores(RUN, QRELS, iter(("mrr", "ndcg"))).height == 2


@pytest.mark.parametrize(
    "run",
    [
        TWICE,
        MIXED,
        {"q\ud800": {"d": 1.0}},
        {"q": {"d\ud800": 1.0}},
        pd.DataFrame({"query_id": ["q"], "doc_id": ["d\ud800"], "score": [1.0]}, dtype=object),
        {"q": {"d": 10**400, "e": 1.0}},
    ],
    ids=["column twice", "mixed types", "query", "document", "pandas", "huge"],
)
def test_a_run_that_is_no_table_is_refused_with_the_cause(run: Any) -> None:
    with pytest.raises(ContractError, match="run cannot be read as a table") as caught:
        retrieval_scores(run, QRELS, "mrr")
    str(caught.value).encode()
    assert caught.value.problems


@pytest.mark.parametrize("grade", [1e300, -1e300, float(2**63), 2**64 - 1])
def test_a_grade_beyond_64_bits_is_refused_with_its_row(grade: float) -> None:
    dtype = pl.Float64 if isinstance(grade, float) else pl.UInt64
    grades = pl.Series("grade", [1, grade], dtype=dtype)
    qrels = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["d", "e"]}).with_columns(grades)
    with pytest.raises(ContractError, match=r"qrels\.grade must fit in 64 bits[\s\S]*row 2"):
        resolve_grades(qrels)


def test_a_chunk_in_two_documents_is_refused_by_name() -> None:
    qrels = pl.DataFrame({"query_id": ["q"], "doc_id": [None], "chunk_id": ["c1"], "grade": [1]})
    chunks = pl.DataFrame({"chunk_id": ["c2", "c1", "c1", "c2"], "doc_id": ["d", "x", "y", "d"]})
    with pytest.raises(ContractError, match="two documents") as caught:
        resolve_grades(qrels, chunks=chunks)
    assert caught.value.problems == ("chunk 'c1': document 'x'", "chunk 'c1': document 'y'")


def test_an_arrow_table_is_not_copied() -> None:
    run = pl.DataFrame({"query_id": "q", "doc_id": "a", "rank": range(1, 1001)})
    halves = pa.concat_tables(half.to_arrow() for half in (run[:500], run[500:]))
    (ranks,) = frames.open_table(halves, frames.RUN, "run").select("rank").collect().get_columns()
    given = [chunk.buffers()[1].address + 8 * chunk.offset for chunk in halves["rank"].chunks]
    assert [chunk.to_numpy(allow_copy=False).ctypes.data for chunk in ranks.get_chunks()] == given
