"""Resampling against scipy at its best batch size, in one run: ratios, printed with `-s`.

`must` is asserted; `aim` is printed beside what was reached.
"""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from crucible_batch.stats.grid import to_grid
from crucible_batch.stats.pairing import summed
from crucible_batch.stats.resampling import mean_intervals
from crucible_batch.stats.signflip import SignFlips, monte_carlo_p

pytestmark = pytest.mark.speed

RESAMPLES = 10_000
BATCHES = {50: (500, 2_000, None), 500: (100, 500, 2_000), 5_000: (50, 100, 500)}
"""Around the fastest ones; larger and smaller batches are slower."""


def fastest(work: Callable[[], Any], repeats: int = 5) -> float:
    """CPU seconds of the best repeat, after a warm-up: all of it runs on one thread."""
    work()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def deltas(n_items: int, seed: int = 0) -> NDArray[np.float64]:
    """Continuous deltas: no lattice, so p is Monte Carlo."""
    return np.random.default_rng(seed).normal(0.01, 0.2, n_items)


def bootstrap(metrics: list[NDArray[np.float64]]) -> Any:
    units = [summed(to_grid(d).counts, np.arange(d.size)) for d in metrics]
    return mean_intervals(
        units, (0.95, 0.9), n_resamples=RESAMPLES, seed=1, analytic=[False] * len(units)
    )


def sign_flips(metrics: list[NDArray[np.float64]]) -> Any:
    tests = [SignFlips(to_grid(d).counts, None, d.size / 2) for d in metrics]
    return monte_carlo_p(tests, n_resamples=RESAMPLES, seed=1)


def scipy_bootstrap(d: NDArray[np.float64]) -> float:
    def run(batch: int | None) -> Any:
        return stats.bootstrap(
            (d,), np.mean, n_resamples=RESAMPLES, batch=batch, method="BCa", rng=1
        )

    return min(fastest(lambda batch=batch: run(batch), 2) for batch in BATCHES[d.size])


def scipy_sign_flips(d: NDArray[np.float64]) -> float:
    def run(batch: int) -> Any:
        return stats.permutation_test(
            (d,),
            np.mean,
            permutation_type="samples",
            n_resamples=RESAMPLES,
            batch=batch,
            vectorized=True,
            rng=1,
        )

    repeats = 1 if d.size >= 5_000 else 2
    batches = (500, 1_000) if d.size >= 5_000 else (1_000, 5_000)
    return min(fastest(lambda batch=batch: run(batch), repeats) for batch in batches)


def report(what: str, ours: float, theirs: float, must: float, aim: float) -> None:
    ratio = theirs / ours
    print(  # noqa: T201
        f"\n{what}: {ours * 1e3:.2f} ms, scipy {theirs * 1e3:.1f} ms, "
        f"ratio {ratio:.1f} (must {must}, aim {aim})"
    )
    assert ratio >= must


@pytest.mark.parametrize(("n_items", "must", "aim"), [(50, 1.3, 2), (500, 1.3, 2), (5_000, 1.5, 4)])
def test_the_bca_interval_of_one_metric(n_items: int, must: float, aim: float) -> None:
    d = deltas(n_items)
    ours = fastest(lambda: bootstrap([d]), 20 if n_items < 5_000 else 5)
    report(f"BCa, {n_items} items", ours, scipy_bootstrap(d), must, aim)


@pytest.mark.parametrize("n_items", [50, 500, 5_000])
def test_the_sign_flips_of_one_metric(n_items: int) -> None:
    d = deltas(n_items)
    ours = fastest(lambda: sign_flips([d]), 20 if n_items < 5_000 else 5)
    report(f"sign flips, {n_items} items", ours, scipy_sign_flips(d), 50, 100)


def test_twenty_metrics_share_their_draws() -> None:
    metrics = [deltas(5_000, seed) for seed in range(20)]
    theirs = 20 * scipy_bootstrap(metrics[0])
    report("BCa, 20 x 5,000", fastest(lambda: bootstrap(metrics)), theirs, 15, 40)
    theirs = 20 * scipy_sign_flips(metrics[0])
    report("sign flips, 20 x 5,000", fastest(lambda: sign_flips(metrics)), theirs, 400, 400)


@pytest.mark.parametrize("resample", [bootstrap, sign_flips])
def test_memory_is_that_of_the_resamples_and_a_block(resample: Any) -> None:
    d = deltas(5_000)
    resample([d])
    tracemalloc.start()
    resample([d])
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    print(f"\n{resample.__name__}: {peak:.1f} MB above the array")  # noqa: T201
    assert peak < 20


def test_a_million_items_need_little_above_their_arrays() -> None:
    """Memory is traced with a tenth of the resamples: tracing slows every allocation down."""
    units = summed(to_grid(deltas(1_000_000)).counts, np.arange(1_000_000))
    flips = SignFlips(units.sums, None, 500_000.0)
    start = time.perf_counter()
    monte_carlo_p([flips], n_resamples=RESAMPLES, seed=1)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    monte_carlo_p([flips], n_resamples=1_000, seed=1)
    flipped = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.reset_peak()
    mean_intervals([units], (0.95, 0.9), n_resamples=RESAMPLES, seed=1, analytic=[True])
    limit = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    print(f"\n1,000,000 items: sign flips {seconds:.1f} s, {flipped:.0f} MB; limit {limit:.0f} MB")  # noqa: T201
    assert max(flipped, limit) < 50
