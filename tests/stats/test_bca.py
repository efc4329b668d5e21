import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import norm

from crucible_batch.stats import bca


def test_ties_count_as_half_below() -> None:
    assert bca.bias_correction(40, 20, 100) == 0.0
    assert bca.bias_correction(50, 20, 100) == pytest.approx(norm.ppf(0.6))


@pytest.mark.parametrize("n_below", [0, 100])
def test_a_bias_that_no_resample_measures_is_still_finite(n_below: int) -> None:
    assert math.isfinite(bca.bias_correction(n_below, 0, 100))


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=30))
def test_the_acceleration_is_that_of_a_jackknife(values: list[float]) -> None:
    x = np.array(values)
    left_out = np.array([np.delete(x, k).mean() for k in range(x.size)])
    moves = left_out.mean() - left_out
    u = x - x.mean()
    if np.max(np.abs(u)) <= 1e-6 * max(1.0, np.max(np.abs(x))):
        return
    textbook = np.sum(moves**3) / (6 * np.sum(moves**2) ** 1.5)
    assert bca.acceleration(u) == pytest.approx(textbook, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e160])
def test_the_acceleration_has_no_unit(scale: float) -> None:
    u = np.array([-1.0, -1.0, 2.0])
    assert bca.acceleration(u * scale) == pytest.approx(6 / (6 * 6**1.5), rel=1e-12)


def test_nothing_that_varies_is_no_acceleration() -> None:
    assert bca.acceleration(np.zeros(4)) == 0.0


@settings(deadline=None)
@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=60),
    st.floats(-0.5, 0.5),
    st.floats(-0.15, 0.15),
    st.floats(0.5, 0.99),
)
def test_the_interval_is_the_textbook_one(
    values: list[int], z0: float, a: float, confidence: float
) -> None:
    replicates = np.sort(np.array(values, dtype=float))
    found = bca.percentile_interval(replicates, z0, a, confidence)
    for end, level in zip(found, ((1 - confidence) / 2, (1 + confidence) / 2), strict=True):
        z = z0 + norm.ppf(level)
        alpha = norm.cdf(z0 + z / (1 - a * z))
        assert end == pytest.approx(np.quantile(replicates, alpha, method="linear"), abs=1e-9)


def test_without_bias_and_acceleration_it_is_the_percentile_interval() -> None:
    replicates = np.arange(1_001.0)
    assert bca.percentile_interval(replicates, 0.0, 0.0, 0.9) == pytest.approx((50.0, 950.0))


def test_past_the_pole_the_bound_is_the_extreme_replicate() -> None:
    found = bca.percentile_interval(np.arange(5.0), 0.0, 0.6, 0.95)
    assert found.high == 4.0


def test_the_limit_without_skew_is_the_normal_interval() -> None:
    v = np.array([-1.0, 1.0] * 500)
    found = bca.limit_interval(v, np.ones(1_000), 0.0, 0.95)
    assert found.high == pytest.approx(float(ndtri(0.975)) / math.sqrt(1_000), rel=1e-12)
    assert found.low == -found.high


def test_the_limit_does_not_depend_on_how_clusters_are_counted() -> None:
    v = np.random.default_rng(1).exponential(1, 400)
    v -= v.mean()
    a = bca.acceleration(v)
    single = bca.limit_interval(v, np.ones(400), a, 0.95)
    triple = bca.limit_interval(3 * v, np.full(400, 3.0), a, 0.95)
    assert triple == pytest.approx(single, rel=1e-12)


def test_the_limit_has_the_second_order_term_of_bca() -> None:
    """θ + σ (z + a (2 z² + 1)): half from the corrected level, half from the skew of the mean."""
    v = np.array([-1.0, 1.0] * 500)
    a, z = 0.004, float(ndtri(0.975))
    found = bca.limit_interval(v, np.ones(1_000), a, 0.95)
    assert found.high * math.sqrt(1_000) == pytest.approx(z + a * (2 * z * z + 1), abs=40 * a * a)
    assert found.low * math.sqrt(1_000) == pytest.approx(-z + a * (2 * z * z + 1), abs=40 * a * a)


def test_the_limit_of_a_ratio_solves_its_equation() -> None:
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 30, 250).astype(float)
    v = rng.normal(0, 1, 250) + sizes / 10
    v -= v.mean()
    z = float(ndtri(0.975))
    for t, w in zip(bca.limit_interval(v, sizes, 0.0, 0.95), (-z, z), strict=True):
        off = v - t * (sizes - sizes.mean())
        assert t * sizes.sum() == pytest.approx(w * math.sqrt(np.sum(off**2)), rel=1e-9)


def test_one_giant_cluster_gives_a_finite_interval() -> None:
    sizes = np.ones(300)
    sizes[0] = 1e6
    v = np.random.default_rng(1).normal(0, 1, 300)
    found = bca.limit_interval(v - v.mean(), sizes, 0.0, 0.95)
    assert found.low < 0 < found.high
