from __future__ import annotations

import pytest
from answer_run import RESULT_METRICS, AnswerRun

from crucible_batch.metrics import catalog
from crucible_batch.metrics.facts import evidence_hashes
from crucible_batch.metrics.results import CONCEPT_UNCHECKED, notes, run_counts, wide_results
from crucible_batch.metrics.taxonomy import classify


def a_run() -> AnswerRun:
    run = AnswerRun()
    for item_id in "abcde":
        run.item(item_id, must=["m"])
    run.result("a", verdicts={"m": "supported"}, retrieved=[{"doc_id": "d", "text": "t"}])
    run.result("b", abstained=True, answer="")
    run.result("c", error="boom", answer="")
    return run.result("d", answer="")


def test_results_are_counted_by_what_became_of_them() -> None:
    counts = run_counts(a_run().answers())
    assert (counts.n_expected, counts.n_results, counts.n_errored) == (5, 4, 1)
    assert (counts.n_abstained, counts.n_answered, counts.n_blank_answers) == (1, 2, 2)


def test_counts_of_buckets_add_up() -> None:
    counts = run_counts(a_run().answers())
    assert (counts + counts).n_answered == 4


@pytest.mark.parametrize(("threshold", "degraded"), [(0.4, False), (0.39, True), (1.0, False)])
def test_a_run_is_degraded_strictly_above_the_threshold(threshold: float, degraded: bool) -> None:
    assert run_counts(a_run().answers()).is_degraded(threshold) is degraded


def test_a_run_of_nothing_is_not_degraded() -> None:
    assert not run_counts(AnswerRun().answers()).is_degraded(0.05)


def test_the_wide_table_has_a_row_per_result_and_a_column_per_metric() -> None:
    run = a_run()
    answers = run.answers()
    evidence = evidence_hashes(run.rows.retrievals)
    names = [metric.name for metric in RESULT_METRICS]
    wide = wide_results(run.score_table().wide(names), answers, classify(answers), evidence)
    assert wide["item_id"].to_list() == list("abcde")
    assert wide["errored"].to_list() == [False, False, True, False, True]
    assert wide["truthfulness_label"].to_list() == ["perfect", "missing", None, "missing", None]
    assert wide["accuracy"].to_list() == [1.0, 0.0, None, 0.0, None]
    assert wide["evidence_hash"].is_null().to_list() == [False, True, True, True, True]
    assert wide.columns[7:] == names


@pytest.mark.parametrize(("ran", "anchor", "noted"), [(False, "e", True), (True, "e", False)])
def test_anchors_that_nobody_looked_for_are_noted(ran: bool, anchor: str, noted: bool) -> None:
    run = AnswerRun(concepts_detected=ran).item("q", must=["m"], anchors={"m": anchor})
    found = notes(run.golden, run.run_flags, catalog.ALL)
    assert (found.get("must_recall") == (CONCEPT_UNCHECKED,)) is noted
    assert "groundedness" not in found


def test_without_anchors_there_is_nothing_to_note() -> None:
    run = AnswerRun().item("q", must=["m"])
    assert notes(run.golden, run.run_flags, catalog.ALL) == {}
