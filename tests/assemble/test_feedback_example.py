"""The documented walk from a failure to a test, on the example that ships with the package."""

from __future__ import annotations

import json

import pytest
from bench import Bench, number

from crucible_batch.assemble.example import example_dir
from crucible_batch.assemble.feedback import (
    Corrected,
    correct_feedback,
    list_feedback,
    promote_feedback,
    promoted_status,
)
from crucible_batch.assemble.gate import run_gate
from crucible_batch.assemble.golden.sets import item_detail, the_set
from crucible_batch.assemble.load import load_golden, load_run

PLAIN = "lexical-plain"
GATE = """
[requirements]
same_golden_set = false
[[rules]]
id = "failures stay caught"
kind = "must_pass"
tag = "regression"
"""


def next_run(bench: Bench, run_id: str, item: dict, verdict: str) -> None:
    """Load the example's run again over the present version: the item's answers judged anew."""
    lines = (example_dir() / "runs" / "baseline.jsonl").read_text(encoding="utf-8").splitlines()
    header, *results = map(json.loads, lines)
    header["run"] |= {"run_id": run_id, "golden_set_hash": None}
    for row in results:
        if row["item_id"] == item["item_id"]:
            row["verdicts"] = [
                {"assertion_id": one["assertion_id"], "verdict": verdict, "context_supported": True}
                for one in item["assertions"]
            ]
            row["abstained"] = False
    load_run(bench.store, [bench.file(header, *results)])
    bench.score(run_id)


@pytest.mark.slow  # ten seconds
def test_the_whole_loop_on_the_example(tmp_path):
    bench = Bench(tmp_path)
    load_golden(bench.store, [example_dir() / "golden.jsonl"])
    load_run(bench.store, [example_dir() / "runs" / "baseline.jsonl"])
    old = bench.score(PLAIN)
    stored, numbers = bench.files(), old.read("run_metrics")
    snapshot = bench.store.workspace("default").snapshot()
    before = the_set(snapshot, None)
    failure = list_feedback(snapshot, error_class="retrieval_miss").row(0, named=True)

    said = Corrected(answer="It is said on the page about it.", doc_ids=("errors",))
    correct_feedback(bench.store, "default", failure["feedback_id"], said, author="ann")
    done = promote_feedback(bench.store, "default", failure["feedback_id"], author="ann")

    snapshot = bench.store.workspace("default").snapshot()
    assert the_set(snapshot, None).golden_set_hash == done.golden_set_hash
    assert done.golden_set_hash != before.golden_set_hash
    assert bench.files() == stored
    assert old.read("run_metrics").equals(numbers)

    item = item_detail(snapshot, done.golden_set_hash, done.item_id)
    config = bench.folder / "gate.toml"
    config.write_text(GATE)
    outcomes = {}
    for run_id, verdict in (("worse", "missing"), ("better", "supported")):
        next_run(bench, run_id, item, verdict)
        judged = run_gate(bench.store, "default", run_id, PLAIN, config)
        (rule,) = [one for one in judged.verdict.results if one.rule_id == "failures stay caught"]
        outcomes[run_id] = (rule.outcome, judged.exit_code)
    assert outcomes["worse"] == ("fail", 1)
    assert outcomes["better"][0] == "pass"
    assert number(bench.score("better"), "accuracy", "tag", "regression")["mean"] == 1.0
    workspace = bench.store.workspace("default")
    status = promoted_status(workspace, workspace.snapshot())
    assert dict(status.select("run_id", "state").iter_rows()) == {
        "better": "kept",
        "worse": "broken",
    }
