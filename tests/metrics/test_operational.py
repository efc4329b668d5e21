from __future__ import annotations

import polars as pl
import pytest
from answer_run import AnswerRun

from crucible_batch.metrics.operational import nearest_rank


@pytest.mark.parametrize(("percent", "value"), [(5, 15), (30, 20), (40, 20), (50, 35), (100, 50)])
def test_a_percentile_is_the_nearest_rank(percent: int, value: float) -> None:
    assert nearest_rank(pl.Series([50.0, 15.0, 40.0, 20.0, 35.0]), percent) == value


def test_nothing_has_no_percentile() -> None:
    assert nearest_rank(pl.Series([], dtype=pl.Float64), 50) is None


def test_an_errored_result_has_no_latency() -> None:
    run = AnswerRun().item("q").item("z")
    run.result("q", latency_ms=100.0).result("z", latency_ms=9000.0, error="timeout")
    assert run.value("latency_ms", "z") == "errored"
    assert run.number("latency_p95") == 100.0


def test_an_unknown_cost_is_null_and_a_free_call_is_zero() -> None:
    run = AnswerRun().item("q").item("z").result("q", cost_usd=0.0, prompt_tokens=12).result("z")
    assert run.value("cost_usd", "q") == 0.0
    assert run.value("prompt_tokens", "q") == 12.0
    assert run.value("cost_usd", "z") == "not_reported"


def test_latency_counts_in_a_run_without_an_answer_stage() -> None:
    assert AnswerRun().item("q").result("q", answer=None, latency_ms=5.0).value("latency_ms") == 5.0
