"""How often unchanged samples are called moved, and that a real shift is found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from crucible_batch.stats.shift import ASYMPTOTIC, SUPPORT, Shift, shift

Counts = NDArray[np.int64]


def named(counts: Counts) -> dict[str, int]:
    return {f"c{place:02}": int(n) for place, n in enumerate(counts)}


def unchanged(seed: int, n_scans: int, support: int) -> Iterator[tuple[Counts, Counts]]:
    """Two samples of one distribution each: 3 to 30 categories, 50 to 10,000 draws on a side.

    Half of the distributions are nearly even, half have categories that are rare.
    """
    rng = np.random.default_rng(seed)
    found = 0
    while found < n_scans:
        k = int(rng.integers(3, 31))
        n, m = (int(size) for size in np.exp(rng.uniform(np.log(50), np.log(10_000), 2)))
        if min(n, m) < support * k:
            continue
        shares = rng.dirichlet(np.full(k, rng.choice([20.0, 0.7])))
        found += 1
        yield rng.multinomial(n, shares), rng.multinomial(m, shares)


def is_breach(found: Shift) -> bool:
    return found.critical is not None and (found.distance or 0.0) > found.critical


@pytest.mark.slow  # 5 s
def test_unchanged_samples_breach_the_chi_square_limit_in_three_of_a_thousand_at_most():
    found = [
        shift(named(a), named(b), "psi", seed=1) for a, b in unchanged(20_240, 10_000, ASYMPTOTIC)
    ]
    assert {one.method for one in found} == {"chi_square"}
    share = sum(map(is_breach, found)) / len(found)
    print(f"\npsi, chi-square: {share:.2%} of {len(found):,} scans")  # noqa: T201
    assert share <= 0.003


@pytest.mark.slow  # two minutes for all three
@pytest.mark.parametrize("distance", ["tvd", "js", "psi"])
def test_unchanged_samples_breach_the_limit_of_splits_in_three_of_a_thousand_at_most(distance):
    pairs = unchanged(20_241, 100_000, SUPPORT)
    found: list[Shift] = []
    while len(found) < 700:
        a, b = next(pairs)
        k = np.count_nonzero(a + b)
        if distance != "psi" or min(a.sum(), b.sum()) < ASYMPTOTIC * k:
            found.append(shift(named(a), named(b), distance, seed=len(found)))
    assert {one.method for one in found} <= {"permutation", None}
    share = sum(map(is_breach, found)) / len(found)
    print(f"\n{distance}, splits: {share:.2%} of {len(found):,} scans")  # noqa: T201
    assert share <= 0.003


@pytest.mark.slow  # half a minute for all
@pytest.mark.parametrize("distance", ["psi", "tvd", "js"])
@pytest.mark.parametrize("k", [3, 10, 30])
@pytest.mark.parametrize(("n_before", "least"), [(500, 0.75), (2_000, 0.95)])  # 28 days before 7
def test_a_shift_of_fifteen_points_is_found_at_five_hundred_draws(n_before, least, k, distance):
    rng = np.random.default_rng(20_242)
    before = np.full(k, 1 / k)
    after = before.copy()
    after[: k - 1] -= 0.15 / (k - 1)
    after[-1] += 0.15
    draws = zip(rng.multinomial(n_before, before, 40), rng.multinomial(500, after, 40), strict=True)
    found = [is_breach(shift(named(a), named(b), distance, seed=1)) for a, b in draws]
    share = sum(found) / len(found)
    print(f"\n{distance}, {k} categories, {n_before} v 500: found in {share:.0%}")  # noqa: T201
    assert share >= least
