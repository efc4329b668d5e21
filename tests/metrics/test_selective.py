from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from answer_run import AnswerRun

from crucible_batch.errors import ContractError
from crucible_batch.metrics.selective import curve_of_results, risk_coverage

PAGE = [
    ([0.9, 0.8, 0.7, 0.6], [0, 0, 1, 0], 0.145833, 0.083333, 0.09375),
    ([0.9, 0.9, 0.5, 0.5], [0, 1, 0, 1], 0.5, 0.291667, 0.25),
    ([0.5] * 4, [1, 0, 0, 0], 0.25, 0.1875, 0.125),
    ([0.9, 0.8, 0.2, 0.1], [1, 1, 0, 0], 0.791667, 0.583333, 0.375),
]


@pytest.mark.parametrize(("confidence", "error", "aurc", "e_aurc", "augrc"), PAGE)
def test_the_examples_of_the_metric_page(
    confidence: list[float], error: list[int], aurc: float, e_aurc: float, augrc: float
) -> None:
    found = risk_coverage(confidence, [not e for e in error])
    assert found.aurc == pytest.approx(aurc, abs=5e-7)
    assert found.e_aurc == pytest.approx(e_aurc, abs=5e-7)
    assert found.augrc == pytest.approx(augrc, abs=5e-7)


def test_no_pairs_have_no_area_and_an_empty_curve() -> None:
    found = risk_coverage([], [])
    assert (found.aurc, found.e_aurc, found.augrc, found.n_pairs) == (None, None, None, 0)
    assert found.curve.height == 0


def test_a_block_of_ties_spreads_its_errors_evenly() -> None:
    curve = risk_coverage([0.9, 0.5, 0.5, 0.5], [True, False, True, True]).curve
    assert curve["risk"].to_list() == pytest.approx([0, (1 / 3) / 2, (2 / 3) / 3, 1 / 4])
    assert curve["coverage"].to_list() == [0.25, 0.5, 0.75, 1.0]
    assert curve["point"].to_list() == [1, 2, 3, 4]


def test_a_perfect_order_has_no_excess() -> None:
    found = risk_coverage([0.9, 0.8, 0.7, 0.3, 0.3], [True, True, True, False, False])
    assert found.e_aurc == 0.0


CONFIDENCE, CORRECT = [0.9, 0.5, 0.5], [True, False, True]
KINDS = {
    "lists": (CONFIDENCE, CORRECT),
    "tuples": (tuple(CONFIDENCE), (1, 0, 1)),
    "numpy": (np.array(CONFIDENCE), np.array(CORRECT)),
    "numpy floats": (np.array(CONFIDENCE), np.array([1.0, 0.0, 1.0])),
    "pandas": (pd.Series(CONFIDENCE, index=[7, 8, 9]), pd.Series(CORRECT)),
    "polars": (pl.Series(CONFIDENCE), pl.Series(CORRECT)),
    "arrow": (pl.Series(CONFIDENCE).to_arrow(), pl.Series(CORRECT).to_arrow()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_any_kind_of_column_is_accepted(kind: str) -> None:
    assert risk_coverage(*KINDS[kind]).aurc == risk_coverage(CONFIDENCE, CORRECT).aurc


@pytest.mark.parametrize(
    ("confidence", "correct"),
    [
        ([0.9, None, 0.5], [True, True, False]),
        ([0.9, float("nan"), 0.5], [True, True, False]),
        (pd.Series([0.9, np.nan, 0.5]), pd.Series([1.0, 1.0, 0.0])),
        ([0.9, 0.7, 0.5], [True, None, False]),
    ],
)
def test_a_pair_with_a_null_is_dropped_and_counted(confidence: Any, correct: Any) -> None:
    found = risk_coverage(confidence, correct)
    assert (found.n_pairs, found.n_dropped) == (2, 1)
    assert found.aurc == risk_coverage([0.9, 0.5], [True, False]).aurc


@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ([0.5], [True, False], "confidence has 1 values and correct has 2"),
        ([float("inf")], [True], "position 0: inf is infinite"),
        ([0.5], [0.5], "position 0: 0.5 is neither true nor false"),
        (["sure"], [True], "confidence is no column of numbers"),
    ],
)
def test_what_is_no_pair_is_refused_by_place(confidence: Any, correct: Any, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        risk_coverage(confidence, correct)


def run_of_pairs() -> AnswerRun:
    run = AnswerRun()
    for name, confidence, verdict in [("b", 0.5, "supported"), ("a", 0.5, "missing")]:
        run.item(name, must=["x"]).result(name, confidence=confidence, verdicts={"x": verdict})
    run.item("silent", must=["x"]).result("silent", abstained=True, confidence=0.9)
    run.item("shy", must=["x"]).result("shy", verdicts={"x": "supported"})
    run.item("lost", must=["x"]).result("lost", confidence=0.9)
    return run.item("none", must=["x"])


def test_only_answered_labelled_results_with_a_confidence_are_pairs() -> None:
    run = run_of_pairs()
    assert run.number("aurc") == 0.5
    curve = curve_of_results(run.outcomes())
    assert curve.columns == [
        *("item_id", "sample_index", "point", "coverage", "risk", "confidence"),
        *("n_pairs", "n_results"),
    ]
    assert curve.rows() == [("a", 0, 1, 0.5, 0.5, 0.5, 2, 5), ("b", 0, 2, 1.0, 0.5, 0.5, 2, 5)]


def test_a_blank_answer_is_an_answer_that_is_wrong() -> None:
    run = AnswerRun().item("q", must=["x"]).result("q", answer="", confidence=0.5)
    assert run.number("aurc") == 1.0
