from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from answer_run import RUN_METRICS, AnswerRun

from crucible_batch.contracts.vocabulary import ERROR_CLASSES
from crucible_batch.errors import ContractError
from crucible_batch.metrics.aggregate import (
    SCHEMA,
    Interval,
    aggregate,
    aggregate_run_metrics,
)
from crucible_batch.metrics.grid import Grid
from crucible_batch.metrics.metric import Example, Grain, Metric
from crucible_batch.metrics.taxonomy import error_classes

GRAIN = Grain(name="g", columns={})


def metric(name: str = "m", **facts: Any) -> Metric:
    return Metric(
        **{
            "name": name,
            "title": name,
            "group": "answers",
            "grain": GRAIN,
            "expr": pl.lit(0),
            "summary": "A number.",
            "source": "here",
            "example": Example.of(0.0),
        }
        | facts
    )


def grid(
    items: list[str], *, samples_n: int = 1, clusters: list[str | None] | None = None, **extra: Any
) -> Grid:
    """Every item in all/all, and in the slices that `extra` names (`tag_x=["a"]`)."""
    slices = [("all", "all", item) for item in items]
    slices += [(*name.split("_"), item) for name, inside in extra.items() for item in inside]
    return Grid.of(
        pl.DataFrame(
            {"item_id": items, "cluster_id": clusters or [None] * len(items)},
            schema={"item_id": pl.String, "cluster_id": pl.String},
        ),
        [by_place(items, slices)],
        samples_n,
    )


def by_place(items: list[str], slices: list[tuple[str, str, str]]) -> pl.DataFrame:
    """Slices as `Grid.of` reads them: an item is its place among all, ordered by id."""
    place = {item: number for number, item in enumerate(sorted(items))}
    rows = sorted((by, name, place[item]) for by, name, item in slices)
    return pl.DataFrame(rows, schema=["slice_by", "slice", "item"], orient="row")


def scores(values: list[float | str], *, samples_n: int = 1, name: str = "m") -> pl.DataFrame:
    """One score per expected result of items a, b, c …; a text is a null reason."""
    rows = [
        (
            "abcdefgh"[n // samples_n],
            n % samples_n,
            name,
            None if isinstance(value, str) else value,
            value if isinstance(value, str) else None,
        )
        for n, value in enumerate(values)
    ]
    schema = {
        "item_id": pl.String,
        "sample_index": pl.Int64,
        "metric": pl.String,
        "value": pl.Float64,
        "null_reason": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def no_interval(*_: Any) -> Interval:
    return Interval()


def row_of(
    values: list[float | str], declared: Metric | None = None, *, samples_n: int = 1
) -> dict[str, Any]:
    items = list("abcdefgh"[: len(values) // samples_n])
    out = aggregate(
        scores(values, samples_n=samples_n),
        [declared or metric()],
        grid(items, samples_n=samples_n),
        interval=no_interval,
        label=str,
    )
    return out.row(0, named=True)


def test_a_null_score_is_counted_but_not_averaged() -> None:
    row = row_of([1.0, "errored", 0.0])
    assert (row["mean"], row["n_expected"], row["n_scored"]) == (0.5, 3, 2)


def test_one_error_beside_a_full_score_has_bounds_that_say_so() -> None:
    row = row_of([1.0, "errored"])
    assert (row["mean"], row["worst_case"], row["best_case"]) == (1.0, 0.5, 1.0)
    assert (row["n_missing"], row["n_errored"], row["coverage"]) == (1, 1, 0.5)


def test_counts_add_up_and_not_applicable_leaves_the_denominator() -> None:
    row = row_of([1.0, "no_result", "abstained", "errored", "not_judged"])
    assert row["n_expected"] == row["n_scored"] + row["n_not_applicable"] + row["n_missing"] == 5
    assert (row["n_not_applicable"], row["n_missing"], row["n_errored"]) == (1, 3, 1)
    assert row["coverage"] == 0.25


def test_a_metric_that_applies_to_nothing_has_no_coverage() -> None:
    row = row_of(["unanswerable", "abstained"])
    numbers = ["mean", "item_mean", "coverage", "worst_case", "best_case"]
    assert [row[name] for name in numbers] == [None] * 5
    assert (row["n_scored"], row["n_not_applicable"]) == (0, 2)


def test_a_metric_that_was_never_measured_has_bounds_but_no_mean() -> None:
    row = row_of(["errored", "errored"])
    assert (row["mean"], row["coverage"]) == (None, 0.0)
    assert (row["worst_case"], row["best_case"]) == (0.0, 1.0)


def test_the_worst_of_a_rate_that_should_be_low_is_its_top() -> None:
    row = row_of([0.0, "errored"], metric(better="lower"))
    assert (row["worst_case"], row["best_case"]) == (0.5, 0.0)


def test_bounds_reach_down_to_a_signed_range() -> None:
    row = row_of([1.0, "errored"], metric(low=-1.0, unit="signed"))
    assert (row["worst_case"], row["best_case"]) == (0.0, 1.0)


def test_a_metric_without_a_range_has_no_bounds() -> None:
    row = row_of([12.0, "errored"], metric(high=None, unit="tokens"))
    assert (row["mean"], row["worst_case"], row["best_case"]) == (12.0, None, None)


def test_the_item_mean_weighs_items_and_the_mean_weighs_results() -> None:
    row = row_of([1.0, 1.0, 0.0, "errored"], samples_n=2)
    assert row["mean"] == 2 / 3
    assert row["item_mean"] == 0.5
    assert (row["n_items"], row["n_scored"]) == (2, 3)


def test_sums_are_exactly_rounded() -> None:
    row = row_of([1e16, 1.0, -1e16, 1.0], metric(low=None, high=None))
    assert row["mean"] == row["item_mean"] == 0.5


def test_every_slice_has_its_own_row() -> None:
    laid_out = grid(["a", "b", "c"], tag_x=["a", "c"], tag_y=["b"])
    out = aggregate(scores([1.0, 0.0, 0.0]), [metric()], laid_out, interval=no_interval, label=str)
    assert out.select("slice_by", "slice", "mean", "n_expected").rows() == [
        ("all", "all", 1 / 3, 3),
        ("tag", "x", 0.5, 2),
        ("tag", "y", 0.0, 1),
    ]
    assert dict(out.schema) == SCHEMA


def test_the_interval_is_made_from_the_values_that_exist_and_their_units() -> None:
    asked: list[tuple[list[float], list[int], bool]] = []

    def interval(values: Any, units: Any, headline: bool) -> Interval:
        asked.append((values.tolist(), units.tolist(), headline))
        return Interval(0.1, 0.2, 0.3, "t_cr1")

    laid_out = grid(["a", "b"], samples_n=2, tag_x=["b"])
    declared = metric(headline=True)
    values = scores([1.0, "errored", 0.5, 0.0], samples_n=2)
    out = aggregate(values, [declared], laid_out, interval=interval, label=str)
    assert asked == [([1.0, 0.5, 0.0], [0, 1, 1], True), ([0.5, 0.0], [1, 1], False)]
    assert out.row(0, named=True)["ci_method"] == "t_cr1"


@pytest.mark.parametrize(
    ("clusters", "units", "n"),
    [
        ([None, None, None], [0, 1, 2], "3"),
        (["x", "y", None], [0, 1, 2], "3"),
        (["x", "x", None], [0, 0, 1], "2"),
        ([None, "x", "x"], [1, 0, 0], "2"),
    ],
)
def test_clusters_are_the_units_only_where_one_repeats(
    clusters: list[str | None], units: list[int], n: str
) -> None:
    laid_out = grid(["a", "b", "c"], clusters=clusters)
    assert laid_out.units.tolist() == units
    out = aggregate(scores([1.0, 0.0, 0.5]), [metric()], laid_out, interval=no_interval, label=str)
    assert out["ci_label"].to_list() == [n]


@pytest.mark.parametrize(
    ("bounds", "made", "published"),
    [
        ((0.0, 1.0), (0.9, 1.0009), (0.9, 1.0)),
        ((0.0, 1.0), (-0.02, 0.3), (0.0, 0.3)),
        ((-1.0, 1.0), (-1.2, 1.2), (-1.0, 1.0)),
        ((0.0, None), (-3.0, 40.0), (0.0, 40.0)),
        ((None, None), (-3.0, 40.0), (-3.0, 40.0)),
    ],
)
def test_an_interval_ends_where_the_range_of_its_metric_does(
    bounds: Any, made: Any, published: Any
) -> None:
    declared = metric(low=bounds[0], high=bounds[1])
    wide = Interval(std_error=0.05, ci_low=made[0], ci_high=made[1], ci_method="t_cr1")
    out = aggregate(
        scores([1.0, 0.5]), [declared], grid(["a", "b"]), interval=lambda *_: wide, label=str
    )
    row = out.row(0, named=True)
    assert (row["ci_low"], row["ci_high"]) == published
    assert (row["std_error"], row["ci_method"]) == (0.05, "t_cr1")


def test_row_order_does_not_matter() -> None:
    table = pl.concat([scores([0.1, 0.2, 0.7, "errored"]), scores([0.3] * 4, name="z")])
    laid_out = grid(["d", "b", "a", "c"])
    options: dict[str, Any] = {"interval": no_interval, "label": str}
    forward = aggregate(table, [metric(), metric("z")], laid_out, **options)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=7)
    assert aggregate(shuffled, [metric("z"), metric()], laid_out, **options).equals(forward)


@pytest.mark.parametrize("values", [[1.0], [1.0, 0.0, 0.5]])
def test_scores_that_are_not_the_expected_results_are_refused(values: list[float]) -> None:
    with pytest.raises(ContractError, match="scores of m are not those of the 2 expected"):
        aggregate(
            scores(list(values)), [metric()], grid(["a", "b"]), interval=no_interval, label=str
        )


def two_answers() -> AnswerRun:
    run = AnswerRun(samples_n=2).item("a", must=["x"], tags=["t"]).item("b", must=["x"])
    run.result("a", verdicts={"x": "supported"}, confidence=0.9, latency_ms=10.0)
    run.result("a", sample=1, error="boom", latency_ms=99.0)
    return run.result("b", abstained=True, confidence=0.2, latency_ms=30.0)


def run_table() -> pl.DataFrame:
    laid_out = grid(["a", "b"], samples_n=2, tag_t=["a"])
    return aggregate_run_metrics(two_answers().outcomes(), RUN_METRICS, laid_out, label=str)


@pytest.mark.parametrize(
    ("name", "where", "mean", "scored", "not_applicable", "missing"),
    [
        ("aurc", "all", 0.0, 1, 1, 2),
        ("latency_p95", "all", 30.0, 2, 0, 2),
        ("latency_p95", "t", 10.0, 1, 0, 1),
        ("abstention_rate", "all", 0.5, 2, 0, 2),
        ("abstention_precision", "all", 0.0, 2, 0, 2),
        ("abstention_precision", "t", None, 1, 0, 1),
    ],
)
def test_a_run_metric_stands_in_mean_with_the_results_it_rests_on(
    name: str, where: str, mean: float | None, scored: int, not_applicable: int, missing: int
) -> None:
    row = run_table().filter(metric=name, slice=where).row(0, named=True)
    assert row["mean"] == mean
    counts = (row["n_scored"], row["n_not_applicable"], row["n_missing"])
    assert counts == (scored, not_applicable, missing)
    assert (row["item_mean"], row["worst_case"], row["best_case"]) == (None, None, None)


def test_error_classes_are_counted_with_their_share_of_the_classified() -> None:
    classes = pl.Series(["correct", None, "stale", None, "correct", None])
    out = error_classes(classes, grid(["a", "b", "c"], samples_n=2, tag_t=["b"]), ERROR_CLASSES)
    assert out.filter(slice="all")["error_class"].to_list() == list(ERROR_CLASSES)
    assert out.filter(slice="all", error_class="correct").row(0)[3:] == (2, 2 / 3)
    assert out.filter(slice="t", error_class="stale").row(0)[3:] == (1, 1.0)
    assert out.filter(slice="t", error_class="correct").row(0)[3:] == (0, 0.0)


def test_a_slice_without_a_classified_result_has_no_error_classes() -> None:
    none = pl.Series([None], dtype=pl.String)
    out = error_classes(none, grid(["a"]), ERROR_CLASSES)
    assert (out.height, out.columns) == (0, ["slice_by", "slice", "error_class", "n", "share"])


def test_item_means_of_many_samples_are_exactly_rounded() -> None:
    values = np.random.default_rng(5).random(9).tolist()
    row = row_of(values, samples_n=3)
    by_hand = [sum(map(_exact, values[n : n + 3])) / 3 for n in (0, 3, 6)]
    assert row["item_mean"] == pytest.approx(float(sum(by_hand) / 3), abs=1e-16)


def _exact(value: float) -> Any:
    from fractions import Fraction

    return Fraction(value)


def test_slices_may_come_in_pieces_of_items() -> None:
    items = pl.DataFrame({"item_id": ["a", "b", "c"], "cluster_id": [None] * 3})
    items = items.cast({"cluster_id": pl.String})
    whole = by_place(["a", "b", "c"], [("tag", "u", "a"), ("tag", "t", "b"), ("tag", "u", "c")])
    pieces = [whole.filter(pl.col("item") == item) for item in range(3)]
    at_once, in_pieces = (Grid.of(items, given, 1).slices for given in ([whole], pieces))
    assert list(at_once) == list(in_pieces) == [("tag", "t"), ("tag", "u")]
    assert {name: at.tolist() for name, at in in_pieces.items()} == {
        ("tag", "t"): [1],
        ("tag", "u"): [0, 2],
    }
