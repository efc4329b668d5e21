"""The flow that judges tops up the pool of the newest run, and asks nothing twice."""

from __future__ import annotations

import pytest
from bench import Bench, item, result


@pytest.fixture
def bench(tmp_path) -> Bench:
    bench = Bench(tmp_path)
    bench.golden(item("q1", must=1))
    bench.run("monday", result("q1", "a"))
    bench.run("tuesday", result("q1", "b", "c"))
    return bench


def test_the_run_that_finished_last_is_judged_once(bench, prefect_home, capsys):
    from flows.judge_pool import judge_pool

    root = bench.store.root
    assert judge_pool.fn(root) == {"pool": 2, "judged": 2, "malformed": 0, "failed": 0}
    assert "2 in the pool" in capsys.readouterr().out
    graded = bench.store.table("qrels").collect()
    assert sorted(graded["doc_id"]) == ["b", "c"]
    assert set(graded["source"]) == {"llm"}
    assert judge_pool.fn(root)["judged"] == 0


def test_runs_are_named_and_the_budget_holds(bench, prefect_home):
    from flows.judge_pool import judge_pool

    done = judge_pool.fn(bench.store.root, runs=["monday", "tuesday"], max_calls=1)
    assert (done["pool"], done["judged"]) == (3, 1)
