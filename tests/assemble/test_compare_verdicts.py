"""Families and verdicts of the cells of a comparison, without a store."""

from __future__ import annotations

import numpy as np
import pytest

from crucible_batch.assemble.compare.rows import Cell, is_unequally_judged, with_verdicts
from crucible_batch.metrics import catalog
from crucible_batch.stats.multiplicity import adjust_pvalues
from crucible_batch.stats.paired import paired_comparison

ALL, SLICE = ("all", "all"), ("shape", "lookup")


def cell(
    metric: str, n_better: int, n_worse: int = 0, *, n: int = 60, slice_name=ALL, **more
) -> Cell:
    """A 0/1 metric over n items of which so many got better and worse."""
    declared = catalog.find(metric)
    new = np.full(n, 0.0)
    new[:n_better] = 1.0
    old = np.full(n, 0.0)
    old[n_better : n_better + n_worse] = 1.0
    tested = paired_comparison(
        [f"q{k:03}" for k in range(n)],
        old,
        new,
        higher_is_better={"higher": True, "lower": False, "none": None}[declared.better],
        n_resamples=200,
    )
    return Cell(
        slice_name=slice_name,
        metric=declared,
        tested=tested,
        blocked=more.pop("blocked", None),
        **more,
    )


def settled(*cells: Cell, adjust: str = "holm") -> list:
    return [one.tested for one in with_verdicts(cells, adjust=adjust, min_items=20)]


def test_headline_metrics_are_one_family_adjusted_as_asked():
    cells = [cell("accuracy", 9), cell("recall_at_10", 12, 2), cell("citation_recall", 7, 7)]
    raw = [one.tested.p_value for one in cells]
    for method in ("holm", "bh", "by"):
        tested = settled(*cells, adjust=method)
        assert [one.family for one in tested] == ["headline"] * 3
        assert [one.p_adjusted for one in tested] == list(adjust_pvalues(raw, method))
        assert {one.family_size for one in tested} == {3}
        assert {one.adjust_method for one in tested} == {method}


def test_other_metrics_are_a_family_of_their_own_under_bh():
    others = [cell("must_recall", 9), cell("perfect_rate", 8), cell("assertion_score", 7)]
    cells = [cell("accuracy", 9), *others]
    tested = settled(*cells)
    assert [one.family for one in tested] == ["headline", "overall", "overall", "overall"]
    assert tested[0].p_adjusted == tested[0].p_value  # alone in its family
    raw = [one.tested.p_value for one in cells[1:]]
    assert [one.p_adjusted for one in tested[1:]] == list(adjust_pvalues(raw, "bh"))


def test_slices_are_a_third_family_without_those_of_few_items():
    cells = [
        cell("accuracy", 9),
        cell("accuracy", 9, slice_name=SLICE),
        cell("must_recall", 4, slice_name=SLICE),
        cell("accuracy", 9, n=19, slice_name=("shape", "privacy")),
    ]
    cells.insert(2, cell("perfect_rate", 6, slice_name=SLICE))
    tested = settled(*cells)
    assert [one.family for one in tested] == ["headline", "slices", "slices", "slices", None]
    assert [one.family_size for one in tested] == [1, 3, 3, 3, None]
    raw = [one.tested.p_value for one in cells[1:4]]
    assert [one.p_adjusted for one in tested[1:4]] == list(adjust_pvalues(raw, "bh"))
    assert list(adjust_pvalues(raw, "bh")) != list(adjust_pvalues(raw, "holm"))
    few = tested[-1]
    assert few.p_value == cells[-1].tested.p_value  # the raw p stays to be seen
    assert (few.p_adjusted, few.verdict) == (None, "insufficient_items")


def test_few_items_overall_are_in_the_family_and_get_no_verdict():
    tested = settled(cell("accuracy", 9, n=19), cell("recall_at_10", 9))
    assert [one.family_size for one in tested] == [2, 2]
    assert tested[0].verdict == "insufficient_items"


def test_a_metric_without_pairs_is_in_no_family():
    tested = settled(cell("accuracy", 0, n=0), cell("recall_at_10", 9))
    assert (tested[0].family, tested[0].verdict) == (None, "insufficient_items")
    assert tested[1].family_size == 1


def test_a_blocked_cell_keeps_delta_and_interval_and_loses_p_family_and_verdict():
    before = cell("accuracy", 30, blocked="degraded")
    after, other = settled(before, cell("recall_at_10", 30))
    assert (after.delta, after.ci_low) == (before.tested.delta, before.tested.ci_low)
    lost = (
        "p_value",
        "p_method",
        "p_min_attainable",
        "p_adjusted",
        "family",
        "family_size",
        "verdict",
    )
    assert {name: getattr(after, name) for name in lost} == dict.fromkeys(lost)
    assert not after.ci_p_disagree
    assert other.family_size == 1


def test_an_undeclared_metric_is_shown_and_not_tested():
    after, other = settled(cell("must_recall", 30, is_tested=False), cell("perfect_rate", 30))
    assert after.delta == 0.5
    assert (after.p_value, after.p_adjusted, after.verdict) == (None, None, "no_test")
    assert other.family_size == 1


def test_an_adjusted_p_decides_and_not_the_raw_one():
    alone = settled(cell("accuracy", 6))[0]
    assert alone.p_value == 2 * 0.5**6
    assert alone.verdict == "improved"
    among = settled(cell("accuracy", 6), cell("recall_at_10", 5, 5), cell("ndcg_at_10", 5, 5))[0]
    assert among.p_adjusted == pytest.approx(3 * among.p_value)
    assert among.p_adjusted <= 0.1
    assert among.verdict == "no_significant_change"


def test_a_metric_that_should_be_low_regresses_when_it_rises():
    (tested,) = settled(cell("incorrect_rate", 30))
    assert (tested.verdict, tested.n_worse) == ("regressed", 30)


@pytest.mark.parametrize(
    ("baseline", "candidate", "unequal"),
    [(0.9, 0.8, True), (0.8, 0.9, True), (0.9, 0.86, False), (None, 0.5, False)],
)
def test_a_regression_with_unequally_judged_rankings_says_so(baseline, candidate, unequal):
    (tested,) = settled(cell("recall_at_10", 0, 30))
    assert tested.verdict == "regressed"
    assert is_unequally_judged(tested, baseline, candidate) is unequal


def test_an_improvement_is_never_called_unequally_judged():
    (tested,) = settled(cell("recall_at_10", 30))
    assert not is_unequally_judged(tested, 0.9, 0.1)
