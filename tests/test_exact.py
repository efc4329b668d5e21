from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.exact import exact_mean, exact_sum

numbers = st.lists(st.floats(-1e100, 1e100), max_size=30)


@given(numbers)
def test_a_sum_is_the_true_sum_rounded_once(values):
    assert exact_sum(values) == float(sum(map(Fraction, values), Fraction(0)))


@given(numbers, st.randoms())
def test_a_sum_does_not_depend_on_the_order(values, random):
    shuffled = random.sample(values, len(values))
    assert exact_sum(shuffled).hex() == exact_sum(values).hex()


SHAPES = {
    "scores": lambda random, n: random.random(n),
    "both signs": lambda random, n: random.standard_normal(n),
    "zero and one": lambda random, n: random.integers(0, 2, n).astype(float),
    "all magnitudes": lambda random, n: (
        random.standard_normal(n) * 10.0 ** random.integers(-250, 250, n)
    ),
    "what cancels": lambda random, n: np.concatenate(
        [half := random.standard_normal(n // 2), -half[::-1], [1e-30]]
    ),
    "subnormal": lambda random, n: np.ldexp(random.random(n), -1060),
    "huge": lambda random, n: random.standard_normal(n) * 1e300,
    "integers": lambda random, n: random.integers(-(2**52), 2**52, n),
    "one value": lambda random, n: np.full(n, 1 / 3),
    "zero": lambda random, n: -np.zeros(n),
}


@pytest.mark.parametrize("shape", SHAPES)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 999, 1_001, 4_000, 65_537, 140_000]))
@settings(max_examples=12)
def test_the_sum_of_an_array_is_that_of_its_values(shape, seed, size):
    values = SHAPES[shape](np.random.default_rng(seed), size)
    assert exact_sum(values).hex() == (math.fsum(values.tolist()) + 0.0).hex()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1))
def test_the_sum_of_an_array_of_any_values_is_exact(some):
    values = np.resize(np.array(some), 1_500)
    true = sum(map(Fraction, values.tolist()), Fraction(0))
    assert exact_sum(values) == float(true)


def test_the_sum_of_a_long_array_is_rounded_once():
    assert exact_sum(np.array([1e16, 1.0, -1e16] * 50_000)) == 50_000.0


@pytest.mark.parametrize("n_rows", [2, 2_000])
def test_a_table_is_added_up_as_a_whole(n_rows):
    table = np.random.default_rng(1).random((n_rows, 3))
    assert exact_sum(table) == math.fsum(table.ravel().tolist())
    assert exact_mean(table) == exact_sum(table) / (3 * n_rows)


def test_what_is_no_number_is_never_added_away():
    values = np.full(2_000, 0.5)
    for bad in (np.nan, np.inf, -np.inf):
        values[-1] = bad
        assert repr(exact_sum(values)) == repr(bad)


def test_a_plain_sum_would_depend_on_it():
    values = [1e16, 1.0, -1e16]
    assert exact_sum(values) == exact_sum(sorted(values)) == 1.0
    assert sum(values) != 1.0


def test_no_sum_is_minus_zero():
    for values in ([], [-0.0], [1.0, -1.0]):
        assert math.copysign(1.0, exact_sum(values)) == 1.0


def test_the_mean_of_nothing_is_nothing():
    assert exact_mean([]) is None
    assert exact_mean(iter([])) is None


def test_a_mean_takes_any_iterable_once():
    assert exact_mean(iter([0.1] * 10)) == exact_mean([0.1] * 10) == 0.1
