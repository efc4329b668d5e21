from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
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
