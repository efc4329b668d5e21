from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.contracts.vocabulary import SOURCES
from crucible_batch.errors import ContractError, UsageError
from crucible_batch.metrics.grades import resolve_grades


def qrels(*rows: tuple[Any, ...], **dtypes: Any) -> pl.DataFrame:
    names = ["query_id", "doc_id", "grade", "source", "chunk_id"][: len(rows[0])]
    types = {
        "query_id": pl.String,
        "doc_id": pl.String,
        "grade": pl.Int64,
        "source": pl.String,
        "chunk_id": pl.String,
    } | dtypes
    return pl.DataFrame(rows, schema={name: types[name] for name in names}, orient="row")


def test_the_strongest_source_wins_and_within_it_the_maximum() -> None:
    resolved = resolve_grades(
        qrels(
            ("q", "d1", 0, "llm"),
            ("q", "d1", 2, "provenance"),
            ("q", "d1", 1, "human"),
            ("q", "d1", 3, "human"),
            ("q", "d2", 3, "llm"),
            ("q", "d2", 0, "provenance"),
            ("q", "d3", 1, "llm"),
            ("q", "d3", 2, "llm"),
        )
    )
    assert resolved.rows() == [
        ("q", "d1", 3, "human"),
        ("q", "d2", 0, "provenance"),
        ("q", "d3", 2, "llm"),
    ]


def test_judgments_without_a_source_are_human() -> None:
    assert resolve_grades(qrels(("q", "d", 1), ("q", "d", 2))).rows() == [("q", "d", 2, "human")]


def test_rows_come_back_sorted_and_typed() -> None:
    resolved = resolve_grades(qrels(("q2", "b", 1), ("q1", "b", 0), ("q1", "a", 3)))
    assert resolved["doc_id"].to_list() == ["a", "b", "b"]
    assert resolved.schema == {
        "query_id": pl.String,
        "doc_id": pl.String,
        "grade": pl.Int64,
        "source": pl.String,
    }


def test_a_grade_below_zero_is_no_judgment_and_beats_none() -> None:
    rows = qrels(("q", "a", -1, "human"), ("q", "a", 2, "llm"), ("q", "b", -2, "human"))
    assert resolve_grades(rows).rows() == [("q", "a", 2, "llm")]


def test_chunk_judgments_count_for_their_document() -> None:
    rows = qrels(("q", "d", 1, "human", None), ("q", "d", 3, "human", "d#2"))
    assert resolve_grades(rows).rows() == [("q", "d", 3, "human")]


def test_a_chunk_finds_its_document_through_the_map() -> None:
    rows = qrels(("q", None, 3, "human", "c1"), ("q", None, 2, "human", "c9"))
    chunks = pl.DataFrame({"chunk_id": ["c1"], "doc_id": ["d"]})
    assert resolve_grades(rows, chunks=chunks).rows() == [("q", "d", 3, "human")]
    assert resolve_grades(rows).is_empty()


def test_a_documents_grade_is_not_spread_to_its_chunks() -> None:
    rows = qrels(("q", "d", 1, "human", None), ("q", "d", 3, "llm", "d#2"))
    resolved = resolve_grades(rows, granularity="chunk")
    assert resolved.columns == ["query_id", "doc_id", "chunk_id", "grade", "source"]
    assert resolved.rows() == [("q", "d", "d#2", 3, "llm")]


def test_the_same_document_of_two_queries_is_two_judgments() -> None:
    rows = qrels(("q1", "d", 1), ("q2", "d", 3))
    assert resolve_grades(rows)["grade"].to_list() == [1, 3]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (qrels(("q", "d", 1, "robot")), "a source outside human, provenance, llm"),
        (qrels(("q", None, 1, "human", None)), "neither doc_id nor chunk_id"),
        (qrels(("q", "d", None)), "qrels.grade must not be null"),
        (qrels((None, "d", 1)), "qrels.query_id must not be null"),
        (qrels(("q", "d", 1.5), grade=pl.Float64), r"must be an integer(.|\n)*row 1: 1.5"),
        (qrels(("q", "d", 2**40)), "a grade beyond"),
        (qrels(("q", "d", 1)).drop("doc_id"), "neither doc_id nor chunk_id"),
        (qrels(("q", "d", 1)).drop("grade"), "no column grade"),
        (qrels(("q", "d", 1)).with_columns(grade=pl.lit("1")), "it must be a number"),
    ],
)
def test_a_faulty_judgment_is_refused_with_its_row(rows: pl.DataFrame, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        resolve_grades(rows)


def test_an_unknown_granularity_is_refused() -> None:
    with pytest.raises(UsageError, match="granularity is 'page'"):
        resolve_grades(qrels(("q", "d", 1)), granularity="page")


def test_other_tables_and_nested_dicts_are_read_the_same() -> None:
    rows = qrels(("q", "d", 1), ("q", "e", 3))
    expected = resolve_grades(rows)
    relation = duckdb.connect().from_arrow(rows.to_arrow())
    for given_as in (rows.lazy(), rows.to_pandas(), rows.to_arrow(), relation):
        assert resolve_grades(given_as).equals(expected)
    assert resolve_grades({"q": {"d": 1, "e": 3}}).equals(expected)


def test_a_boolean_in_a_nested_dict_is_no_grade() -> None:
    with pytest.raises(ContractError, match="no number"):
        resolve_grades({"q": {"d": True}})


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["q1", "q2"]),
            st.sampled_from(["a", "b"]),
            st.integers(-1, 5),
            st.sampled_from(SOURCES),
        ),
        min_size=1,
    )
)
def test_resolution_equals_the_plain_loop(rows: list[tuple[str, str, int, str]]) -> None:
    expected: dict[tuple[str, str], tuple[int, str]] = {}
    for query, doc in {(row[0], row[1]) for row in rows}:
        for source in SOURCES:
            grades = [g for q, d, g, s in rows if (q, d, s) == (query, doc, source) and g >= 0]
            if grades:
                expected[query, doc] = (max(grades), source)
                break
    found = {(q, d): (g, s) for q, d, g, s in resolve_grades(qrels(*rows)).iter_rows()}
    assert found == expected
