import math
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from crucible_batch.stats.signflip import (
    SignFlips,
    lattice_p,
    meet_in_the_middle_p,
    monte_carlo_p,
    sign_flip_tests,
)

whole = st.integers(-40, 40).filter(bool)


def flips(values: list[int], *, on_lattice: bool = False) -> SignFlips:
    sums = np.array(values, dtype=np.int64)
    return SignFlips(sums, sums if on_lattice else None, 0.0)


def slow_p(values: list[int]) -> float:
    """All sign vectors, one by one."""
    observed = abs(sum(values))
    extreme = sum(
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) >= observed
        for signs in product((-1, 1), repeat=len(values))
    )
    return extreme / 2 ** len(values)


@settings(deadline=None)
@given(st.lists(whole, min_size=1, max_size=9))
def test_dynamic_programming_equals_looking_at_every_sign_vector(values: list[int]) -> None:
    weights = np.abs(np.array(values))
    assert lattice_p(weights, abs(sum(values))) == slow_p(values)


@settings(deadline=None)
@given(st.lists(whole, min_size=1, max_size=9))
def test_meeting_in_the_middle_equals_looking_at_every_sign_vector(values: list[int]) -> None:
    assert meet_in_the_middle_p(np.array(values), 0.0) == slow_p(values)


@settings(deadline=None)
@given(st.lists(whole, min_size=20, max_size=30))
def test_both_exact_ways_agree(values: list[int]) -> None:
    middle = meet_in_the_middle_p(np.array(values), 0.0)
    assert lattice_p(np.abs(np.array(values)), abs(sum(values))) == middle


@pytest.mark.parametrize(
    ("n", "wins"), [(7, 6), (53, 53), (100, 61), (1_000, 540), (1_000, 900), (300_000, 150_900)]
)
def test_equal_weights_are_the_binomial_test(n: int, wins: int) -> None:
    p = lattice_p(np.ones(n, dtype=np.int64), 2 * wins - n)
    assert p == pytest.approx(binomtest(wins, n).pvalue, rel=1e-11)


def test_cutting_far_tails_away_changes_nothing_that_counts() -> None:
    """Second opinion: counts as Python integers, nothing cut, nothing rounded."""
    weights = np.random.default_rng(4).integers(1, 9, 200)
    ways = [1]
    for weight in weights.tolist():
        ways = [
            (ways[k] if k < len(ways) else 0) + (ways[k - weight] if k >= weight else 0)
            for k in range(len(ways) + weight)
        ]
    total = int(weights.sum())
    for observed in range(total % 2, total + 1, 34):
        tail = sum(ways[(total + observed) // 2 :])
        exact = min(1.0, 2 * tail / 2**200) if observed else 1.0
        assert lattice_p(weights, observed) == pytest.approx(exact, rel=1e-11)


def test_p_is_never_zero() -> None:
    [found] = sign_flip_tests([flips([1] * 5_000, on_lattice=True)], n_resamples=100, seed=1)
    assert found.p == found.attainable == sys.float_info.min
    [found] = sign_flip_tests([flips([10**8 + k for k in range(40)])], n_resamples=100, seed=1)
    assert (found.p, found.method) == (1 / 101, "monte_carlo")


def test_ties_count_although_their_sums_differ_by_rounding() -> None:
    values = np.array([333_333_333, 333_333_333, -666_666_667, 500_000_000])
    assert meet_in_the_middle_p(values, 2.0) == slow_p([2, 2, -4, 3])


@pytest.mark.parametrize(
    ("n", "method", "least"), [(1, "exact", 1.0), (30, "exact", 2.0**-29), (31, "monte_carlo", 0.1)]
)
def test_the_least_p_is_known_before_the_data(n: int, method: str, least: float) -> None:
    values = [10**8 + 7 * k * k for k in range(n)]
    [found] = sign_flip_tests([flips(values)], n_resamples=9, seed=1)
    assert (found.method, found.attainable) == (method, least)


def test_no_change_is_p_one() -> None:
    [found] = sign_flip_tests([flips([])], n_resamples=9, seed=1)
    assert found == (1.0, "exact", 1.0)


def test_monte_carlo_is_near_the_exact_p() -> None:
    values = np.random.default_rng(2).normal(0.2, 1, 28) * 1e8
    test = SignFlips(np.rint(values).astype(np.int64), None, 14.0)
    exact = meet_in_the_middle_p(test.sums, 14.0)
    drawn = [monte_carlo_p([test], n_resamples=10_000, seed=seed)[0] for seed in range(5)]
    assert np.abs(np.array(drawn) - exact).max() < 4.5 * math.sqrt(exact * (1 - exact) / 10_000)


def test_many_tests_together_get_the_p_of_each_alone() -> None:
    rng = np.random.default_rng(3)
    tests = [
        flips(rng.integers(-(10**9), 10**9, n).tolist()) for n in (31, 60, 61, 97, 120, 200, 59, 72)
    ]
    together = monte_carlo_p(tests, n_resamples=1_200, seed=4)
    assert together == [monte_carlo_p([t], n_resamples=1_200, seed=4)[0] for t in tests]
    assert len(set(together)) > 1


def test_monte_carlo_equals_a_plain_loop_over_its_own_signs() -> None:
    from crucible_batch.stats.streams import sign_words

    values = np.random.default_rng(5).integers(-(10**9), 10**9, 70)
    bits = [
        [int(word) >> place & 1 for group in (0, 1) for word in [sign_words(group, 300, 9)[row]]
         for place in range(60)][:70]
        for row in range(300)
    ]  # fmt: skip
    flipped = [
        sum(int(v) if b else -int(v) for v, b in zip(values, row, strict=True)) for row in bits
    ]
    extreme = sum(abs(total) >= abs(int(values.sum())) for total in flipped)
    assert monte_carlo_p([flips(values.tolist())], n_resamples=300, seed=9) == [(extreme + 1) / 301]
