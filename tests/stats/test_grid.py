from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.stats.grid import (
    EXACT,
    Grid,
    differences,
    exact_floats,
    lattice,
    smallest_weights,
    to_grid,
)


def test_a_difference_of_rounding_size_is_zero() -> None:
    a = np.array([0.1 + 0.2, 1e6, 0.0])
    b = np.array([0.3, 1e6 + 1e-7, 1e-12])
    assert differences(a, b).tolist() == [0.0, 0.0, 0.0]


def test_a_small_but_real_difference_stays() -> None:
    assert differences(np.array([0.5]), np.array([0.5 + 1e-9]))[0] == pytest.approx(1e-9)


def test_decimals_become_whole_numbers() -> None:
    grid = to_grid(np.array([0.1, 0.2, -0.3, 0.1 + 0.2]))
    assert grid.counts.tolist() == [10**9, 2 * 10**9, -3 * 10**9, 3 * 10**9]
    assert grid.exponent == -10


@pytest.mark.parametrize("largest", [0.09999999999999998, 0.1, 0.49999999999999994, 0.5])
def test_a_last_bit_does_not_move_the_grid(largest: float) -> None:
    near = float(np.nextafter(largest, 1))
    assert to_grid(np.array([largest])).exponent == to_grid(np.array([near])).exponent


@pytest.mark.parametrize("scale", [1e-320, 1e-12, 1e-3, 1.0, 4.99, 5.0, 7e8, 1e299])
def test_no_value_moves_by_more_than_a_billionth_of_the_largest(scale: float) -> None:
    values = np.random.default_rng(1).uniform(-1, 1, 200) * scale
    grid = to_grid(values)
    largest = Fraction(float(np.max(np.abs(values))))
    moves = [
        abs(Fraction(int(q)) * Fraction(10) ** grid.exponent - Fraction(float(v)))
        for q, v in zip(grid.counts, values, strict=True)
    ]
    assert max(moves) <= largest * Fraction(1, 10**9) or scale < 1e-310
    assert np.abs(grid.counts).max() <= 5 * 10**9


def test_a_grid_of_nothing_and_of_zeros_is_whole() -> None:
    assert to_grid(np.zeros(0)).counts.size == 0
    assert to_grid(np.zeros(3)).counts.tolist() == [0, 0, 0]


def test_a_value_is_rounded_once() -> None:
    grid = to_grid(np.array([0.1, 0.1, 0.1]))
    assert grid.value(int(grid.counts.sum()), 3) == 0.1


@pytest.mark.parametrize(
    ("values", "steps"),
    [
        ([1.0, -1.0, 0.0], [1, -1, 0]),
        ([1 / 3, -2 / 3, 0.5], [2, -4, 3]),
        ([0.1, 0.1 + 0.2], [1, 3]),
        ([1 / 5040, 1.0], [1, 5040]),
        ([0.0], [0]),
    ],
)
def test_a_small_common_step_is_found(values: list[float], steps: list[int]) -> None:
    found = lattice(np.array(values))
    assert found is not None
    assert found.tolist() == steps


@pytest.mark.parametrize("values", [[], [1 / 5041], [1 / 71, 1 / 73], [np.pi], [1e20, 1.0]])
def test_no_small_step_is_no_lattice(values: list[float]) -> None:
    assert lattice(np.array(values)) is None


def test_weights_are_divided_by_what_they_share() -> None:
    found = smallest_weights(np.array([-6, 9, 12]))
    assert found is not None
    assert (found[0].tolist(), found[1]) == ([2, 3, 4], 3)


def test_weights_past_a_million_are_left_to_others() -> None:
    assert smallest_weights(np.array([1, 1_000_000])) is None


def test_numbers_are_coarsened_only_when_their_sums_would_not_be_exact() -> None:
    sums = np.array([123_456_789, -5])
    kept, unit = exact_floats(sums, float(EXACT - 1))
    assert (kept.tolist(), unit) == ([123_456_789.0, -5.0], 1.0)
    kept, unit = exact_floats(sums, float(EXACT) * 50)
    assert (kept.tolist(), unit) == ([1_234_568.0, 0.0], 100.0)


@given(
    total=st.one_of(
        st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False, width=32)
    ),
    divisor=st.integers(1, 10**6),
    exponent=st.integers(-20, 12),
)
def test_a_value_of_the_grid_is_the_exact_fraction_rounded_once(
    total: float, divisor: int, exponent: int
) -> None:
    exact = Fraction(total) / divisor * Fraction(10) ** exponent
    assert Grid(np.zeros(0, np.int64), exponent).value(total, divisor) == float(exact)
