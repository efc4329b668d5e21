from typing import Any

import pytest

from crucible_batch.stats.bca import Bounds
from crucible_batch.stats.verdict import ci_label, decide, disagree, is_enough_for


def verdict(**changes: Any) -> tuple[str, bool]:
    plain: dict[str, Any] = {
        "n_units": 50,
        "p_adjusted": 0.01,
        "ci": Bounds(0.02, 0.10),
        "ci90": Bounds(0.03, 0.09),
        "margin": None,
        "min_items": 20,
        "higher_is_better": True,
    }
    return decide(**plain | changes)


@pytest.mark.parametrize(
    ("n_units", "label"),
    [
        (0, "insufficient items"),
        (19, "insufficient items"),
        (20, "small sample"),
        (39, "small sample"),
        (40, "ok"),
    ],
)
def test_the_label_says_how_far_an_interval_can_be_trusted(n_units: int, label: str) -> None:
    assert ci_label(n_units, 20) == label


@pytest.mark.parametrize(
    ("ci", "higher_is_better", "name"),
    [
        (Bounds(0.02, 0.1), True, "improved"),
        (Bounds(-0.1, -0.02), True, "regressed"),
        (Bounds(0.02, 0.1), False, "regressed"),
        (Bounds(-0.1, -0.02), False, "improved"),
        (Bounds(0.02, 0.1), None, "changed"),
    ],
)
def test_a_change_is_named_by_direction(
    ci: Bounds, higher_is_better: bool | None, name: str
) -> None:
    assert verdict(ci=ci, higher_is_better=higher_is_better) == (name, False)


@pytest.mark.parametrize("p", [0.0501, 1.0])
def test_the_interval_alone_is_not_enough(p: float) -> None:
    assert verdict(p_adjusted=p) == ("no_significant_change", False)


@pytest.mark.parametrize("ci", [Bounds(0.0, 0.1), Bounds(-0.1, 0.0), Bounds(-0.1, 0.1)])
def test_p_alone_is_not_enough(ci: Bounds) -> None:
    assert verdict(ci=ci) == ("no_significant_change", False)


def test_p_of_exactly_five_percent_is_enough() -> None:
    assert verdict(p_adjusted=0.05).name == "improved"


def test_too_few_items_come_before_everything() -> None:
    assert verdict(n_units=19).name == "insufficient_items"


def test_a_change_inside_the_margin_is_negligible() -> None:
    small = {"ci": Bounds(0.003, 0.013), "ci90": Bounds(0.004, 0.012), "n_units": 2_000}
    assert verdict(**small, margin=0.02) == ("improved", True)
    assert verdict(**small, margin=0.013) == ("improved", False)


def test_equivalence_needs_an_interval_inside_the_margin_and_enough_units() -> None:
    still: dict[str, Any] = {"p_adjusted": 0.8, "ci": Bounds(-0.03, 0.01), "margin": 0.02}
    inside, outside = Bounds(-0.019, 0.01), Bounds(-0.02, 0.01)
    assert verdict(**still, ci90=inside, n_units=150).name == "equivalent"
    assert verdict(**still, ci90=inside, n_units=149).name == "no_significant_change"
    assert verdict(**still, ci90=outside, n_units=400).name == "no_significant_change"
    assert verdict(**still | {"margin": None}, ci90=inside, n_units=400).name == (
        "no_significant_change"
    )


def test_three_over_the_margin_is_not_missed_by_rounding() -> None:
    assert any(n * (3 / n) < 3 for n in range(20, 500))
    for n in range(20, 500):
        assert is_enough_for(n, 3 / n)
        assert not is_enough_for(n - 1, 3 / n)


def test_interval_and_p_may_disagree_either_way() -> None:
    assert disagree(Bounds(0.01, 0.2), 0.06)
    assert disagree(Bounds(-0.01, 0.2), 0.04)
    assert not disagree(Bounds(0.01, 0.2), 0.05)
    assert not disagree(None, 1.0)
