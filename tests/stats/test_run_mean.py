import math

import numpy as np
import pytest
from scipy import stats

from crucible_batch.errors import UsageError
from crucible_batch.stats.run_mean import run_mean_interval


def test_no_values_have_no_mean() -> None:
    found = run_mean_interval([None, float("nan")])
    assert (found.mean, found.n_values, found.ci_low, found.ci_method) == (None, 0, None, None)
    assert found.ci_label == "insufficient items"


def test_one_item_has_a_mean_and_no_interval() -> None:
    found = run_mean_interval([1.0, 0.0], ["q1", "q1"])
    assert (found.mean, found.n_units, found.ci_low) == (0.5, 1, None)


@pytest.mark.parametrize("method", ["bca", "t_cr1"])
def test_equal_values_give_their_value(method: str) -> None:
    found = run_mean_interval([0.1] * 30, method=method)
    assert (found.mean, found.ci_low, found.ci_high, found.degenerate) == (0.1, 0.1, 0.1, True)


def test_t_intervals_of_single_results_are_the_usual_ones() -> None:
    values = np.random.default_rng(1).random(40)
    found = run_mean_interval(values, method="t_cr1", confidence=0.9)
    expected = stats.t.interval(0.9, 39, values.mean(), stats.sem(values))
    assert (found.ci_low, found.ci_high) == pytest.approx(expected, rel=1e-8)
    assert found.ci_method == "t_cr1"


def test_t_intervals_of_clusters_have_the_robust_error() -> None:
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 12, 70)
    values = rng.random(70) + groups / 10
    found = run_mean_interval(values, groups, method="t_cr1")
    v = np.bincount(groups, values - values.mean())
    reach = stats.t.ppf(0.975, 11) * np.sqrt(12 / 11 * np.sum(v**2)) / 70
    assert found.ci_high - found.mean == pytest.approx(reach, rel=1e-8)
    assert (found.n_values, found.n_units) == (70, 12)


def test_samples_of_an_item_are_one_unit() -> None:
    values = np.random.default_rng(3).random(30)
    single = run_mean_interval(values)
    repeated = run_mean_interval(np.repeat(values, 3), np.repeat(np.arange(30), 3))
    assert (repeated.ci_low, repeated.ci_high) == pytest.approx((single.ci_low, single.ci_high))
    assert (repeated.n_values, repeated.n_units) == (90, 30)


@pytest.mark.parametrize(("n_items", "method"), [(199, "bca"), (200, "bca_analytic")])
def test_two_hundred_items_take_the_limit(n_items: int, method: str) -> None:
    values = np.random.default_rng(4).random(n_items)
    found = run_mean_interval(values)
    assert found.ci_method == method
    error = stats.sem(values)
    expected = stats.bootstrap((values,), np.mean, n_resamples=20_000, rng=1).confidence_interval
    assert abs(found.ci_low - expected.low) < 0.2 * error
    assert abs(found.ci_high - expected.high) < 0.2 * error


def test_rows_and_names_of_clusters_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    values, groups = rng.random(60), rng.integers(0, 20, 60)
    expected = run_mean_interval(values, groups)
    order = rng.permutation(60)
    assert run_mean_interval(values[order], [f"x{9 * k % 20}" for k in groups[order]]) == expected


def test_only_carried_values_count() -> None:
    found = run_mean_interval([1.0, None, 0.0, math.nan], ["a", "b", "c", None])
    assert (found.mean, found.n_values, found.n_units) == (0.5, 2, 2)


def test_a_mean_is_rounded_once() -> None:
    assert run_mean_interval([0.1] * 10).mean == 0.1


def test_impossible_input_is_refused() -> None:
    with pytest.raises(UsageError, match=r"2 values \(1 infinite\), 2 clusters"):
        run_mean_interval([1.0, math.inf])
    with pytest.raises(UsageError, match="3 clusters"):
        run_mean_interval([1.0, 2.0], ["a", "b", "c"])
    with pytest.raises(UsageError, match="bca or t_cr1"):
        run_mean_interval([1.0], method="wilson")
