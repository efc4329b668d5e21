from __future__ import annotations

import polars as pl
import pytest
from answer_run import AnswerRun

from crucible_batch.metrics.calibration import calibration_error, reliability_bins
from crucible_batch.metrics.pairs import make_pairs


def test_bins_hold_equal_mass() -> None:
    bins = reliability_bins([n / 20 for n in range(20)], [True] * 20)
    assert bins["bin"].to_list() == list(range(10))
    assert bins["n"].to_list() == [2] * 10
    assert bins["mean_confidence"][3] == pytest.approx(6.5 / 20)


def test_a_block_of_ties_is_never_split() -> None:
    bins = reliability_bins([0.5] * 7 + [0.9] * 3, [True] * 5 + [False] * 5)
    # Mean ranks 4 and 9: floor(10 · 3.5 / 10) = 3, floor(10 · 8.5 / 10) = 8.
    assert bins.select("bin", "n").rows() == [(3, 7), (8, 3)]
    assert bins["accuracy"].to_list() == [5 / 7, 0.0]


def test_nothing_has_no_bins_and_no_calibration_error() -> None:
    assert reliability_bins([], []).height == 0
    assert calibration_error(make_pairs([], [])) is None


def test_calibration_error_weighs_bins_by_size() -> None:
    pairs = make_pairs([0.75, 0.75, 0.25, 0.25], [True, False, False, False])
    assert calibration_error(pairs) == 0.25


def test_a_certain_and_right_answer_has_no_error() -> None:
    assert calibration_error(make_pairs([1.0, 0.0], [True, False])) == 0.0


@pytest.mark.parametrize(
    ("verdict", "confidence", "value"),
    [
        ("supported", 0.8, 0.04),
        ("contradicted", 0.8, 0.64),
        ("supported", None, "no_confidence"),
        ("malformed", 0.8, "malformed_verdict"),
    ],
)
def test_brier_is_the_squared_distance(
    verdict: str, confidence: float | None, value: float | str
) -> None:
    run = AnswerRun().item("q", must=["a"])
    run.result("q", verdicts={"a": verdict}, confidence=confidence)
    found = run.value("brier")
    assert found == (value if isinstance(value, str) else pytest.approx(value))


def test_an_abstention_has_no_brier_score() -> None:
    assert AnswerRun().item("q").result("q", abstained=True, confidence=1.0).value("brier") == (
        "abstained"
    )


def test_bins_do_not_depend_on_row_order() -> None:
    confidence, correct = [0.1, 0.3, 0.3, 0.7, 0.9], [True, False, True, True, False]
    forward = reliability_bins(confidence, correct)
    assert forward.equals(reliability_bins(confidence[::-1], correct[::-1]))
    assert forward.schema["bin"] == pl.Int64
