import dataclasses
import math
import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

from crucible_batch.contracts import vocabulary
from crucible_batch.contracts.comparisons import COMPARISONS
from crucible_batch.errors import ContractError, UsageError
from crucible_batch.stats.comparison import (
    MetricValues,
    PairedComparison,
    Settings,
    with_adjusted_p,
)
from crucible_batch.stats.paired import paired_comparison, paired_many

NAN = float("nan")
WINS = [0.3, 0.1, 0.2, 0.4, 0.0, 0.5, 0.1, 0.2, 0.3, -0.1] * 3


def mirrored(row: PairedComparison) -> dict[str, Any]:
    """What comparing the other way round must give, to the last bit."""
    same = dataclasses.asdict(row)
    flip = {"improved": "regressed", "regressed": "improved"}
    return same | {
        "n_only_baseline": row.n_only_candidate,
        "n_only_candidate": row.n_only_baseline,
        "n_missing_baseline": row.n_missing_candidate,
        "n_missing_candidate": row.n_missing_baseline,
        "mean_baseline": row.mean_candidate,
        "mean_candidate": row.mean_baseline,
        "delta": None if row.delta is None else 0.0 - row.delta,
        "ci_low": None if row.ci_high is None else 0.0 - row.ci_high,
        "ci_high": None if row.ci_low is None else 0.0 - row.ci_low,
        "ci90_low": None if row.ci90_high is None else 0.0 - row.ci90_high,
        "ci90_high": None if row.ci90_low is None else 0.0 - row.ci90_low,
        "n_better": row.n_worse,
        "n_worse": row.n_better,
        "effect_dz": None if row.effect_dz is None else 0.0 - row.effect_dz,
        "verdict": flip.get(row.verdict or "", row.verdict),
    }


def test_a_run_against_itself_changed_nothing(compare) -> None:
    values = np.random.default_rng(1).random(40)
    row = compare.runs(values, values)
    assert (row.delta, row.p_value, row.verdict) == (0.0, 1.0, "no_significant_change")
    assert (row.ci_low, row.ci_high, row.degenerate) == (0.0, 0.0, True)
    assert (row.n_better, row.n_same, row.n_worse, row.n_nonzero) == (0, 40, 0, 0)
    assert math.copysign(1, row.delta) == 1


def test_no_items_give_nulls_and_counts(compare) -> None:
    row = compare.runs([], [])
    assert (row.n_pairs, row.n_units, row.verdict) == (0, 0, "insufficient_items")
    nulls = {name for name, value in dataclasses.asdict(row).items() if value is None}
    assert nulls >= {"delta", "ci_low", "p_value", "p_adjusted", "mean_baseline", "sd_delta"}


def test_one_item_has_a_delta_and_p_one_but_no_interval(compare) -> None:
    row = compare.runs([0.5], [0.7])
    assert (row.delta, row.p_value, row.ci_low, row.ci_method) == (0.2, 1.0, None, None)
    assert (row.sd_delta, row.mde80, row.degenerate, row.ci_p_disagree) == (
        None,
        None,
        False,
        False,
    )


def test_an_item_that_is_not_carried_leaves_the_pairing(compare) -> None:
    row = compare.runs([1.0, NAN, 0.5, 0.25, NAN], [0.5, 1.0, NAN, 0.75, 1.0])
    assert (row.n_pairs, row.n_missing_baseline, row.n_missing_candidate) == (2, 2, 1)
    assert (row.delta, row.mean_baseline, row.mean_candidate) == (0.0, 0.625, 0.625)


@pytest.mark.parametrize(
    "absent", [[1.0, None], np.array([1.0, NAN]), pl.Series([1.0, None]), (1, None)]
)
def test_every_way_to_say_absent_is_understood(absent: Any) -> None:
    row = paired_comparison(pl.Series(["a", "b"]), absent, [0.0, 0.0])
    assert (row.n_pairs, row.delta) == (1, -1.0)


def test_items_of_one_run_only_are_counted_and_left_out() -> None:
    values = MetricValues([1, 0, NAN, NAN, 1], [0, 0, 1, 1, NAN])
    row = paired_many(
        ["q1", "q2", "q7", "q8", "q9"],
        {"hit": values},
        in_baseline=[True, True, False, False, True],
        in_candidate=[True, True, True, True, False],
    )["hit"]
    assert (row.n_pairs, row.n_only_baseline, row.n_only_candidate) == (2, 1, 2)
    assert (row.n_missing_baseline, row.n_missing_candidate, row.delta) == (0, 0, -0.5)


def test_an_infinite_value_is_refused_by_item() -> None:
    with pytest.raises(ContractError, match=r"candidate[\s\S]*'b': inf"):
        paired_comparison(["a", "b"], [0.0, 0.0], [0.0, math.inf])


def test_a_repeated_item_is_refused_with_its_rows() -> None:
    with pytest.raises(ContractError, match="'a' in rows 0 and 2"):
        paired_comparison(["a", "b", "a"], [0.0] * 3, [1.0] * 3)


def test_an_item_without_an_id_is_refused() -> None:
    with pytest.raises(ContractError, match="row 1"):
        paired_comparison(["a", None], [0.0] * 2, [1.0] * 2)


def test_text_in_place_of_a_value_is_refused() -> None:
    with pytest.raises(ContractError, match="no number"):
        paired_comparison(["a"], ["good"], [1.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"seed": -1}, "seed"),
        ({"ci_method": "percentile"}, "bca_analytic"),
        ({"margin": 0.0}, "margin"),
        ({"margin": NAN}, "margin"),
        ({"clusters": ["c"]}, "1 clusters for 2 items"),
    ],
)
def test_an_impossible_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        paired_comparison(["a", "b"], [0.0, 0.0], [1.0, 1.0], **options)


def test_values_must_be_as_many_as_items() -> None:
    with pytest.raises(UsageError, match="baseline has shape"):
        paired_comparison(["a", "b"], [0.0], [1.0, 1.0])


def test_a_metric_with_another_scale_or_unit_is_refused() -> None:
    with pytest.raises(UsageError, match="scale"):
        MetricValues([0.0], [0.0], scale="sqrt")
    with pytest.raises(UsageError, match="unit"):
        Settings(unit="sample")
    with pytest.raises(UsageError, match="no clusters"):
        paired_many(["a"], {"m": MetricValues([0], [0])}, settings=Settings(unit="cluster"))
    with pytest.raises(UsageError, match="presence mask"):
        paired_many(["a"], {"m": MetricValues([0], [0])}, in_baseline=[True, False])


def test_row_order_changes_no_bit() -> None:
    rng = np.random.default_rng(5)
    names = np.array([f"q{k}" for k in range(120)])
    a, b, groups = rng.random(120), rng.random(120), rng.integers(0, 40, 120)
    for clusters in (None, groups):
        expected = paired_comparison(names, a, b, clusters=clusters)
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(120)
            shuffled = None if clusters is None else clusters[order]
            got = paired_comparison(names[order], a[order], b[order], clusters=shuffled)
            assert got == expected


def test_items_sort_by_their_bytes() -> None:
    deltas = np.random.default_rng(1).random(5)
    names = ["Z", "a", "é", "\uffff", "\U0001f600"]
    plain = paired_comparison(list("abcde"), np.zeros(5), deltas)
    assert paired_comparison(names, np.zeros(5), deltas) == plain
    assert sorted(names) == sorted(names, key=str.encode)


@pytest.mark.parametrize("n_items", [8, 30, 200])
@pytest.mark.parametrize("clusters", [None, 3])
def test_comparing_the_other_way_round_is_the_exact_mirror(
    compare, n_items: int, clusters: int | None
) -> None:
    rng = np.random.default_rng(n_items)
    a, b = rng.random(n_items), rng.random(n_items) + 0.1
    a[1], b[3] = NAN, NAN
    groups = None if clusters is None else np.arange(n_items) // clusters
    row = compare.runs(a, b, clusters=groups)
    back = compare.runs(b, a, clusters=groups)
    expected = mirrored(row) | {"rel_delta": back.rel_delta}
    assert dataclasses.asdict(back) == expected


def test_twice_the_values_give_twice_the_delta_and_the_same_p(compare) -> None:
    deltas = np.round(np.random.default_rng(3).normal(0.01, 0.1, 80), 6)
    row, double = compare.deltas(deltas), compare.deltas(2 * deltas)
    assert double.p_value == row.p_value
    assert (double.delta, double.ci_low, double.ci_high) == pytest.approx(
        (2 * row.delta, 2 * row.ci_low, 2 * row.ci_high), rel=1e-11
    )


def test_renaming_items_in_order_changes_nothing(compare) -> None:
    names = [f"item-{k:09}" for k in range(len(WINS))]
    assert paired_comparison(names, np.zeros(len(WINS)), WINS) == compare.deltas(WINS)


@pytest.mark.parametrize("scale", [1.0, math.pi])
def test_items_that_did_not_change_never_change_p(compare, scale: float) -> None:
    deltas = np.random.default_rng(8).normal(0.2, 1, 45) * scale
    row = compare.deltas(deltas)
    padded = compare.deltas(np.insert(deltas, np.arange(0, 45, 3), 0.0))
    assert (padded.p_value, padded.p_method) == (row.p_value, "monte_carlo")
    assert padded.p_min_attainable == row.p_min_attainable


def test_the_interval_does_not_depend_on_the_other_metrics() -> None:
    rng = np.random.default_rng(6)
    names = [f"q{k:03}" for k in range(90)]
    metrics = {}
    for k in range(12):
        a, b = rng.random(90), rng.random(90)
        a[: k // 2] = NAN
        metrics[f"m{k}"] = MetricValues(a, b, higher_is_better=bool(k % 2))
    metrics["hit"] = MetricValues(rng.integers(0, 2, 90), rng.integers(0, 2, 90))
    together = paired_many(names, metrics)
    assert list(together) == list(metrics)
    for name, metric in metrics.items():
        alone = paired_comparison(
            names, metric.baseline, metric.candidate, higher_is_better=metric.higher_is_better
        )
        assert together[name] == alone


def test_equal_deltas_of_other_items_or_another_direction_keep_rows_of_their_own() -> None:
    n = len(WINS)
    zeros, clusters = np.zeros(n + 1), [k // 3 for k in range(n + 1)]
    first, last = np.array([*WINS, NAN]), np.array([NAN, *WINS])
    metrics = {
        "first": MetricValues(zeros, first),
        "again": MetricValues(zeros + 0.5, first + 0.5),
        "lower": MetricValues(zeros, first, higher_is_better=False),
        "last": MetricValues(zeros, last),
    }
    names = [f"q{k:03}" for k in range(n + 1)]
    together = paired_many(names, metrics, clusters=clusters)
    for name, metric in metrics.items():
        alone = paired_many(names, {name: metric}, clusters=clusters)[name]
        assert together[name] == alone, name
    assert together["last"].ci_low != together["first"].ci_low
    assert together["lower"].n_worse == together["first"].n_better > 0
    assert together["again"].mean_baseline == 0.5


def test_differences_of_rounding_size_are_no_difference(compare) -> None:
    left = [0.1 + 0.2 + 0.3] * 30
    right = [0.3 + 0.2 + 0.1] * 30
    assert left != right
    row = compare.runs(left, right)
    assert (row.delta, row.p_value, row.n_same) == (0.0, 1.0, 30)


def test_the_direction_turns_verdict_and_counts(compare) -> None:
    up = compare.deltas(WINS)
    down = compare.deltas(WINS, higher_is_better=False)
    neither = compare.deltas(WINS, higher_is_better=None)
    assert (up.verdict, down.verdict, neither.verdict) == ("improved", "regressed", "changed")
    assert (up.n_better, up.n_same, up.n_worse) == (24, 3, 3)
    assert (down.n_better, down.n_same, down.n_worse) == (3, 3, 24)
    assert (neither.n_better, neither.n_same, neither.n_worse) == (None, 3, None)


def test_effect_sizes_follow_their_formulas(compare) -> None:
    deltas = np.array(WINS)
    row = compare.deltas(deltas, margin=0.05)
    sd = float(np.std(deltas, ddof=1))
    assert row.sd_delta == pytest.approx(sd, rel=1e-9)
    assert row.effect_dz == pytest.approx(deltas.mean() / sd, rel=1e-9)
    assert row.mde80 == pytest.approx(2.8015852 * sd / math.sqrt(30), rel=1e-7)
    assert row.n_needed == math.ceil((2.8015852 * sd / 0.05) ** 2)


def test_equal_deltas_have_no_effect_size(compare) -> None:
    row = compare.deltas([0.1] * 30, margin=0.2)
    assert (row.sd_delta, row.effect_dz, row.mde80, row.n_needed) == (0.0, None, 0.0, 0)


def test_the_relative_change_needs_a_positive_baseline(compare) -> None:
    assert compare.runs([2.0, 2.0], [3.0, 3.0]).rel_delta == 0.5
    assert compare.runs([-2.0, -2.0], [3.0, 3.0]).rel_delta is None


def test_log_scale_compares_ratios_and_leaves_out_what_has_no_logarithm() -> None:
    values = MetricValues([100, 200, 0, 50], [200, 400, 10, -1], scale="log")
    row = paired_many(["a", "b", "c", "d"], {"ms": values})["ms"]
    assert (row.n_pairs, row.n_missing_baseline, row.n_missing_candidate) == (2, 1, 1)
    assert row.delta == pytest.approx(math.log(2), abs=1e-9)
    assert row.rel_delta == pytest.approx(1.0, abs=1e-9)
    assert (row.mean_baseline, row.mean_candidate) == (150.0, 300.0)


def test_the_share_of_noise_inside_items_uses_items_with_several_samples() -> None:
    deltas = np.array([0.1, -0.2, 0.3, 0.2])
    noise = np.array([0.01, NAN, 0.03, 0.02])
    values = MetricValues(np.zeros(4), deltas, sampling_variance=noise)
    row = paired_many("abcd", {"m": values})["m"]
    assert row.within_item_share == pytest.approx(0.02 / np.var(deltas, ddof=1), rel=1e-8)
    one_sample = MetricValues(np.zeros(4), deltas, sampling_variance=np.full(4, NAN))
    assert paired_many("abcd", {"m": one_sample})["m"].within_item_share is None


def test_five_thousand_units_take_the_limit_unless_told_otherwise(compare) -> None:
    deltas = np.random.default_rng(2).normal(0.01, 1, 5_000)
    options = {"n_resamples": 2_000}
    assert compare.deltas(deltas[1:], **options).ci_method == "bca"
    auto, drawn = (
        compare.deltas(deltas, **options),
        compare.deltas(deltas, ci_method="bca", **options),
    )
    assert (auto.ci_method, drawn.ci_method) == ("bca_analytic", "bca")
    error = auto.sd_delta / math.sqrt(5_000)
    assert abs(auto.ci_low - drawn.ci_low) < 0.2 * error
    assert compare.deltas(deltas[:50], ci_method="bca_analytic").ci_method == "bca_analytic"


def test_every_number_is_a_plain_number(compare) -> None:
    for row in (compare.deltas(WINS), compare.deltas([0.1, 0.2], clusters=["a", "a"])):
        kinds = {type(value) for value in dataclasses.asdict(row).values()}
        assert kinds <= {int, float, str, bool, type(None)}


def test_seed_resamples_and_version_stand_in_the_row(compare) -> None:
    row = compare.deltas(WINS, seed=5, n_resamples=99)
    assert (row.seed, row.n_resamples, row.stream_version) == (5, 99, 1)


def test_another_seed_moves_the_interval_a_little(compare) -> None:
    rng = np.random.default_rng(1).normal(0, 1, 60)
    rows = [compare.deltas(rng, seed=seed) for seed in (1, 2)]
    assert rows[0].ci_low != rows[1].ci_low
    assert abs(rows[0].ci_low - rows[1].ci_low) < 0.03


def test_a_family_changes_p_and_verdict_only(compare) -> None:
    alone = compare.deltas([1.0] * 6 + [0.0] * 44)
    assert (alone.p_adjusted, alone.verdict) == (alone.p_value, "improved")
    member = with_adjusted_p(
        alone, 0.09, adjust_method="holm", family="headline", family_size=3, higher_is_better=True
    )
    changed = {"p_adjusted", "verdict", "adjust_method", "family", "family_size"}
    before, after = dataclasses.asdict(alone), dataclasses.asdict(member)
    assert {name for name in before if before[name] != after[name]} == changed
    assert member.verdict == "no_significant_change"


def test_fields_are_columns_of_comparisons() -> None:
    columns = [column.name for column in COMPARISONS.columns]
    fields = [field.name for field in dataclasses.fields(PairedComparison)]
    assert fields == [name for name in columns if name in set(fields)]


def test_words_are_those_of_the_contract(compare) -> None:
    rows = [
        compare.deltas(deltas, higher_is_better=better, margin=margin, **options)
        for deltas in (WINS, [0.0] * 300, [0.1], np.linspace(-1, 1.1, 41) * math.pi)
        for better in (True, False, None)
        for margin in (None, 0.02)
        for options in ({}, {"ci_method": "bca_analytic"})
    ]
    assert {row.verdict for row in rows} <= set(vocabulary.VERDICT_WORDS)
    assert {row.ci_label for row in rows} == set(vocabulary.CI_LABELS)
    assert {row.ci_method for row in rows} - {None} <= set(vocabulary.CI_METHODS)
    assert {row.p_method for row in rows} == set(vocabulary.P_METHODS)
    assert {row.verdict for row in rows} >= {"improved", "regressed", "changed", "equivalent"}


def test_the_package_never_imports_scipy_stats() -> None:
    program = (
        "import sys, crucible_batch.stats.paired, crucible_batch.stats.run_mean, "
        "crucible_batch.stats.agreement, crucible_batch.stats.multiplicity; "
        "sys.exit('scipy.stats' in sys.modules or 'polars' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
