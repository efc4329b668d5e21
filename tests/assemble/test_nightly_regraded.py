"""Graded again by a judge that did not move: the run is still worse, or it was the judge."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import Bench, item, result

from crucible_batch.assemble.nightly import Night
from crucible_batch.assemble.nightly.config import NightlyConfig
from crucible_batch.assemble.nightly.regraded import still_worse
from crucible_batch.assemble.nightly.series import Compared
from crucible_batch.contracts.vocabulary import VERDICTS
from crucible_batch.watch.charts import Point
from crucible_batch.watch.night import Cell, Watched

CELL = Cell("accuracy")
DROP = Point(delta=-1.0, n_baseline_nights=20, verdict="drop", drop_limit=-0.2)
WATCHED = Watched(directions={"accuracy": True}, headline=("accuracy",), judged={"accuracy"})


def asked(folder: Path, *, candidate: dict[str, str], doubted: str = "judge@1") -> bool | None:
    """Whether the candidate is still worse, given the verdict of each judge on its answers."""
    bench = Bench(folder)
    bench.golden(*[item(f"q{n}", must=1) for n in range(3)])
    for run, said in (("base", dict.fromkeys(candidate, "supported")), ("new", candidate)):
        assert set(said.values()) <= set(VERDICTS)
        rows = [
            {
                **result(f"q{n}", "d1"),
                "verdicts": [
                    {"assertion_id": "a0", "verdict": word, "judge": judge}
                    for judge, word in said.items()
                ],
            }
            for n in range(3)
        ]
        bench.run(run, *rows)
        bench.score(run)
    config = NightlyConfig(golden_set="g", baseline="base")
    as_of = bench.store.workspace().now()
    night = Night(store=bench.store, config=config, folder=folder, as_of=as_of)
    tonight = Compared(as_of=as_of, baseline="base", candidate="new", rows={}, blocked={})
    return still_worse(night, tonight, {CELL: DROP}, WATCHED, {doubted})


def test_a_run_nobody_else_has_graded_leaves_it_open(tmp_path):
    assert asked(tmp_path, candidate={"judge@1": "missing"}) is None


def test_the_word_of_a_judge_that_moved_too_does_not_count(tmp_path):
    both = {"judge@1": "missing", "other@1": "missing"}
    assert asked(tmp_path, candidate=both, doubted="other@1") is None


@pytest.mark.slow
@pytest.mark.parametrize(("word", "still"), [("missing", True), ("supported", False)])
def test_another_judge_says_whether_it_is_still_worse(tmp_path, word, still):
    assert asked(tmp_path, candidate={"judge@1": "missing", "other@1": word}) is still
