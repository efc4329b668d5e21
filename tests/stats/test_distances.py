"""Distances of distributions: the worked values, SciPy as a second opinion, the noise limits."""

from __future__ import annotations

import math
from itertools import product
from math import comb

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from crucible_batch.errors import UsageError
from crucible_batch.stats.distances import (
    homogeneity,
    jensen_shannon_distance,
    jensen_shannon_divergence,
    psi,
    total_variation,
)
from crucible_batch.stats.hypergeometric import split_counts
from crucible_batch.stats.shift import permutation_limit, psi_limit, rounded, shift
from crucible_batch.stats.streams import BLOCK

SIX = 5e-7
"""The worked values are given to six digits."""

tables = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=2, max_size=8).map(
    lambda pairs: ([r for r, _ in pairs], [c for _, c in pairs])
)


def named(counts):
    return {f"c{place}": n for place, n in enumerate(counts)}


# --- the worked values


def test_the_first_worked_example():
    reference, current = [60, 30, 10], [45, 30, 25]
    assert psi(reference, current) == pytest.approx(0.180596, abs=SIX)
    assert psi(reference, current, smoothing=0.5) == pytest.approx(0.173237, abs=SIX)
    assert jensen_shannon_divergence(reference, current) == pytest.approx(0.031709, abs=SIX)
    assert jensen_shannon_distance(reference, current) == pytest.approx(0.178071, abs=SIX)
    assert total_variation(reference, current) == 0.15


def test_the_chi_square_of_the_first_worked_example():
    found = homogeneity([60, 30, 10], [45, 30, 25])
    assert found.chi_square == pytest.approx(8.5714, abs=5e-5)
    assert found.p_value == pytest.approx(0.013764, abs=SIX)
    assert found.cramers_v == pytest.approx(0.20702, abs=5e-6)


def test_the_second_worked_example_has_a_category_on_one_side_only():
    reference, current = [50, 50, 0], [50, 40, 10]
    assert psi(reference, current) is None
    assert psi(reference, current, smoothing=0.5) == pytest.approx(0.321694, abs=SIX)
    assert jensen_shannon_distance(reference, current) == pytest.approx(0.232413, abs=SIX)
    assert total_variation(reference, current) == 0.10


def test_the_worked_chi_square_limit_of_a_psi():
    assert psi_limit(10, 50, 50, alpha=0.05) == pytest.approx(0.676759, abs=SIX)


def test_without_any_change_a_fixed_limit_of_a_tenth_is_nearly_always_exceeded():
    """97 % of draws for PSI and 99.9 % for the Jensen-Shannon distance, 50 against 50."""
    random = np.random.default_rng(1)
    draws = random.multinomial(50, [0.1] * 10, size=(4_000, 2)).tolist()
    n_psi = sum(psi(a, b, smoothing=0.5) > 0.1 for a, b in draws)
    n_js = sum(jensen_shannon_distance(a, b) > 0.1 for a, b in draws)
    assert n_psi / 4_000 == pytest.approx(0.97, abs=0.01)
    assert n_js / 4_000 == pytest.approx(0.999, abs=0.0015)


# --- second opinions


@settings(max_examples=60)
@given(tables)
def test_distances_agree_with_scipy(table):
    reference, current = table
    assume(sum(reference) and sum(current))
    p, q = (np.array(side) / sum(side) for side in table)
    js = jensenshannon(p, q, base=2)
    assert jensen_shannon_distance(*table) == pytest.approx(js, abs=1e-7)  # scipy's root of noise
    assert total_variation(*table) == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-12)
    kept = [pair for pair in zip(reference, current, strict=True) if any(pair)]
    p, q = (np.array(side) + 0.5 for side in zip(*kept, strict=True))
    p, q = p / p.sum(), q / q.sum()
    both = scipy.stats.entropy(p, q) + scipy.stats.entropy(q, p)
    assert psi(*table, smoothing=0.5) == pytest.approx(both, abs=1e-12)


@settings(max_examples=60)
@given(tables)
def test_the_chi_square_agrees_with_scipy(table):
    found = homogeneity(*table)
    kept = [pair for pair in zip(*table, strict=True) if any(pair)]
    assume(found is not None)
    wanted = scipy.stats.chi2_contingency(np.array(kept).T, correction=False)
    assert found.chi_square == pytest.approx(wanted.statistic, rel=1e-9, abs=1e-12)
    assert found.p_value == pytest.approx(wanted.pvalue, rel=1e-9)
    effect = scipy.stats.contingency.association(np.array(kept).T, method="cramer")
    assert found.cramers_v == pytest.approx(effect, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("k", "n", "m"), [(2, 40, 900), (10, 200, 100), (300, 10_000, 5_000)])
def test_the_chi_square_limit_is_scipys_quantile(k, n, m):
    wanted = scipy.stats.chi2.isf(0.001, k - 1) * (1 / n + 1 / m)
    assert psi_limit(k, n, m) == pytest.approx(wanted, rel=1e-12)


# --- what is not measured


@pytest.mark.parametrize("measure", [psi, total_variation, jensen_shannon_distance, homogeneity])
def test_a_side_without_elements_has_no_distance(measure):
    assert measure([0, 0], [3, 4]) is None
    assert measure([3, 4], [0, 0]) is None


@pytest.mark.parametrize("measure", [psi, total_variation, jensen_shannon_distance])
def test_equal_shares_have_a_distance_of_exactly_zero(measure):
    assert measure([1, 2, 3], [7, 14, 21]) == 0.0


def test_one_category_has_no_chi_square():
    assert homogeneity([5], [9]) is None


@pytest.mark.parametrize(("reference", "current"), [([1], [1, 2]), ([1, -1], [1, 1])])
def test_counts_that_are_none_are_refused(reference, current):
    with pytest.raises(UsageError, match="cannot be compared"):
        total_variation(reference, current)


# --- limits that depend on size


def test_a_psi_has_the_chi_square_limit_from_ten_elements_per_category_on():
    found = shift(named([50] * 10), named([10] * 10), "psi", seed=1)
    assert found.method == "chi_square"
    assert found.critical == pytest.approx(scipy.stats.chi2.isf(0.001, 9) * (1 / 500 + 1 / 100))
    assert shift(named([50] * 10), named([10] * 9 + [9]), "psi", seed=1).method == "permutation"


@pytest.mark.parametrize("distance", ["tvd", "js"])
def test_other_distances_are_always_held_against_splits(distance):
    found = shift(named([500] * 3), named([500] * 3), distance, seed=1)
    assert (found.method, found.distance, found.reason) == ("permutation", 0.0, None)
    assert 0 < found.critical < 0.1


def test_fewer_than_five_elements_per_category_have_no_limit():
    found = shift(named([100, 100, 100]), named([5, 5, 4]), "psi", seed=1)
    assert (found.critical, found.reason) == (None, "insufficient_support")
    assert found.distance is not None
    assert shift(named([100, 100, 100]), named([5, 5, 5]), "psi", seed=1).reason is None


def test_the_categories_are_those_of_the_union():
    found = shift({"a": 50, "gone": 0}, {"b": 50}, "tvd", seed=1)
    assert (found.n_categories, found.n_reference, found.n_current) == (2, 50, 50)
    assert found.distance == 1.0


def test_an_empty_side_has_neither_distance_nor_limit():
    found = shift({}, named([9, 9]), "js", seed=1)
    assert (found.distance, found.critical, found.reason) == (None, None, "insufficient_support")


def test_a_single_category_cannot_move():
    for distance in ("psi", "tvd", "js"):
        found = shift({"a": 30}, {"a": 50}, distance, seed=1)
        assert (found.distance, found.critical) == (0.0, 0.0)


def test_an_unknown_distance_is_refused():
    with pytest.raises(UsageError, match="No distance is called 'kl'"):
        shift({"a": 30}, {"a": 50}, "kl", seed=1)


def test_too_few_splits_for_alpha_are_refused():
    with pytest.raises(UsageError, match="use at least 999"):
        permutation_limit([20, 20], [20, 20], "tvd", seed=1, n_permutations=998)
    assert permutation_limit([20, 20], [20, 20], "tvd", seed=1, n_permutations=999) > 0


def test_a_distance_that_a_thousandth_of_all_splits_reach_is_the_limit():
    """Against the exact distribution of all splits, two categories: a hypergeometric tail."""
    n, m, first = 40, 30, 25
    exact = {}
    for c in range(max(0, first - n), min(first, m) + 1):
        weight = comb(first, c) * comb(n + m - first, m - c) / comb(n + m, m)
        moved = total_variation([first - c, n - first + c], [c, m - c])
        exact[moved] = exact.get(moved, 0.0) + weight
    limit = permutation_limit([first - 10, n - first + 10], [10, m - 10], "tvd", seed=3)
    beyond = math.fsum(p for moved, p in exact.items() if moved > limit + 1e-9)
    reached = math.fsum(p for moved, p in exact.items() if moved >= limit - 1e-9)
    assert beyond <= 0.001 + 4 * math.sqrt(0.001 / 9_999)
    assert reached >= 0.001 - 4 * math.sqrt(0.001 / 9_999)


def test_no_change_breaches_about_once_in_a_thousand_draws():
    """200 v 200 over five categories: 2 of 2,000 draws are expected beyond the limit of a PSI."""
    random = np.random.default_rng(2)
    limit = psi_limit(5, 200, 200)
    draws = random.multinomial(200, [0.3, 0.3, 0.2, 0.1, 0.1], size=(2_000, 2)).tolist()
    assert sum(psi(a, b, smoothing=0.5) > limit for a, b in draws) <= 8  # P < 1e-3 at .001
    n_js = sum(
        found.distance > found.critical
        for a, b in draws[:40]
        if (found := shift(named(a), named(b), "js", seed=1)).critical is not None
    )
    assert n_js <= 1


def test_a_limit_does_not_depend_on_the_order_of_categories():
    counts = {"a": (30, 20), "b": (10, 25), "c": (44, 12)}
    limits = {
        permutation_limit(
            [counts[k][0] for k in order], [counts[k][1] for k in order], "js", seed=5
        )
        for order in ("abc", "cab", "bca")
    }
    assert len(limits) == 1


def test_the_same_seed_gives_the_same_bits_and_another_seed_other_ones():
    def draw(seed):
        return shift(named([40, 31, 17]), named([21, 44, 13]), "js", seed=seed).critical

    assert draw(7) == draw(7)
    assert draw(8) != draw(7)


def test_a_limit_ties_with_the_distance_of_its_split():
    """All splits of one pool lie on few values: the limit is one of them, to the last bit."""
    for distance in ("psi", "tvd", "js"):
        limit = permutation_limit([6, 6], [6, 6], distance, seed=2)
        reached = {
            shift({"a": 12 - c, "b": c}, {"a": c, "b": 12 - c}, distance, seed=2).distance
            for c in range(13)
        }
        assert limit in reached


# --- random splits


def test_splits_keep_both_sizes_and_every_category():
    pooled = [3, 0, 10, 27]
    drawn = np.array(list(split_counts(pooled, 15, 500, seed=1)))
    assert (drawn.sum(axis=0) == 15).all()
    assert (drawn >= 0).all()
    assert (drawn <= np.array(pooled)[:, None]).all()


@pytest.mark.parametrize("second", [0, 40])
def test_a_sample_of_nothing_or_of_everything_is_certain(second):
    drawn = np.array(list(split_counts([13, 27], second, 50, seed=1)))
    assert (drawn == (np.array([[13], [27]]) if second else 0)).all()


@pytest.mark.parametrize(
    ("pooled", "second"), [([5, 7], 6), ([400, 1_600], 500), ([1, 999], 10), ([30_000, 90_000], 50)]
)
def test_splits_follow_the_hypergeometric_distribution(pooled, second):
    n = BLOCK
    (drawn, _) = split_counts(pooled, second, n, seed=4)
    law = scipy.stats.hypergeom(sum(pooled), pooled[0], second)
    seen = np.bincount(drawn, minlength=second + 1)[: second + 1]
    wanted = law.pmf(np.arange(second + 1)) * n
    common = wanted >= 8
    seen = [*seen[common], n - seen[common].sum()]
    wanted = [*wanted[common], n - wanted[common].sum()]
    if wanted[-1] < 1e-6:
        seen, wanted = seen[:-1], wanted[:-1]
    statistic = sum((s - w) ** 2 / w for s, w in zip(seen, wanted, strict=True))
    assert scipy.stats.chi2.sf(statistic, max(1, len(wanted) - 1)) > 1e-4


def test_every_joint_split_is_as_likely_as_its_number_of_permutations():
    pooled, second, n = [2, 3, 2], 3, BLOCK
    drawn = list(zip(*[column.tolist() for column in split_counts(pooled, second, n, seed=9)],
                     strict=True))  # fmt: skip
    ways = {
        cell: math.prod(comb(count, c) for count, c in zip(pooled, cell, strict=True))
        for cell in product(range(3), range(4), range(3))
        if sum(cell) == second
    }
    total = comb(7, 3)
    assert sum(ways.values()) == total
    statistic = sum((drawn.count(cell) - w * n / total) ** 2 / (w * n / total)
                    for cell, w in ways.items())  # fmt: skip
    assert scipy.stats.chi2.sf(statistic, len(ways) - 1) > 1e-4


def test_fewer_splits_are_the_first_of_more():
    few, more = (
        np.array(list(split_counts([9, 20, 31], 25, n, seed=6))) for n in (100, 1_000)
    )  # fmt: skip
    assert (few == more[:, :100]).all()


@pytest.mark.parametrize(("second", "n"), [(11, 10), (-1, 10), (5, BLOCK + 1)])
def test_impossible_splits_are_refused(second, n):
    with pytest.raises(UsageError, match="splits of 10 elements"):
        list(split_counts([4, 6], second, n, seed=1))


def test_numbers_are_rounded_to_twelve_significant_digits():
    assert rounded(0.123456789012345) == 0.123456789012
    assert rounded(0.0) == 0.0
