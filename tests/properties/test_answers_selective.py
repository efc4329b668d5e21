"""Risk–coverage and calibration: no dependence on row order, and the expectation over ties."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import floor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.metrics.calibration import calibration_error, reliability_bins
from crucible_batch.metrics.pairs import make_pairs
from crucible_batch.metrics.selective import RiskCoverage, risk_coverage

CONFIDENCES = st.sampled_from([0.1, 0.2, 0.2000000001, 0.5, 0.9, 1.0])
PAIRS = st.lists(st.tuples(CONFIDENCES, st.booleans()), min_size=1, max_size=25)


def curve_of(pairs: list[tuple[float, bool]]) -> RiskCoverage:
    return risk_coverage([c for c, _ in pairs], [right for _, right in pairs])


def areas(found: RiskCoverage) -> tuple[Any, ...]:
    return found.aurc, found.e_aurc, found.augrc


@settings(max_examples=60, deadline=None)
@given(PAIRS, st.randoms())
def test_row_order_changes_no_bit(pairs: list[tuple[float, bool]], random: Any) -> None:
    shuffled = random.sample(pairs, len(pairs))
    one, other = curve_of(pairs), curve_of(shuffled)
    assert areas(one) == areas(other)
    assert one.curve.equals(other.curve)
    bins = [reliability_bins(*map(list, zip(*p, strict=True))) for p in (pairs, shuffled)]
    assert bins[0].equals(bins[1])


def strict_areas(errors: list[int]) -> tuple[Fraction, Fraction]:
    """AURC and AUGRC of one order without ties, as the papers write them."""
    n = len(errors)
    so_far = [sum(errors[: k + 1]) for k in range(n)]
    aurc = sum(Fraction(so_far[k], k + 1) for k in range(n)) / n
    before = [0, *so_far]
    augrc = sum(Fraction(before[k] + before[k + 1], 2 * n) for k in range(n)) / n
    return Fraction(aurc), Fraction(augrc)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.2, 0.5]), st.booleans()), min_size=1, max_size=5))
def test_ties_are_the_mean_over_every_order_of_the_tied(pairs: list[tuple[float, bool]]) -> None:
    orders = [order for order in permutations(pairs) if _descends(order)]
    every = [strict_areas([int(not right) for _, right in order]) for order in orders]
    found = curve_of(pairs)
    assert found.aurc == pytest.approx(float(sum(a for a, _ in every) / len(every)), abs=1e-15)
    assert found.augrc == pytest.approx(float(sum(g for _, g in every) / len(every)), abs=1e-15)


def _descends(order: tuple[tuple[float, bool], ...]) -> bool:
    confidences = [c for c, _ in order]
    return confidences == sorted(confidences, reverse=True)


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_the_areas_lie_in_their_range_and_excess_is_zero_for_a_perfect_order(
    pairs: list[tuple[float, bool]],
) -> None:
    found = curve_of(pairs)
    assert found.aurc is not None
    assert found.e_aurc is not None
    assert found.augrc is not None
    assert 0 <= found.e_aurc <= found.aurc <= 1
    assert 0 <= found.augrc <= 0.5
    perfect = sorted((right for _, right in pairs), reverse=True)
    ranked = [(1 - n / len(pairs), right) for n, right in enumerate(perfect)]
    assert curve_of(ranked).e_aurc == 0.0


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_excess_is_the_distance_to_the_perfect_order(pairs: list[tuple[float, bool]]) -> None:
    n, errors = len(pairs), sum(not right for _, right in pairs)
    best = sum(Fraction(k - (n - errors), k) for k in range(n - errors + 1, n + 1)) / n
    found = curve_of(pairs)
    assert found.aurc is not None
    assert found.e_aurc == pytest.approx(found.aurc - float(best), abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_the_curve_ends_at_the_error_rate_and_never_counts_an_error_twice(
    pairs: list[tuple[float, bool]],
) -> None:
    curve = curve_of(pairs).curve
    assert curve.height == len(pairs)
    assert curve["risk"][-1] == sum(not right for _, right in pairs) / len(pairs)
    errors = (curve["risk"] * curve["point"]).to_list()
    steps = [b - a for a, b in zip([0, *errors], errors, strict=False)]
    assert all(-1e-9 <= step <= 1 + 1e-9 for step in steps)


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_calibration_error_is_that_of_the_plain_loop(pairs: list[tuple[float, bool]]) -> None:
    n = len(pairs)
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in pairs:
        below = sum(other < confidence for other, _ in pairs)
        block = sum(other == confidence for other, _ in pairs)
        mean_rank = Fraction(2 * below + block + 1, 2)
        number = floor(10 * (mean_rank - Fraction(1, 2)) / n)
        bins.setdefault(number, []).append((confidence, right))
    gaps = [
        abs(sum(c for c, _ in inside) - sum(right for _, right in inside))
        for inside in bins.values()
    ]
    confidences, rights = map(list, zip(*pairs, strict=True))
    assert calibration_error(make_pairs(confidences, rights)) == pytest.approx(sum(gaps) / n)
    table = reliability_bins(confidences, rights)
    assert dict(table.select("bin", "n").iter_rows()) == {b: len(i) for b, i in bins.items()}
