"""Tiny rankings with the right values, every row under the option it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from crucible_batch.errors import ContractError
from crucible_batch.exact import exact_mean
from crucible_batch.metrics.grades import resolve_grades
from crucible_batch.metrics.retrieval_scores import retrieval_scores

FAMILY = {"ap": "average_precision", "rr": "mrr", "p": "precision", "rprec": "r_precision"}


def canonical(measure: str) -> str:
    family, _, k = measure.partition("@")
    return FAMILY.get(family, family) + (f"@{k}" if k else "")


def edges(cases: Path, part: str) -> dict[str, dict[str, Any]]:
    rows = json.loads((cases / "retrieval_edges.json").read_text())[part]
    return {row["id"]: row for row in rows}


def value(run: Any, qrels: Any, measure: str, **options: Any) -> float | None:
    """The value of a single query, or the mean when the measure starts with MEAN."""
    name = canonical(measure.removeprefix("MEAN "))
    found = retrieval_scores(run, qrels, name, **options)["value"]
    if measure.startswith("MEAN "):
        return exact_mean(found.drop_nulls().to_list())
    return found.item()


BY_QUERY = (
    "tie_docid_desc",
    "tie_insertion_order_irrelevant",
    "float64_scores",
    "fewer_than_k",
    "bpref_no_judged_nonrelevant",
    "negative_grade",
    "query_extra_in_run",
    "empty_ranking",
    "graded_rel1",
    "graded_rel2",
    "ndcg_cut_vs_full",
    "rr_beyond_k",
    "hit_vs_recall_vs_rr_at1",
    "rprec_fewer_than_R",
    "perfect_is_exactly_one",
)


def test_every_edge_case_has_a_test(cases: Path) -> None:
    assert set(edges(cases, "by_query")) == set(BY_QUERY)
    assert set(edges(cases, "rows")) == {*BY_ROWS, *REFUSED, *SPECIAL}


@pytest.mark.parametrize("name", BY_QUERY)
def test_a_tiny_ranking_has_the_right_values(cases: Path, name: str) -> None:
    case = edges(cases, "by_query")[name]
    for measure, expected in case["expected"].items():
        found = value(case["run"], case["qrels"], measure, relevant_at=case["rel"])
        assert found == pytest.approx(expected, abs=1e-12), measure


def test_a_perfect_ranking_is_exactly_one(cases: Path) -> None:
    case = edges(cases, "by_query")["perfect_is_exactly_one"]
    for measure in ("ndcg@5", "ndcg_exp@5", "recall@5", "ndcg", "average_precision", "bpref"):
        assert value(case["run"], case["qrels"], measure, relevant_at=1) == 1.0


def tables(case: dict[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    run = pl.DataFrame(
        [(q, d, rank, float(score)) for q, d, rank, score in case["run"]],
        schema=["query_id", "doc_id", "rank", "score"],
        orient="row",
    )
    columns = ["query_id", "doc_id", "grade", "source"]
    if not case["qrels"]:
        types = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int64}
        return run, pl.DataFrame(schema=types)
    width = len(case["qrels"][0])
    grades = [row[2] for row in case["qrels"]]
    dtype = pl.Float64 if any(isinstance(grade, float) for grade in grades) else pl.Int64
    qrels = pl.DataFrame(
        case["qrels"],
        schema=dict(zip(columns, [pl.String, pl.String, dtype, pl.String][:width], strict=False)),
        orient="row",
        strict=False,
    )
    return run, qrels


BY_ROWS = {
    "dup_doc_in_ranking": ({}, "dedupe_first"),
    "dup_relevant_doc_over_one": ({}, "dedupe_first"),
    "hash_in_doc_id": ({}, None),
    "identical_query_and_doc_id": ({}, "default"),
}
REFUSED = {
    "dup_doc_in_ranking": ({"duplicates": "refuse"}, "1 duplicate (query_id, doc_id)"),
    "float_grade": ({}, "must be an integer"),
    "nan_score": ({}, "must be a finite number"),
    "k_zero": ({}, "k must be >= 1"),
}
SPECIAL = ("qrels_precedence", "mean_excludes_null", "unanswerable_item")


@pytest.mark.parametrize("name", BY_ROWS)
def test_a_tiny_table_has_the_right_values(cases: Path, name: str) -> None:
    options, part = BY_ROWS[name]
    case = edges(cases, "rows")[name]
    run, qrels = tables(case)
    for measure, expected in (case["expected"][part] if part else case["expected"]).items():
        found = value(run, qrels, measure, relevant_at=1, **options)
        assert found == pytest.approx(expected, abs=1e-12), measure


def test_documents_with_the_id_of_the_query_are_ignored_when_asked(cases: Path) -> None:
    case = edges(cases, "rows")["identical_query_and_doc_id"]
    run, qrels = tables(case)
    before = run.clone()
    for measure, expected in case["expected"]["ignore_identical_ids"].items():
        found = value(run, qrels, measure, relevant_at=1, ignore_identical_ids=True)
        assert found == pytest.approx(expected, abs=1e-12)
    assert run.equals(before)


@pytest.mark.parametrize("name", REFUSED)
def test_a_faulty_input_is_refused_with_the_reason(cases: Path, name: str) -> None:
    options, message = REFUSED[name]
    case = edges(cases, "rows")[name]
    run, qrels = tables(case)
    metric = "ndcg@0" if name == "k_zero" else "ndcg@3"
    with pytest.raises((ContractError, ValueError)) as error:
        retrieval_scores(run, qrels, metric, **options)
    assert message in str(error.value)


def test_grades_follow_the_precedence_of_sources(cases: Path) -> None:
    case = edges(cases, "rows")["qrels_precedence"]
    run, qrels = tables(case)
    resolved = resolve_grades(qrels)
    expected = case["expected"]
    assert dict(resolved.select("doc_id", "grade").iter_rows()) == expected["resolved"]
    assert value(run, qrels, "ndcg@3") == pytest.approx(expected["ndcg@3"], abs=1e-12)
    for level in (1, 2):
        found = value(run, qrels, "p@3", relevant_at=level)
        assert found == pytest.approx(expected[f"p@3_rel{level}"], abs=1e-12)


def test_a_mean_excludes_the_undefined_unless_trec_eval_is_asked_for(cases: Path) -> None:
    case = edges(cases, "rows")["mean_excludes_null"]
    run, qrels = tables(case)
    scores = retrieval_scores(run, qrels, "recall@1", relevant_at=1)
    expected = case["expected"]["recall@1"]
    assert dict(scores.select("query_id", "value").iter_rows()) == {
        "q1": expected["q1"],
        "q2": expected["q2"],
    }
    assert exact_mean(scores["value"].drop_nulls().to_list()) == expected["mean"]
    assert scores["null_reason"].to_list() == [None, "no_relevant_judged"]
    compat = retrieval_scores(run, qrels, "recall@1", relevant_at=1, trec_compat=True)
    assert exact_mean(compat["value"].to_list()) == case["expected"]["trec_compat_mean"]


def test_a_query_without_judgments_is_null_not_zero(cases: Path) -> None:
    run, qrels = tables(edges(cases, "rows")["unanswerable_item"])
    names = ["ndcg@10", "recall@10", "precision@10", "hit@10", "mrr", "bpref"]
    scores = retrieval_scores(run, qrels, names)
    assert scores["value"].to_list() == [None] * len(names)
    assert set(scores["null_reason"]) == {"no_qrels"}
    assert retrieval_scores(run, qrels, names, trec_compat=True).is_empty()
