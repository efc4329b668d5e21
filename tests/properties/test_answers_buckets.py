"""A result depends on its own rows only: how items are cut into buckets changes no bit."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import polars as pl
from answer_run import AnswerRun
from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import built, runs

from crucible_batch.metrics.answer_frames import answer_frame
from crucible_batch.metrics.facts import Golden, RunRows
from crucible_batch.metrics.results import RunCounts, run_counts


def bucket_of(tables: AnswerRun, ids: list[str]) -> pl.DataFrame:
    """The `answer` frame of some items, from their rows and the flags of the whole run."""

    def inside(holder: Golden | RunRows) -> dict[str, pl.DataFrame]:
        frames = {field.name: getattr(holder, field.name) for field in fields(holder)}
        overrides = {"overrides": frames.pop("overrides")} if "overrides" in frames else {}
        own = {name: frame.filter(pl.col("item_id").is_in(ids)) for name, frame in frames.items()}
        return own | overrides

    return answer_frame(
        Golden(**inside(tables.golden)),
        RunRows(**inside(tables.rows)),
        tables.run_flags,
        grades=tables.grades.filter(pl.col("item_id").is_in(ids)),
        contexts=tables.contexts.filter(pl.col("item_id").is_in(ids)),
        relevant_at=tables.relevant_at,
    )


@settings(max_examples=15, deadline=None)
@given(runs(), st.integers(0, 5))
def test_buckets_of_items_give_the_frame_of_the_whole_run(run: dict[str, Any], cut: int) -> None:
    tables = built(run)
    ids = sorted(run["items"])
    parts = [bucket_of(tables, part) for part in (ids[:cut], ids[cut:])]
    whole = tables.answers()
    assert pl.concat(parts).equals(whole)
    assert sum(map(run_counts, parts), RunCounts(0, 0, 0, 0, 0, 0)) == run_counts(whole)


def test_a_result_without_answer_counts_no_documents_beside_one_with_an_answer() -> None:
    run = AnswerRun().item("q1", required=["d"]).item("q2", required=["d"])
    run.result("q1", answer=None, retrieved=["d"]).result("q2", retrieved=["d"])
    parts = [bucket_of(run, [item]) for item in ("q1", "q2")]
    assert pl.concat(parts).equals(run.answers())
    assert run.answers()["required_retrieved"].to_list() == [0, 1]
