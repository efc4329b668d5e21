"""Cases with right values from independent programs, for five seeds, shuffled and swapped."""

import json
import math
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crucible_batch.exact import exact_mean
from crucible_batch.stats.bca import Bounds
from crucible_batch.stats.comparison import MetricValues, Settings
from crucible_batch.stats.multiplicity import METHODS, adjust_pvalues
from crucible_batch.stats.paired import paired_comparison, paired_many
from crucible_batch.stats.verdict import decide

SEEDS = range(5)
Case = dict[str, Any]


@pytest.fixture(scope="module")
def stored(cases: Path) -> list[Case]:
    text = (cases / "statistics.json").read_text(encoding="utf-8")
    return list(json.loads(text)["cases"])


@pytest.fixture(scope="module")
def delta_cases(stored: list[Case]) -> list[Case]:
    found = [case for case in stored if case.get("kind") == "deltas"]
    assert len(found) >= 15
    return found


def one(stored: list[Case], name: str) -> Case:
    [case] = [case for case in stored if case["id"] == name]
    return case


def check(row: Any, want: Case, name: str) -> None:
    assert row.n_pairs == want["n_pairs"], name
    assert (row.verdict, row.ci_label) == (want["verdict"], want["label"]), name
    if not row.n_pairs:
        assert (row.delta, row.p_value, row.ci_low) == (None, None, None), name
        return
    assert row.delta == pytest.approx(want["mean_delta"], abs=1e-9), name
    assert (row.p_value, row.p_method) == (pytest.approx(want["p_exact"], rel=1e-12), "exact"), name
    assert [row.n_better, row.n_same, row.n_worse] == want["wins_ties_losses"], name
    assert row.n_nonzero == want["n_nonzero"], name
    if row.n_pairs == 1:
        assert row.ci_low is None, name
        return
    error = row.sd_delta / math.sqrt(row.n_pairs)
    assert error == pytest.approx(want["se_delta_ddof1"], abs=1e-9), name
    assert (row.degenerate, row.ci_p_disagree) == (want["degenerate"], want["ci_p_disagree"]), name
    ideal = want["bca95_ideal_B_infinity"]
    bands = want.get("bca95_band_for_B10000", {"low": [ideal[0]] * 2, "high": [ideal[1]] * 2})
    assert bands["low"][0] - 1e-9 <= row.ci_low <= bands["low"][1] + 1e-9, name
    assert bands["high"][0] - 1e-9 <= row.ci_high <= bands["high"][1] + 1e-9, name


@pytest.mark.parametrize("seed", SEEDS)
def test_every_case_gives_its_right_values_in_any_row_order(
    compare: Any, delta_cases: list[Case], seed: int
) -> None:
    for case in delta_cases:
        deltas = np.array(case["deltas"], dtype=float)
        names = np.array(compare.names(deltas.size), dtype=object)
        order = np.random.default_rng(seed).permutation(deltas.size)
        row = compare.deltas(deltas, seed=seed)
        check(row, case["expected"], case["id"])
        zeros = np.zeros(deltas.size)
        assert paired_comparison(names[order], zeros, deltas[order], seed=seed) == row, case["id"]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_case_swapped_is_the_exact_mirror(
    compare: Any, delta_cases: list[Case], seed: int
) -> None:
    for case in delta_cases:
        zeros, deltas = np.zeros(len(case["deltas"])), case["deltas"]
        row = compare.runs(zeros, deltas, seed=seed)
        back = compare.runs(deltas, zeros, seed=seed)
        assert (back.p_value, back.mde80) == (row.p_value, row.mde80), case["id"]
        assert (back.n_better, back.n_worse) == (row.n_worse, row.n_better), case["id"]
        for left, right in (("delta", "delta"), ("ci_low", "ci_high"), ("ci90_low", "ci90_high")):
            a, b = getattr(back, left), getattr(row, right)
            assert a == (None if b is None else -b), case["id"]


SCALED = ("delta", "ci_low", "ci_high", "ci90_low", "ci90_high", "sd_delta", "mde80")


@pytest.mark.parametrize("seed", SEEDS)
def test_every_case_twice_as_large_has_twice_the_numbers_and_the_same_p(
    compare: Any, delta_cases: list[Case], seed: int
) -> None:
    for case in delta_cases:
        deltas = np.array(case["deltas"], dtype=float)
        row, doubled = compare.deltas(deltas, seed=seed), compare.deltas(2 * deltas, seed=seed)
        same = ("p_value", "p_method", "verdict", "n_better", "n_worse", "effect_dz", "ci_label")
        assert [getattr(doubled, n) for n in same] == [getattr(row, n) for n in same], case["id"]
        largest = float(np.abs(deltas).max(initial=0.0))
        for name in SCALED:
            once, twice = getattr(row, name), getattr(doubled, name)
            assert (once is None) == (twice is None), (case["id"], name)
            if once is not None:
                # Exact up to 7 significant digits of the deltas; the grid has 9 (STATISTICS).
                assert twice == pytest.approx(2 * once, abs=1e-8 * largest), (case["id"], name)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_case_is_the_same_under_other_names_and_among_other_metrics(
    compare: Any, delta_cases: list[Case], seed: int
) -> None:
    others = np.random.default_rng(seed)
    for case in delta_cases:
        deltas = np.array(case["deltas"], dtype=float)
        zeros = np.zeros(deltas.size)
        row = compare.deltas(deltas, seed=seed)
        renamed = [f"item {name} of another set" for name in compare.names(deltas.size)]
        assert paired_comparison(renamed, zeros, deltas, seed=seed) == row, case["id"]
        among = {
            "a": MetricValues(others.normal(size=deltas.size), others.normal(size=deltas.size)),
            "b": MetricValues(zeros, deltas),
            "c": MetricValues(zeros, np.where(np.arange(deltas.size) % 3, deltas, np.nan)),
        }
        found = paired_many(renamed, among, settings=Settings(seed=seed))
        assert found["b"] == row, case["id"]


PROGRAM = """
import dataclasses, json, sys
import numpy as np
from crucible_batch.stats.paired import paired_comparison
for deltas in json.load(sys.stdin):
    for seed in range(5):
        names = [f"q{k:06}" for k in range(len(deltas))]
        row = paired_comparison(names, np.zeros(len(deltas)), deltas, seed=seed)
        print(json.dumps(dataclasses.asdict(row)))
"""


def test_every_case_is_the_same_on_other_numbers_of_threads(
    compare: Any, delta_cases: list[Case]
) -> None:
    here = [
        json.dumps(asdict(compare.deltas(case["deltas"], seed=seed)))
        for case in delta_cases
        for seed in SEEDS
    ]
    for n_threads in ("1", "8"):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([case["deltas"] for case in delta_cases]),
            env={**os.environ, **dict.fromkeys(names, n_threads)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines() == here, n_threads


def test_samples_in_another_order_are_the_same_run(compare: Any, stored: list[Case]) -> None:
    case = one(stored, "ulp_noise_30")
    means = [
        [exact_mean(samples) for samples in case[side].values()] for side in ("run_a", "run_b")
    ]
    naive = [[sum(s) / 3 for s in case[side].values()] for side in ("run_a", "run_b")]
    assert naive[0] != naive[1]
    for baseline, candidate in (means, naive):
        row = compare.runs(baseline, candidate)
        assert (row.delta, row.ci_low, row.ci_high, row.p_value) == (0.0, 0.0, 0.0, 1.0)
        assert (row.n_same, row.verdict) == (30, case["expected"]["verdict"])


def test_missing_values_leave_the_pairing(stored: list[Case]) -> None:
    case = one(stored, "missing_metric")
    want = case["expected"]
    baseline, candidate = (
        [float("nan") if v == ["NaN"] else v[0] for v in case[side].values()]
        for side in ("run_a", "run_b")
    )
    row = paired_comparison(case["run_a"], baseline, candidate)
    assert (row.n_pairs, row.delta, row.p_value) == (2, want["mean_delta"], want["p_value"])
    assert row.n_missing_baseline == want["n_missing_a"]
    assert row.n_missing_candidate == want["n_missing_b"]
    assert (row.verdict, row.ci_label) == (want["verdict"], want["label"])


def test_items_of_one_run_leave_the_pairing(stored: list[Case]) -> None:
    case = one(stored, "unmatched_items")
    want = case["expected"]
    a, b = case["run_a"], case["run_b"]
    items = sorted(a.keys() | b.keys())
    values = MetricValues(
        [a.get(k, [None])[0] for k in items], [b.get(k, [None])[0] for k in items]
    )
    row = paired_many(
        items,
        {"m": values},
        in_baseline=[k in a for k in items],
        in_candidate=[k in b for k in items],
    )["m"]
    assert (row.n_pairs, row.delta) == (want["n_pairs"], want["mean_delta"])
    assert (row.mean_baseline, row.mean_candidate) == (want["mean_a_paired"], want["mean_b_paired"])
    assert (row.n_only_baseline, row.n_only_candidate) == (1, 2)
    assert row.verdict == want["verdict"]


@pytest.mark.parametrize("seed", SEEDS)
def test_clusters_give_the_answer_of_their_number(
    compare: Any, stored: list[Case], seed: int
) -> None:
    for case in (case for case in stored if case.get("kind") == "cluster"):
        want, wrong = case["expected"]["clustered"], case["expected"]["wrong_item_level"]
        row = compare.deltas(case["deltas"], clusters=case["clusters"], seed=seed)
        assert row.n_units == case["expected"]["n_clusters"]
        assert row.p_value == want["p_exact"]
        assert row.sd_delta / math.sqrt(row.n_units) == pytest.approx(want["se"], rel=1e-9)
        for end, (low, high) in zip((row.ci_low, row.ci_high), want["bands"].values(), strict=True):
            assert low - 1e-9 <= end <= high + 1e-9
        items = compare.deltas(case["deltas"], seed=seed)
        assert items.p_value == pytest.approx(wrong["p_exact"], rel=1e-12)
        assert items.sd_delta / math.sqrt(items.n_units) == pytest.approx(wrong["se"], rel=1e-9)


def test_zero_items_do_not_change_p(compare: Any, stored: list[Case]) -> None:
    case = one(stored, "zero_items_dont_change_p")
    deltas = one(stored, case["base"])["deltas"]
    for n_zeros in (1, 50, 500):
        row = compare.deltas([*deltas, *[0.0] * n_zeros], n_resamples=100)
        assert row.p_value == case["expected"]["p_exact"]


@pytest.mark.parametrize("method", METHODS)
def test_families_are_adjusted_as_in_r(stored: list[Case], method: str) -> None:
    case = one(stored, "multiplicity_15")
    assert adjust_pvalues(case["p_values"], method) == pytest.approx(
        case["expected"][method], rel=1e-9
    )


def test_the_smallest_effect_that_80_percent_find(compare: Any, stored: list[Case]) -> None:
    case = one(stored, "mde")
    n, sd = case["inputs"]["n"], case["inputs"]["sd_delta"]
    side = sd * math.sqrt((n - 1) / n)
    row = compare.deltas([side, -side] * (n // 2), margin=0.05)
    assert row.mde80 == pytest.approx(case["expected"]["mde"], rel=1e-8)
    assert row.n_needed == case["expected"]["n_for_mde_0_05"]


def test_the_table_of_verdicts(stored: list[Case]) -> None:
    for row in one(stored, "verdict_rule")["rows"]:
        found = decide(
            n_units=row["n"],
            p_adjusted=row["p_adj"],
            ci=Bounds(*row["ci95"]),
            ci90=Bounds(*row["ci95"]),
            margin=row["margin"],
            min_items=20,
            higher_is_better=True,
        )
        assert found == (row["verdict"], row["n"] == 2_000), row


@pytest.mark.slow
def test_a_million_items_are_compared(stored: list[Case]) -> None:
    want = one(stored, "huge_n")["expected"]
    place = np.arange(1_000_000, dtype=np.int64)
    deltas = (place * 2_654_435_761 % 2**32) / 2**32 - 0.48
    row = paired_comparison([f"{k:07}" for k in place], np.zeros(place.size), deltas)
    assert row.delta == pytest.approx(want["mean_delta"], abs=1e-9)
    assert (row.ci_low, row.ci_high) == pytest.approx(
        want["bca95_analytic"], abs=want["endpoint_tolerance"]
    )
    assert (row.ci_method, row.p_value) == ("bca_analytic", 1 / 10_001)


def test_open_answers_judged_by_people(compare: Any) -> None:
    """FiD against FiD-KD on 301 questions: 37 better, 12 worse."""
    for seed in SEEDS:
        row = compare.deltas([1.0] * 37 + [-1.0] * 12 + [0.0] * 252, seed=seed)
        assert (round(row.delta, 4), round(row.p_value, 5)) == (0.0831, 0.00047)
        assert (row.ci_low, row.ci_high) == pytest.approx((0.0399, 0.1296), abs=0.0034)
        assert (row.verdict, row.p_method) == ("improved", "exact")
