"""How often nothing is called a regression, night after night, and how often a drop is found."""

import numpy as np
import pytest
from numpy.typing import NDArray

from crucible_batch.stats.comparison import MetricValues, with_adjusted_p
from crucible_batch.stats.grid import differences, lattice, to_grid
from crucible_batch.stats.multiplicity import adjust_pvalues
from crucible_batch.stats.paired import paired_many
from crucible_batch.stats.signflip import SignFlips, sign_flip_tests

WATCHES, NIGHTS, METRICS, ITEMS, SAMPLES = 1_000, 30, 8, 50, 3
NAMES = [f"q{k:02}" for k in range(ITEMS)]


def nightly_runs(kind: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """One baseline and thirty candidates of the same pipeline; shape (1 + nights, metrics, items).

    Items differ in difficulty; a value is the mean of three samples.
    """
    shape = (1 + NIGHTS, METRICS, ITEMS, SAMPLES)
    difficulty = rng.beta(2, 1.5, (1, METRICS, ITEMS, 1))
    if kind == "0/1":
        return (rng.random(shape) < difficulty).mean(axis=-1)
    return rng.beta(4 * difficulty + 0.1, 4 * (1 - difficulty) + 0.1, shape).mean(axis=-1)


def p_values(baseline: NDArray[np.float64], candidate: NDArray[np.float64]) -> list[float]:
    """The p of every metric, without the intervals."""
    tests = []
    for before, after in zip(baseline, candidate, strict=True):
        delta = differences(before, after)
        steps = lattice(delta)
        sums = to_grid(delta).counts
        changed = sums != 0
        tests.append(
            SignFlips(sums[changed], None if steps is None else steps[changed], changed.sum() / 2)
        )
    return [found.p for found in sign_flip_tests(tests, n_resamples=10_000, seed=0)]


def regressed(baseline: NDArray[np.float64], candidate: NDArray[np.float64]) -> list[bool]:
    """Whether each metric is called regressed, all metrics being one family under Holm."""
    metrics = {
        str(k): MetricValues(before, after)
        for k, (before, after) in enumerate(zip(baseline, candidate, strict=True))
    }
    rows = list(paired_many(NAMES, metrics).values())
    adjusted = adjust_pvalues([row.p_value for row in rows])
    family = {"adjust_method": "holm", "family": "headline", "family_size": len(rows)}
    return [
        with_adjusted_p(row, float(p), higher_is_better=True, **family).verdict == "regressed"
        for row, p in zip(rows, adjusted, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "most"), [("0/1", 0.025), ("continuous", 0.045)])
def test_an_unchanged_pipeline_rarely_raises_a_confirmed_alarm(kind: str, most: float) -> None:
    rng = np.random.default_rng(20_260)
    n_alarms, n_small = 0, 0
    for _ in range(WATCHES):
        baseline, *nights = nightly_runs(kind, rng)
        suspected, alarm = np.zeros(METRICS, dtype=bool), False
        for candidate in nights:
            p = p_values(baseline, candidate)
            n_small += sum(value <= 0.05 for value in p)
            # Only an adjusted p of at most 0.05 can become a verdict.
            tonight = np.zeros(METRICS, dtype=bool)
            if np.min(adjust_pvalues(p)) <= 0.05:
                tonight = np.array(regressed(baseline, candidate))
            alarm = alarm or bool(np.any(suspected & tonight))
            suspected = tonight
        n_alarms += alarm
    single = n_small / (WATCHES * NIGHTS * METRICS)
    print(f"\n{kind}: {n_alarms} of {WATCHES} watches, raw p <= 0.05 in {single:.2%}")  # noqa: T201
    assert n_alarms / WATCHES <= most
    assert single <= 0.065


@pytest.mark.parametrize("kind", ["0/1", "continuous"])
def test_a_drop_of_twice_the_smallest_effect_is_found(kind: str) -> None:
    rng = np.random.default_rng(3)
    n_found, n_trials = 0, 15
    for _ in range(n_trials):
        baseline, candidate, *_ = nightly_runs(kind, rng)
        metrics = {str(k): MetricValues(baseline[k], candidate[k]) for k in range(METRICS)}
        effects = [row.mde80 for row in paired_many(NAMES, metrics).values()]
        n_found += sum(regressed(baseline, candidate - 2 * np.array(effects)[:, np.newaxis]))
    assert n_found >= 0.95 * n_trials * METRICS
