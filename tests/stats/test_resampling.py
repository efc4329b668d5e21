import numpy as np
import pytest
from numpy.typing import NDArray

from crucible_batch.errors import UsageError
from crucible_batch.stats import bca
from crucible_batch.stats.resampling import (
    Units,
    count_blocks,
    mean_intervals,
    resampled_totals,
    statistic_interval,
)
from crucible_batch.stats.streams import BLOCK, index_blocks

RESAMPLES = 2_000


def units(values: NDArray[np.int64], sizes: NDArray[np.int64] | None = None) -> Units:
    return Units(values, np.ones_like(values) if sizes is None else sizes)


def intervals(
    metrics: list[Units], *, analytic: bool = False, n_resamples: int = RESAMPLES
) -> list[list[bca.Bounds]]:
    flags = [analytic] * len(metrics)
    return mean_intervals(metrics, (0.95, 0.9), n_resamples=n_resamples, seed=3, analytic=flags)


@pytest.fixture
def skewed() -> NDArray[np.int64]:
    return np.rint(np.random.default_rng(1).exponential(1e8, 60) - 5e7).astype(np.int64)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_totals_of_more_units_than_a_block(n_columns: int) -> None:
    column = np.arange(BLOCK + 5.0)
    drawn = np.concatenate([block.copy() for block in index_blocks(BLOCK + 5, 7, seed=3)])
    for total in resampled_totals([column] * n_columns, n_resamples=7, seed=3):
        assert total.tolist() == [column[row].sum() for row in drawn]


@pytest.mark.parametrize("n_columns", [1, 2, 3, 7])
@pytest.mark.parametrize("n_units", [2, 50, 3_000])
def test_totals_are_those_of_a_plain_loop(n_columns: int, n_units: int) -> None:
    rng = np.random.default_rng(n_units)
    columns = [rng.integers(-(10**6), 10**6, n_units).astype(float) for _ in range(n_columns)]
    n_resamples = 40 if n_units > 1_000 else 1_500
    drawn = np.concatenate([block.copy() for block in index_blocks(n_units, n_resamples, seed=3)])
    for column, total in zip(
        columns, resampled_totals(columns, n_resamples=n_resamples, seed=3), strict=True
    ):
        assert total.tolist() == [column[row].sum() for row in drawn]


def test_counts_say_how_often_a_unit_was_drawn() -> None:
    drawn = np.concatenate([block.copy() for block in index_blocks(30, 20_000, seed=3)])
    counts = np.concatenate([block.copy() for block in count_blocks(30, 20_000, seed=3)])
    assert np.array_equal(counts, [np.bincount(row, minlength=30) for row in drawn])


def test_a_metric_has_the_same_interval_alone_and_among_others(skewed: NDArray[np.int64]) -> None:
    others = [units(np.roll(skewed, k) * (k + 1)) for k in range(1, 6)]
    shorter = [units(skewed[:-k]) for k in (1, 2, 3)]
    [alone] = intervals([units(skewed)])
    assert intervals([*others, units(skewed), *shorter])[5] == alone


def test_swapping_the_runs_mirrors_the_interval_exactly(skewed: NDArray[np.int64]) -> None:
    for analytic in (False, True):
        [[ci, ci90]] = intervals([units(skewed)], analytic=analytic)
        [[back, back90]] = intervals([units(-skewed)], analytic=analytic)
        assert (back.low, back.high) == (-ci.high, -ci.low)
        assert (back90.low, back90.high) == (-ci90.high, -ci90.low)


def test_a_mean_of_zero_is_mirrored_exactly_too() -> None:
    for seed in range(20):
        values = np.random.default_rng(seed).integers(-(10**9), 10**9, 31)
        values[-1] -= values.sum()
        [[ci, _]] = intervals([units(values)], n_resamples=300)
        [[back, _]] = intervals([units(-values)], n_resamples=300)
        assert (back.low, back.high) == (-ci.high, -ci.low)


def test_the_90_percent_interval_lies_inside(skewed: NDArray[np.int64]) -> None:
    [[ci, ci90]] = intervals([units(skewed)])
    assert ci.low < ci90.low < ci90.high < ci.high


def test_units_that_are_all_alike_give_their_value() -> None:
    [[ci, _]] = intervals([units(np.array([20, 40, 20]), np.array([2, 4, 2]))])
    assert ci == (10.0, 10.0)


def test_clusters_of_equal_size_are_like_items(skewed: NDArray[np.int64]) -> None:
    [[ci, _]] = intervals([units(skewed)])
    [[clustered, _]] = intervals([units(skewed * 4, np.full(60, 4))])
    assert clustered == pytest.approx(ci, rel=1e-12)


def test_unequal_clusters_equal_a_plain_loop(skewed: NDArray[np.int64]) -> None:
    sizes = np.random.default_rng(2).integers(1, 6, 60)
    sums = np.abs(skewed) * sizes
    [[found, _]] = intervals([units(sums, sizes)])
    drawn = np.concatenate([block.copy() for block in index_blocks(60, RESAMPLES, seed=3)])
    replicates = np.sort([sums[row].sum() / sizes[row].sum() for row in drawn])
    observed = sums.sum() / sizes.sum()
    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    a = bca.acceleration(left_out.mean() - left_out)
    z0 = bca.bias_correction(int((replicates < observed).sum()), 0, RESAMPLES)
    assert found == pytest.approx(bca.percentile_interval(replicates, z0, a, 0.95), rel=1e-12)


@pytest.mark.parametrize("sized", [False, True])
def test_the_limit_is_near_the_resampled_interval(sized: bool) -> None:
    rng = np.random.default_rng(7)
    sizes = rng.integers(1, 5, 1_500) if sized else np.ones(1_500, dtype=np.int64)
    sums = np.rint(rng.exponential(1e8, 1_500) * sizes).astype(np.int64)
    [[drawn, _]] = intervals([units(sums, sizes)], n_resamples=40_000)
    [[limit, _]] = intervals([units(sums, sizes)], analytic=True)
    error = (drawn.high - drawn.low) / 3.92
    assert np.abs(np.subtract(drawn, limit)).max() < 0.05 * error


def test_totals_too_long_for_exact_floats_stay_close() -> None:
    big = np.array([2**52, -(2**51), 2**50, 7])
    [[ci, _]] = intervals([units(big)])
    [[close, _]] = intervals([units(big // 2**20)])
    assert np.array(ci) / 2**20 == pytest.approx(np.array(close), rel=1e-6)


def test_the_standard_deviation_of_items_is_the_usual_one(skewed: NDArray[np.int64]) -> None:
    metric = units(skewed)
    assert metric.sd(metric.deviations()) == pytest.approx(np.std(skewed, ddof=1), rel=1e-12)


def test_a_statistic_that_is_a_mean_has_the_interval_of_the_mean(
    skewed: NDArray[np.int64],
) -> None:
    def mean(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(counts @ skewed / counts.sum(axis=1))

    observed, [ci] = statistic_interval(
        mean, 60, confidences=(0.95,), n_resamples=RESAMPLES, seed=3
    )
    [[expected, _]] = intervals([units(skewed)])
    assert observed == pytest.approx(skewed.mean())
    assert ci == pytest.approx(expected, rel=1e-9)


def ratio(
    top: NDArray[np.float64], bottom: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    below = counts @ bottom
    return np.divide(counts @ top, below, out=np.full(len(counts), np.nan), where=below > 0)


def test_a_statistic_is_mirrored_exactly() -> None:
    rng = np.random.default_rng(4)
    top, bottom = rng.random(40), rng.random(40)
    found = [
        statistic_interval(
            lambda counts, sign=sign: sign * (ratio(top, bottom, counts) - 1.2),
            40, confidences=(0.95,), n_resamples=500, seed=3,
        )
        for sign in (1, -1)
    ]  # fmt: skip
    (_, [ci]), (_, [back]) = found
    assert (back.low, back.high) == (-ci.high, -ci.low)


def test_resamples_without_a_value_are_left_out() -> None:
    bottom = np.array([1.0] * 4 + [0.0] * 16)
    top = np.array([1.0, 0.0, 1.0, 0.0] + [0.0] * 16)
    observed, [ci] = statistic_interval(
        lambda counts: ratio(top, bottom, counts),
        20, confidences=(0.95,), n_resamples=2_000, seed=3,
    )  # fmt: skip
    assert observed == 0.5
    assert 0 <= ci.low < 0.5 < ci.high <= 1


def test_a_statistic_undefined_for_all_units_has_no_interval() -> None:
    zeros = np.zeros(3)
    observed, found = statistic_interval(
        lambda counts: ratio(np.ones(3), zeros, counts),
        3, confidences=(0.95,), n_resamples=300, seed=3,
    )  # fmt: skip
    assert np.isnan(observed)
    assert found == []


def test_one_unit_has_no_interval() -> None:
    one = np.ones(1)
    observed, found = statistic_interval(
        lambda counts: ratio(one, one, counts), 1, confidences=(0.95,), n_resamples=300, seed=3
    )
    assert (observed, found) == (1.0, [])


def test_a_statistic_undefined_in_most_resamples_has_no_interval() -> None:
    def needs_every_unit(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where((counts > 0).all(axis=1), counts @ np.arange(6.0), np.nan)

    observed, found = statistic_interval(
        needs_every_unit, 6, confidences=(0.95,), n_resamples=300, seed=3
    )
    assert (observed, found) == (15.0, [])


def test_no_units_are_refused() -> None:
    with pytest.raises(UsageError, match="no units"):
        statistic_interval(lambda c: c.sum(axis=1), 0, confidences=(), n_resamples=9, seed=1)
