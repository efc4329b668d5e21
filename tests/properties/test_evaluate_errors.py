"""Through the store: what is lost of a run can never raise a score unseen."""

from __future__ import annotations

import itertools

import polars as pl
import pytest
from bench import Bench
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from whole_run import KEYS, assert_nothing_rose, measured, numbers, whole

LOSS_NUMBERS = itertools.count()
FLAGS = ("retrieval_reported", "citations_reported", "concepts_detected")


def errored(row: dict) -> dict:
    return {"item_id": row["item_id"], "sample_index": row["sample_index"], "error": "timeout"}


def malformed(row: dict) -> dict:
    verdicts = [verdict | {"verdict": "malformed"} for verdict in row["verdicts"]]
    return row | {"verdicts": verdicts}


LOSSES = {"errored": errored, "malformed": malformed, "missing": lambda _: None}
losses = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(sorted(LOSSES)), min_size=1)


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    return measured(Bench(tmp_path_factory.mktemp("errors")))


@pytest.mark.slow  # ten seconds
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(lost=losses)
def test_lost_results_lower_coverage_and_never_hide_the_old_mean(bench, lost):
    run_id = f"lost-{next(LOSS_NUMBERS)}"
    results = [LOSSES[lost[key]](whole(*key)) if key in lost else whole(*key) for key in KEYS]
    present = [row for row in results if row is not None]
    if not present:
        return  # such a run cannot be loaded
    reported = dict.fromkeys(FLAGS, True)
    bench.run(run_id, *present, samples_n=2, **reported)
    old, old_scores = numbers(bench, "whole")
    new, new_scores = numbers(bench, run_id)

    on = ["item_id", "sample_index", "metric"]
    gone = pl.DataFrame(list(lost), schema=["item_id", "sample_index"], orient="row")
    untouched = [
        scores.join(gone, on=["item_id", "sample_index"], how="anti").sort(on)
        .select(*on, "value", "null_reason")
        for scores in (old_scores, new_scores)
    ]  # fmt: skip
    assert untouched[0].equals(untouched[1])

    was, now = old_scores.sort(on)["value"], new_scores.sort(on)["value"]
    removed = set(old_scores.sort(on)["metric"].filter(was.is_not_null() & now.is_null()))
    assert removed or set(lost.values()) == {"malformed"}
    assert_nothing_rose(old, new)
    for metric in removed & old.keys():
        assert new[metric]["coverage"] < old[metric]["coverage"], metric


def test_a_run_that_lost_one_result_in_twelve_is_degraded(bench):
    bench.run("one lost", *[whole(*key) for key in KEYS[1:]], samples_n=2)
    assert bench.score("one lost").row["status"] == "degraded"
    assert bench.score("whole").row["status"] == "succeeded"
