"""Errors can never raise a score unseen."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import polars as pl
from answer_run import RESULT_METRICS, AnswerRun
from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import built, runs

from crucible_batch.metrics.aggregate import Interval, aggregate
from crucible_batch.metrics.grid import Grid

FAULTS = ("errored", "no_result", "malformed")
RANGED = [m for m in RESULT_METRICS if m.low is not None and m.high is not None]


def spoil(run: dict[str, Any], faults: dict[tuple[str, int], str]) -> dict[str, Any]:
    """The same run, in which some results errored, are gone, or were judged unreadably."""
    spoilt = deepcopy(run)
    for key, fault in faults.items():
        result = spoilt["results"][key]
        if result is None:
            continue
        if fault == "errored":
            result["error"] = "boom"
        elif fault == "no_result":
            spoilt["results"][key] = None
        else:
            result["verdicts"] = dict.fromkeys(result["verdicts"], "malformed")
    return spoilt


def means(tables: AnswerRun, scores: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The overall row of every metric with a range."""
    items = tables.golden.items
    everything = items.select(
        slice_by=pl.lit("all"), slice=pl.lit("all"), item=pl.int_range(pl.len())
    )
    out = aggregate(
        scores,
        RANGED,
        Grid.of(items, [everything], tables.flags["samples_n"]),
        interval=lambda *_: Interval(),
        label=str,
    )
    return {row["metric"]: row for row in out.iter_rows(named=True)}


@st.composite
def spoilt_runs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[tuple[str, int], str]]:
    run = draw(runs())
    faults = draw(st.dictionaries(st.sampled_from(sorted(run["results"])), st.sampled_from(FAULTS)))
    return run, faults


def keep_whole_run_facts(run: dict[str, Any]) -> None:
    """Add a result that nobody spoils and that reports everything, so that only results change."""
    run["items"]["witness"] = {
        "answerable": True,
        "question_type": None,
        **{name: [] for name in ("must", "should", "required", "forbidden")},
        **{name: {} for name in ("anchors", "concepts", "grades")},
    }
    payloads = {"faithfulness": 1.0, "context_recall": 1.0, "context_precision": 1.0}
    run["results"] |= {
        ("witness", sample): {
            "claims": [(True, True)],
            "detected": [("e1", "answer"), ("e1", "evidence")],
            "payloads": payloads,
        }
        for sample in range(run["samples_n"])
    }


@settings(max_examples=25, deadline=None)
@given(spoilt_runs())
def test_errors_can_never_raise_a_score_unseen(
    drawn: tuple[dict[str, Any], dict[tuple[str, int], str]],
) -> None:
    run, faults = drawn
    keep_whole_run_facts(run)
    before, after = built(run), built(spoil(run, faults))
    scores, scores_after = before.scores(), after.scores()
    key = ["item_id", "sample_index", "metric"]
    both = scores.join(scores_after, on=key, how="inner", suffix="_after")
    spoilt = pl.struct("item_id", "sample_index").is_in(
        [{"item_id": item, "sample_index": sample} for item, sample in faults]
    )
    untouched = both.filter(~spoilt)
    assert untouched["value"].equals(untouched["value_after"])
    removed = set(
        both.filter(pl.col("value").is_not_null() & pl.col("value_after").is_null())["metric"]
    )
    old, new = means(before, scores), means(after, scores_after)
    for name, row in old.items():
        found = new[name]
        if row["coverage"] is None or found["coverage"] is None:
            # Nothing applied before and nothing was carried: a fault made something missing.
            assert row["mean"] is None or found["coverage"] == 0.0
            continue
        assert found["coverage"] <= row["coverage"], name
        assert name not in removed or found["coverage"] < row["coverage"], name
        if row["mean"] is not None:
            low, high = sorted((found["worst_case"], found["best_case"]))
            slack = 1e-12  # the old and the new mean are rounded once each
            assert low - slack <= row["mean"] <= high + slack, name


@settings(max_examples=5, deadline=None)
@given(runs())
def test_a_run_that_only_errors_carries_nothing(run: dict[str, Any]) -> None:
    scores = built(spoil(run, dict.fromkeys(run["results"], "errored"))).scores()
    assert scores["value"].null_count() == scores.height
