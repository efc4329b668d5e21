import numpy as np
import pytest

from crucible_batch.stats.comparison import MetricValues, Settings
from crucible_batch.stats.paired import paired_many

DELTAS = [0.2, 0.0, -0.1, 0.3, 0.1, 0.0, 0.2, 0.2, -0.2, 0.4]


def test_copies_of_an_item_in_a_cluster_add_no_evidence(compare) -> None:
    items = compare.deltas(DELTAS)
    groups = np.repeat([f"c{k}" for k in range(10)], 4)
    row = compare.deltas(np.repeat(DELTAS, 4), clusters=groups)
    assert (row.unit, row.n_pairs, row.n_units) == ("cluster", 40, 10)
    assert (row.p_value, row.ci_low, row.ci_high) == (items.p_value, items.ci_low, items.ci_high)
    assert (row.sd_delta, row.mde80) == pytest.approx((items.sd_delta, items.mde80))
    assert row.verdict == "insufficient_items"


def test_clusters_of_one_are_items(compare) -> None:
    groups = [f"c{9 - k}" for k in range(10)]
    assert compare.deltas(DELTAS, clusters=groups) == compare.deltas(DELTAS)


@pytest.mark.parametrize("absent", [None, float("nan")])
def test_an_item_without_a_cluster_is_its_own(compare, absent: float | None) -> None:
    assert compare.deltas(DELTAS, clusters=[absent] * 10).unit == "item"
    row = compare.deltas(DELTAS, clusters=["a", "a"] + [absent] * 8)
    assert (row.unit, row.n_units) == ("cluster", 9)


def test_a_cluster_whose_items_are_not_paired_does_not_count(compare) -> None:
    baseline = np.zeros(10)
    baseline[1] = np.nan
    assert compare.runs(baseline, DELTAS, clusters=["a", "a", *"bcdefghi"]).unit == "item"


def test_the_unit_is_decided_once_for_all_metrics() -> None:
    names = list("abcdefghij")
    half = np.array([0.0, np.nan, *[0.0] * 8])
    metrics = {"whole": MetricValues(np.zeros(10), DELTAS), "half": MetricValues(half, DELTAS)}
    rows = paired_many(names, metrics, clusters=["x", "x", *"bcdefghi"])
    assert {row.unit for row in rows.values()} == {"cluster"}
    assert (rows["whole"].n_units, rows["half"].n_units) == (9, 9)
    forced = paired_many(
        names, metrics, clusters=["x", "x", *"bcdefghi"], settings=Settings(unit="item")
    )
    assert {row.unit for row in forced.values()} == {"item"}


def test_an_item_that_is_not_paired_moves_no_cluster(compare) -> None:
    deltas = np.random.default_rng(1).random(40)
    groups = np.array([3, *np.arange(39) // 5])
    absent = np.array([np.nan, *np.zeros(39)])
    row = compare.runs(absent, deltas, clusters=groups)
    without = compare.deltas(deltas[1:], clusters=groups[1:])
    assert (row.ci_low, row.ci_high) == (without.ci_low, without.ci_high)


def test_names_of_clusters_do_not_matter(compare) -> None:
    numbers = np.arange(10) // 2
    rows = [
        compare.deltas(DELTAS, clusters=clusters)
        for clusters in (numbers, [f"z{9 - k}" for k in numbers], [f"{k * 7 % 5}" for k in numbers])
    ]
    assert rows[0] == rows[1] == rows[2]


def test_unequal_clusters_weigh_items_equally_and_have_the_robust_error(compare) -> None:
    deltas = np.array([0.5, 0.5, 0.5, 0.5, 0.0, 0.1, 0.1, -0.2, 0.0, 0.0, -0.1])
    groups = np.array([0, 0, 0, 0, 1, 2, 2, 3, 4, 4, 5])
    row = compare.deltas(deltas, clusters=groups)
    v = np.bincount(groups, deltas - deltas.mean())
    assert row.delta == pytest.approx(deltas.mean(), abs=1e-9)
    error = np.sqrt(6 / 5 * np.sum(v**2)) / 11
    assert row.sd_delta / np.sqrt(6) == pytest.approx(error, rel=1e-8)


def test_changes_that_cancel_within_a_cluster_are_no_change(compare) -> None:
    thirds = [1 / 3, 1 / 3, -2 / 3, 1.0, 1.0]
    row = compare.deltas(thirds, clusters=["a", "a", "a", "b", "c"])
    assert (row.n_nonzero, row.p_value) == (2, 0.5)
    irrational = np.array([1 / 3, 1 / 3, -2 / 3, 1.0, np.pi])
    assert compare.deltas(irrational, clusters=["a", "a", "a", "b", "c"]).n_nonzero == 2


def test_min_items_counts_clusters(compare) -> None:
    deltas, groups = np.tile(DELTAS, 5), np.arange(50) // 2
    assert compare.deltas(deltas, clusters=groups, min_items=26).verdict == "insufficient_items"
    assert compare.deltas(deltas, clusters=groups, min_items=25).verdict != "insufficient_items"
