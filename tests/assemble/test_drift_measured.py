"""What a scan measures, and the verdicts that follow from what is stored."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from drift_scans import DAY, MAY, append, corpus, reasons, rules, two_versions, verdicts

from crucible_batch.assemble.baselines import pin_baseline
from crucible_batch.assemble.drift import (
    explained,
    scan_drift,
)
from crucible_batch.assemble.evaluate import evaluate_run
from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import MartFile

# --- what is measured


def test_ages_over_partial_versions_and_skewed_clocks(watched):
    rules(watched, 'thresholds = []\n[staleness]\nmax_snapshot_age = "7d"\nclock_skew = "1h"\n')
    corpus(watched, "v1", "a", seen=MAY - 30 * DAY)
    first = scan_drift(watched.store, "default", as_of=MAY - 29 * DAY)
    assert reasons(first) == {"document_age": None, "snapshot_age": "first_scan"}
    corpus(watched, "half", "a", seen=MAY - 2 * DAY, partial=True)
    rows = [{"doc_id": "a", "content_hash": "h", "hash_version": "v",
             "source_updated_at": MAY + timedelta(minutes=59)}]  # fmt: skip
    watched.corpus(
        watched.parquet("documents.parquet", rows), corpus_version="v2", observed_at=MAY - DAY
    )
    scan = scan_drift(watched.store, "default", as_of=MAY)
    values = dict(scan.evaluations.select("rule_id", "value").iter_rows())
    assert values == {"document_age": 0.0, "snapshot_age": 30 * 86_400}
    assert verdicts(scan) == {"document_age": "ok", "snapshot_age": "breach"}


def test_a_rule_by_type_has_one_evaluation_for_each_type_ever_seen(watched):
    rules(
        watched,
        '[staleness]\nmax_document_age = "never"\n[[thresholds]]\nid = "lost"\n'
        'metric = "type_vanished"\nby = "entity_type"\nwarn = {op = ">=", value = 1, clear = 0}\n',
    )
    two_versions(watched, before={"law": 12, "city": 3}, now={"city": 3})
    scan = scan_drift(watched.store, "default", as_of=MAY)
    found = dict(scan.evaluations.select("labels", "verdict").iter_rows())
    assert found == {'{"entity_type":"city"}': "ok", '{"entity_type":"law"}': "breach"}
    scan_drift(watched.store, "default", as_of=MAY - DAY, corpus_version="v1")
    corpus(watched, "v3", "abc", seen=MAY, types={"city": 3})
    later = scan_drift(watched.store, "default", as_of=MAY + DAY)
    found = dict(later.evaluations.select("labels", "verdict").iter_rows())
    assert found == {'{"entity_type":"city"}': "ok", '{"entity_type":"law"}': "ok"}


POLICY = """\
thresholds = [
  {id = "all", metric = "distribution", of = "policy_verdict", distance = "tvd", warn = {op = ">", value = 0.1}},
  {id = "each", metric = "distribution", of = "policy_verdict", distance = "tvd", by = "surface", warn = {op = ">", value = 0.1}},
]
[staleness]
max_document_age = "never"
"""  # noqa: E501


def decisions(n_answer, n_refuse, *, days, surface="chat"):
    kinds = ["answer"] * n_answer + ["refuse"] * n_refuse
    return [
        {"decision_id": f"{surface}{days}-{n}", "surface": surface, "question": "Why?",
         "verdict": verdict, "confidence": 0.5, "created_at": MAY + days * DAY}
        for n, verdict in enumerate(kinds)
    ]  # fmt: skip


def test_verdicts_of_a_policy_against_the_days_before_its_window(watched):
    rules(watched, POLICY)
    corpus(watched, "v1", "a", seen=MAY - DAY)
    silent = scan_drift(watched.store, "default", as_of=MAY - timedelta(hours=1))
    assert reasons(silent) == {"all": "no_decisions", "each": "no_decisions"}
    append(
        watched, "policy_decisions",
        *decisions(90, 10, days=-20), *decisions(40, 60, days=-2),
        *decisions(20, 2, days=-20, surface="mail"), *decisions(1, 2, days=-1, surface="mail"),
        *decisions(500, 0, days=-40), *decisions(500, 0, days=1),
    )  # fmt: skip
    scan = scan_drift(watched.store, "default", as_of=MAY)
    rows = {(r["rule_id"], r["labels"]): r for r in scan.evaluations.to_dicts()}
    every = rows["all", "{}"]
    assert (every["statistic"], every["verdict"]) == ("tvd:policy_verdict", "breach")
    assert (every["n_reference"], every["n_current"]) == (122, 103)
    assert every["value"] > every["critical"] > 0.1
    chat = rows["each", '{"surface":"chat"}']
    assert (chat["value"], chat["n_reference"], chat["n_current"]) == (0.5, 100, 100)
    mail = rows["each", '{"surface":"mail"}']
    assert (mail["verdict"], mail["reason"]) == ("unknown", "insufficient_support")
    (stats,) = watched.store.root.glob("default/marts/policy_stats/[!_]*.parquet")
    shares = pl.read_parquet(stats).select("surface", "verdict", "n", "share").rows()
    assert shares[:2] == [("chat", "answer", 40, 0.4), ("chat", "refuse", 60, 0.6)]
    content = stats.read_bytes()
    stats.unlink()
    assert not scan_drift(watched.store, "default", as_of=MAY).created
    assert stats.read_bytes() == content


RUNS = """\
thresholds = [
  {id = "abstained", metric = "distribution", of = "abstained", distance = "psi", warn = {op = ">", value = 0.1}},
  {id = "class", metric = "distribution", of = "error_class", distance = "js", warn = {op = ">", value = 0.1}},
  {id = "sure", metric = "distribution", of = "confidence", distance = "js", warn = {op = ">", value = 0.1}},
]
[staleness]
max_document_age = "never"
"""  # noqa: E501


def answers(loads, run, confidences, n_abstained, *, days):
    ended = (MAY + days * DAY).isoformat()
    stated = {"run_id": run, "golden_set": "g", "samples_n": len(confidences)}
    head = {"run": stated | {"status": "succeeded", "occurred_at": ended}}
    lines = [
        {"item_id": "q1", "sample_index": n, "answer": "So.", "abstained": n < n_abstained,
         "confidence": confidence}
        for n, confidence in enumerate(confidences)
    ]  # fmt: skip
    loads.run(loads.lines(f"{run}.jsonl", head, *lines))


@pytest.fixture
def with_runs(watched, item):
    watched.golden(watched.lines("golden.jsonl", item(1)), golden_set="g")
    rules(watched, RUNS)
    corpus(watched, "v1", "a", seen=MAY - DAY)
    answers(watched, "pinned", [n / 100 for n in range(100)], 10, days=-9)
    return watched


def test_answers_are_held_against_the_only_pinned_baseline(with_runs):
    loads = with_runs
    assert set(reasons(scan_drift(loads.store, "default", as_of=MAY)).values()) == {
        "no_pinned_baseline"
    }
    pin_baseline(loads.store, "default", "release", "pinned", reason="r", author="a")
    assert set(reasons(scan_drift(loads.store, "default", as_of=MAY + DAY)).values()) == {
        "no_run_to_compare"
    }
    answers(loads, "new", [0.9 + n / 1_000 for n in range(100)], 60, days=1.5)
    answers(loads, "late", [0.1] * 100, 0, days=9)
    scan = scan_drift(loads.store, "default", as_of=MAY + 2 * DAY)
    rows = {r["rule_id"]: r for r in scan.evaluations.to_dicts()}
    assert {name: r["verdict"] for name, r in rows.items()} == {
        "abstained": "breach", "sure": "breach", "class": "unknown",
    }  # fmt: skip
    assert rows["class"]["reason"] == "not_scored"
    assert (rows["abstained"]["n_reference"], rows["abstained"]["n_current"]) == (100, 100)
    said = {row[1]: row for row in explained(scan)}
    assert said["sure"][5].endswith(" (noise; configured > 0.1)")
    assert said["sure"][6:] == ("100 → 100", "breach warn")


def test_error_classes_are_compared_once_both_runs_are_scored(with_runs):
    loads = with_runs
    pin_baseline(loads.store, "default", "release", "pinned", reason="r", author="a")
    answers(loads, "new", [0.5] * 100, 60, days=-1)
    for run in ("pinned", "new"):
        evaluate_run(loads.store, "default", run)
    scan = scan_drift(loads.store, "default", as_of=MAY)
    (row,) = scan.evaluations.filter(rule_id="class").to_dicts()
    classified = {
        run: loads.store.table("result_metrics").filter(run_id=run).select("error_class")
        .drop_nulls().collect().height
        for run in ("pinned", "new")
    }  # fmt: skip
    assert (row["n_reference"], row["n_current"]) == (classified["pinned"], classified["new"])
    assert min(classified.values()) > 0, classified


def test_a_baseline_that_is_not_there_or_moves_is_refused(with_runs):
    rules(with_runs, RUNS + '[drift]\nbaseline = "pinned:nobody"\n')
    with pytest.raises(UnknownNameError, match="No baseline is called 'nobody'") as caught:
        scan_drift(with_runs.store, "default", as_of=MAY)
    assert caught.value.fix.startswith("drift.baseline in the settings names it.")
    rules(with_runs, RUNS + '[drift]\nbaseline = "latest-succeeded"\n')
    with pytest.raises(UsageError, match="another run every night"):
        scan_drift(with_runs.store, "default", as_of=MAY)


OTHERS = """\
thresholds = [
  {id = "dead", metric = "webhook_dead", warn = {op = ">", value = 0}},
  {id = "flip", metric = "judge_flip", critical = {op = "<=", value = 0.001}},
  {id = "e", metric = "judge_e", critical = {op = ">=", value = 100}},
  {id = "model", metric = "judge_model_changed", warn = {op = ">", value = 0}},
]
[staleness]
max_document_age = "never"
"""


def test_judges_and_webhooks_are_watched_too(watched):
    rules(watched, OTHERS)
    corpus(watched, "v1", "a", seen=MAY - DAY)
    none = scan_drift(watched.store, "default", as_of=MAY)
    assert verdicts(none) == {"e": "unknown", "flip": "unknown", "model": "unknown"}
    assert set(reasons(none).values()) == {"not_measured"}
    append(
        watched, "anchor_verdicts",
        *({"anchor_id": "a", "judge": "m@1", "as_of": MAY + n * DAY, "repeat": 0,
           "judge_model": model} for n, model in enumerate(["m-1", "m-1", "m-2"])),
    )  # fmt: skip
    append(watched, "deliveries",
           {"event_id": "e", "endpoint": "ops", "due_at": MAY, "created_at": MAY})  # fmt: skip
    append(watched, "delivery_attempts",
           {"event_id": "e", "endpoint": "ops", "n": 1, "started_at": MAY, "outcome": "dead"})  # fmt: skip  # noqa: E501
    for night, verdict in ((1, "ok"), (2, "breach")):
        scan = scan_drift(watched.store, "default", as_of=MAY + night * DAY)
        labels = dict(scan.evaluations.select("rule_id", "labels").iter_rows())
        assert (verdicts(scan)["model"], verdicts(scan)["dead"]) == (verdict, "breach")
        assert (labels["model"], labels["dead"]) == ('{"judge":"m@1"}', '{"endpoint":"ops"}')


def test_the_latest_night_of_the_anchors_is_held_against_its_limits(watched):
    rules(watched, OTHERS)
    corpus(watched, "v1", "a", seen=MAY - DAY)
    table = TABLES["judge_drift"]
    nights = [
        {"as_of": MAY - 2 * DAY, "p_flip": 0.5, "e_value": 1.0},
        {"as_of": MAY - DAY, "p_flip": 0.0005, "e_value": 99.0},
        {"as_of": MAY + DAY, "p_flip": 1.0, "e_value": 500.0},
    ]
    same = {"workspace_id": "default", "judge": "m@1", "n_anchors": 30, "n_failed": 1,
            "n_flips": 6, "f0": 0.02, "alarm": True, "attribution": "judge"}  # fmt: skip
    frame = pl.DataFrame([same | night for night in nights], schema=table.schema)
    workspace = watched.store.workspace("default")
    workspace.publish_marts(
        workspace.stage_marts([MartFile(table="judge_drift", name="night", rows=frame)])
    )
    scan = scan_drift(watched.store, "default", as_of=MAY)
    rows = {r["rule_id"]: r for r in scan.evaluations.to_dicts()}
    assert (rows["flip"]["verdict"], rows["flip"]["severity"]) == ("breach", "critical")
    assert (rows["flip"]["value"], rows["flip"]["operator"]) == (0.0005, "<=")
    assert (rows["e"]["verdict"], rows["e"]["value"]) == ("ok", 99.0)
    assert rows["e"]["labels"] == '{"judge":"m@1"}'
