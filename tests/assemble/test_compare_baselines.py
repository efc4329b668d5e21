"""Which run a baseline stands for, when scoring found that a run lost too much."""

from __future__ import annotations

import pytest
from bench import Bench, item, result

from crucible_batch.assemble.baselines import resolve_baseline
from crucible_batch.errors import UsageError


def latest(bench: Bench, candidate: str) -> str:
    snapshot = bench.store.workspace("default").snapshot()
    return resolve_baseline(snapshot, "latest-succeeded", golden_set="g", candidate=candidate)


def test_a_run_that_ended_well_and_lost_its_results_is_no_latest_succeeded(tmp_path):
    bench = Bench(tmp_path)
    bench.golden(item("q1", must=1), item("q2", must=1))
    bench.run("good", result("q1", verdict="supported"), result("q2", verdict="missing"))
    bench.run("torn", result("q1", error="down", answer=None), result("q2", verdict="missing"))
    assert latest(bench, "next") == "torn"  # nobody has looked yet
    bench.score("torn")
    assert latest(bench, "next") == "good"
    with pytest.raises(UsageError, match="can be the baseline of"):
        latest(bench, "good")
