"""Second opinions: scipy's bootstrap, its exact permutation test and its binomial test."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crucible_batch.stats.paired import paired_comparison

# Integers up to 3,000 in thousandths: scipy knows no tie tolerance, so the deltas must be exact.
deltas = st.lists(st.integers(-3_000, 3_000), min_size=20, max_size=60).filter(
    lambda values: len(set(values)) > 3
)


def compared(values: list[int], **options: int):
    names = [f"q{k:03}" for k in range(len(values))]
    return paired_comparison(names, np.zeros(len(values)), values, **options)


def check_interval(values: list[int], n_resamples: int, most_errors: float) -> None:
    """Both intervals lie within some standard errors, and one step of the lattice."""
    row = compared(values, n_resamples=n_resamples)
    theirs = stats.bootstrap(
        (np.array(values, dtype=float),),
        np.mean,
        n_resamples=n_resamples,
        batch=1_000,
        method="BCa",
        rng=np.random.default_rng(1),
    ).confidence_interval
    error = row.sd_delta / math.sqrt(len(values))
    allowed = most_errors * error + math.gcd(*values) / len(values)
    assert abs(row.ci_low - theirs.low) <= allowed
    assert abs(row.ci_high - theirs.high) <= allowed


@settings(max_examples=8, deadline=None)
@given(deltas)
def test_the_interval_is_near_that_of_scipy(values: list[int]) -> None:
    # Twenty times fewer resamples than below: √20 times the noise of the levels.
    check_interval(values, 10_000, 0.4)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(deltas)
def test_the_interval_is_that_of_scipy_at_200_000_resamples(values: list[int]) -> None:
    check_interval(values, 200_000, 0.20)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-40, 40), min_size=2, max_size=13), st.sampled_from([1, 10, 3, 7.1]))
def test_p_is_that_of_the_exact_permutation_test(values: list[int], divisor: float) -> None:
    row = compared(np.array(values) / divisor)
    # scipy forgives rounding only relative to the observed mean: it is given whole numbers.
    exact = stats.permutation_test(
        (np.array(values, dtype=float),),
        lambda x, axis: np.abs(np.sum(x, axis=axis)),
        permutation_type="samples",
        n_resamples=2**13,
        alternative="greater",
        vectorized=True,
    ).pvalue
    assert row.p_value == pytest.approx(exact, rel=1e-12)
    assert row.p_method == "exact"


@settings(deadline=None)
@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=400))
def test_p_of_a_yes_or_no_metric_is_the_binomial_test(values: list[int]) -> None:
    wins, losses = values.count(1), values.count(-1)
    exact = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    names = [f"q{k:03}" for k in range(len(values))]
    row = paired_comparison(names, np.zeros(len(values)), values, n_resamples=40)
    assert row.p_value == pytest.approx(exact, rel=1e-10)
    assert row.p_method == "exact"
