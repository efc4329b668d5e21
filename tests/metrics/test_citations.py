from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from answer_run import AnswerRun

from crucible_batch.metrics.answer_frames import answer_frame
from crucible_batch.metrics.answer_grains import KEY
from crucible_batch.metrics.citations import citation_precision
from crucible_batch.metrics.score import score


def citing(
    cites: list[str], *, item: dict[str, Any] | None = None, retrieved: Any = (), **flags: Any
) -> AnswerRun:
    """d1 relevant, d2 not, d3 unjudged, d4 relevant but forbidden; d1 and d9 required."""
    facts = {
        "grades": {"d1": 2, "d2": 1, "d4": 3},
        "required": ["d1", "d9"],
        "forbidden": ["d4"],
    } | (item or {})
    return AnswerRun(**flags).item("q", **facts).result("q", cites=cites, retrieved=retrieved)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("citation_precision", 0.25),
        ("citation_precision_judged", 1 / 3),
        ("citation_judged_share", 0.75),
        ("citation_recall", 0.5),
        ("forbidden_citation_rate", 0.25),
        ("dangling_citation_rate", 0.5),
    ],
)
def test_citations_are_counted_by_what_they_are(metric: str, value: float) -> None:
    assert citing(["d1", "d2", "d3", "d4"], retrieved=["d1", "d4"]).value(metric) == value


def test_a_document_cited_twice_counts_once() -> None:
    assert citing(["d1", "d1", "d2"]).value("citation_precision") == 0.5


def test_judged_precision_needs_a_judged_citation() -> None:
    run = citing(["d3"])
    assert run.value("citation_precision") == 0.0
    assert run.value("citation_precision_judged") == "not_judged"


@pytest.mark.parametrize("metric", ["citation_precision", "citation_precision_judged"])
@pytest.mark.parametrize(("answerable", "reason"), [(True, "no_qrels"), (False, "unanswerable")])
def test_an_item_without_judgments_has_no_precision(
    metric: str, answerable: bool, reason: str
) -> None:
    assert citing(["d1"], item={"grades": {}, "answerable": answerable}).value(metric) == reason


def test_citing_nothing_is_no_precision_but_zero_recall() -> None:
    run = citing([])
    assert run.value("citation_precision") == "no_citations"
    assert run.value("forbidden_citation_rate") == "no_citations"
    assert run.value("citation_recall") == 0.0


def test_an_item_that_requires_nothing_has_no_citation_recall() -> None:
    assert citing(["d1"], item={"required": []}).value("citation_recall") == "no_required_citations"


@pytest.mark.parametrize("metric", ["citation_precision", "citation_recall"])
def test_a_run_that_reports_no_citations_has_no_citation_metric(metric: str) -> None:
    assert citing([], citations_reported=False).value(metric) == "not_reported"


def test_without_retrieval_nothing_dangles() -> None:
    run = AnswerRun().item("q").result("q", cites=["d"], retrieval_ran=False)
    assert run.value("dangling_citation_rate") == "contexts_provided"
    run = AnswerRun(retrieval_reported=False).item("q").result("q", cites=["d"])
    assert run.value("dangling_citation_rate") == "not_reported"


def test_a_document_of_another_result_is_not_retrieved() -> None:
    run = AnswerRun(samples_n=2).item("q").result("q", cites=["d"])
    run.result("q", sample=1, retrieved=["d"], cites=["d"])
    assert run.value("dangling_citation_rate", sample=0) == 1.0
    assert run.value("dangling_citation_rate", sample=1) == 0.0


def test_documents_are_judged_also_where_chunks_are_ranked() -> None:
    run = citing(["d1", "d2"])
    no_chunk_judged = run.contexts.with_columns(n_qrels=0, n_placed=0, n_relevant=0)
    assert citation_precision_with(run, no_chunk_judged) == 0.5


def test_judgments_of_chunks_nobody_can_place_judge_no_document() -> None:
    run = citing(["d1"], item={"grades": {}})
    somewhere = run.contexts.with_columns(n_qrels=pl.lit(2))
    assert citation_precision_with(run, somewhere) == "unplaced"


def citation_precision_with(run: AnswerRun, contexts: pl.DataFrame) -> float | str:
    frame = answer_frame(
        run.golden, run.rows, run.run_flags, grades=run.grades, contexts=contexts, relevant_at=2
    )
    row = score({"answer": frame}, [citation_precision()], KEY).row(0, named=True)
    return row["null_reason"] or row["value"]
