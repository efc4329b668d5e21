"""Counting extreme sign vectors by float32 products against a loop in whole numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crucible_batch.stats import sign_products
from crucible_batch.stats.sign_products import count_by_product
from crucible_batch.stats.streams import UNITS_PER_WORD, sign_words

SEED = 5


def sums_of_signs(values: NDArray[np.float64], n_resamples: int) -> list[int]:
    """|Σ s_i d_i| of every sign vector, in Python's integers."""
    found = []
    words = [
        sign_words(group, n_resamples, SEED) for group in range(-(-values.size // UNITS_PER_WORD))
    ]
    for resample in range(n_resamples):
        signs = [
            1 if int(word[resample]) >> bit & 1 else -1
            for word in words
            for bit in range(UNITS_PER_WORD)
        ]
        found.append(abs(sum(s * int(v) for s, v in zip(signs, values, strict=False))))
    return found


@given(
    st.lists(
        st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=70), min_size=1, max_size=3
    ),
    st.integers(0, 19),
)
def test_counts_are_those_of_whole_numbers_even_when_a_sum_is_the_bound(
    tests: list[list[int]], at: int
) -> None:
    sums = [np.array(values, float) for values in tests]
    sizes = [sums_of_signs(values, 20) for values in sums]
    bounds = [float(found[at]) for found in sizes]
    expected = [
        sum(size >= bound for size in found) for found, bound in zip(sizes, bounds, strict=True)
    ]
    assert count_by_product(sums, bounds, n_resamples=20, seed=SEED) == expected


def test_counts_over_many_blocks_do_not_depend_on_the_rounding() -> None:
    values = np.rint(np.random.default_rng(0).normal(0, 1e9, 2_500))
    assert sign_products._unit(values) > 2**10  # rounded away in float32
    sizes = sums_of_signs(values, 300)
    for bound in sorted(sizes)[::30]:
        expected = sum(size >= bound for size in sizes)
        assert count_by_product([values], [bound], n_resamples=300, seed=SEED) == [expected]
        expected = sum(size >= bound + 1 for size in sizes)
        assert count_by_product([values], [bound + 1], n_resamples=300, seed=SEED) == [expected]


@pytest.mark.parametrize("size", [1, 959, 960, 961, 5_000])
def test_rounded_numbers_sum_exactly_in_float32(size: int) -> None:
    values = np.rint(np.random.default_rng(size).normal(0, 1e9, size))
    rounded = np.rint(values / sign_products._unit(values))
    blocks = np.add.reduceat(np.abs(rounded), np.arange(0, size, 960))
    assert blocks.max() < 2**24


def test_numbers_that_fit_are_not_rounded() -> None:
    assert sign_products._unit(np.arange(1.0, 5_000.0)) == 1.0
