"""Laws every comparison keeps, whatever the values."""

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.stats.comparison import MetricValues, PairedComparison, Settings
from crucible_batch.stats.paired import paired_comparison, paired_many

grades = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.1, 0.7, 1.0])
rates = st.floats(0, 1)
wild = st.floats(-1e12, 1e12) | st.sampled_from([1e-13, 1e-9, -0.0, 5e-324, 1e149, -1e149])
value = st.none() | grades | rates
anything = st.none() | grades | rates | wild

QUICK = {"n_resamples": 200}


def runs(values: st.SearchStrategy[float | None], most: int = 50) -> Any:
    return st.lists(st.tuples(values, values, st.integers(0, 9)), max_size=most)


def compared(
    rows: list[tuple[Any, Any, int]], *, clustered: bool, **options: Any
) -> PairedComparison:
    names = [f"q{k:03}" for k in range(len(rows))]
    groups = [row[2] for row in rows] if clustered else None
    return paired_comparison(
        names, [r[0] for r in rows], [r[1] for r in rows], clusters=groups, **QUICK, **options
    )


def numbers(row: PairedComparison) -> list[float]:
    return [v for v in dataclasses.asdict(row).values() if isinstance(v, float)]


@settings(deadline=None, max_examples=50)
@given(runs(anything), st.booleans(), st.sampled_from(["bca", "bca_analytic"]))
def test_nothing_warns_and_every_number_is_finite(
    rows: list[Any], clustered: bool, method: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="raise", under="ignore"):
            row = compared(rows, clustered=clustered, ci_method=method, margin=0.1)
    assert all(map(math.isfinite, numbers(row)))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(anything, anything), max_size=30))
def test_nothing_warns_on_the_log_scale(rows: list[Any]) -> None:
    names = [f"q{k:03}" for k in range(len(rows))]
    metric = MetricValues([r[0] for r in rows], [r[1] for r in rows], scale="log", margin=0.1)
    with np.errstate(all="raise", under="ignore"):
        row = paired_many(names, {"ms": metric}, settings=Settings(n_resamples=200))["ms"]
    assert all(map(math.isfinite, numbers(row)))
    assert row.n_pairs == sum((a or 0) > 0 and (b or 0) > 0 for a, b in rows)


@settings(deadline=None, max_examples=50)
@given(runs(value), st.booleans())
def test_numbers_keep_their_order_and_range(rows: list[Any], clustered: bool) -> None:
    row = compared(rows, clustered=clustered)
    assert row.n_units <= row.n_pairs <= len(rows)
    if row.n_pairs == 0:
        assert row.p_value is None
        return
    assert 0 < row.p_min_attainable <= row.p_value <= 1
    assert row.n_better + row.n_same + row.n_worse == row.n_pairs
    deltas = [b - a for a, b, _ in rows if a is not None and b is not None]
    assert abs(row.delta - math.fsum(deltas) / len(deltas)) <= 1e-9 * max(map(abs, deltas)) + 1e-12
    if row.n_units > 1:
        slack = 1e-8
        assert min(deltas) - slack <= row.ci_low <= row.ci_high <= max(deltas) + slack
        assert row.ci_low <= row.ci90_low <= row.ci90_high <= row.ci_high


@settings(deadline=None, max_examples=50)
@given(runs(value), st.booleans(), st.randoms(use_true_random=False))
def test_row_order_changes_nothing(rows: list[Any], clustered: bool, random: Any) -> None:
    names = [f"q{k:03}" for k in range(len(rows))]
    shuffled = random.sample(range(len(rows)), len(rows))
    got = paired_comparison(
        [names[k] for k in shuffled],
        [rows[k][0] for k in shuffled],
        [rows[k][1] for k in shuffled],
        clusters=[rows[k][2] for k in shuffled] if clustered else None,
        **QUICK,
    )
    assert got == compared(rows, clustered=clustered)


@settings(deadline=None, max_examples=50)
@given(runs(value), st.booleans(), st.sampled_from(["bca", "bca_analytic"]))
def test_the_other_way_round_is_the_mirror(rows: list[Any], clustered: bool, method: str) -> None:
    there = compared(rows, clustered=clustered, ci_method=method)
    back = compared([(b, a, c) for a, b, c in rows], clustered=clustered, ci_method=method)
    for left, right in (("delta", "delta"), ("ci_low", "ci_high"), ("ci90_high", "ci90_low")):
        ours, theirs = getattr(there, left), getattr(back, right)
        assert (ours is None and theirs is None) or ours == -theirs
    assert (there.p_value, there.sd_delta, there.n_better) == (
        back.p_value,
        back.sd_delta,
        back.n_worse,
    )
    assert there.ci_p_disagree == back.ci_p_disagree
    turned = {"improved": "regressed", "regressed": "improved"}
    assert back.verdict == turned.get(there.verdict, there.verdict)


@settings(deadline=None, max_examples=50)
@given(st.lists(value, max_size=60), st.booleans())
def test_a_run_against_itself_is_never_a_change(values: list[Any], clustered: bool) -> None:
    row = compared([(v, v, k // 3) for k, v in enumerate(values)], clustered=clustered)
    assert row.p_value in (1.0, None)
    assert row.delta in (0.0, None)
    assert row.verdict in ("insufficient_items", "no_significant_change")


@settings(deadline=None, max_examples=50)
@given(st.lists(runs(value, most=40), min_size=1, max_size=6), st.booleans())
def test_a_metric_is_the_same_alone_and_among_others(
    metrics: list[list[Any]], clustered: bool
) -> None:
    names = [f"q{k:03}" for k in range(40)]
    padded = [rows + [(None, None, 0)] * (40 - len(rows)) for rows in metrics]
    values = {
        f"m{k}": MetricValues([r[0] for r in rows], [r[1] for r in rows])
        for k, rows in enumerate(padded)
    }
    same = Settings(n_resamples=200, unit="cluster" if clustered else "item")
    options: dict[str, Any] = {
        "clusters": [k // 4 for k in range(40)] if clustered else None,
        "settings": same,
    }
    together = paired_many(names, values, **options)
    for name, metric in values.items():
        assert paired_many(names, {name: metric}, **options)[name] == together[name]


@settings(deadline=None, max_examples=50)
@given(runs(grades, most=25), st.integers(1, 8))
def test_items_that_did_not_change_never_change_p(rows: list[Any], n_same: int) -> None:
    padded = [*rows, *[(0.5, 0.5, 0)] * n_same]
    before, after = compared(rows, clustered=False), compared(padded, clustered=False)
    assert after.p_value == (before.p_value or 1.0)


@settings(deadline=None, max_examples=50)
@given(runs(grades, most=40), st.sampled_from([2.0, 4.0, 0.5]))
def test_scaling_the_metric_scales_the_answer(rows: list[Any], factor: float) -> None:
    plain = compared(rows, clustered=False)
    scaled = compared([(a * factor, b * factor, c) for a, b, c in rows], clustered=False)
    assert scaled.p_value == plain.p_value
    if plain.n_units > 1:
        largest = max(abs(b - a) for a, b, _ in rows) * factor
        for name in ("delta", "ci_low", "ci_high", "sd_delta"):
            assert abs(getattr(scaled, name) - factor * getattr(plain, name)) <= 1e-8 * largest
