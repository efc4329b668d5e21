from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest

from crucible_batch.errors import ConflictError, ContractError, UnknownNameError, UsageError
from crucible_batch.store.fingerprint import text_sha256


@pytest.fixture
def loads(with_golden):
    return with_golden


def whole(number, **more):
    """A result with one row of every child table."""
    return {
        "item_id": f"q{number}",
        "answer": "It is so.",
        "retrievals": [{"doc_id": "d1", "chunk_id": "c1", "score": 2.5, "text": "Evidence."}],
        "citations": [{"doc_id": "d1"}],
        "claims": [{"claim_id": "1", "text": "So.", "grounded": True}],
        "concepts": [{"entity_id": "e", "place": "answer"}],
        "checks": [{"check_id": "json", "passed": True, "detail": {"b": 1, "a": [2]}}],
        "scores": [{"metric": "faithfulness", "value": 0.5}],
        **more,
    }


def test_every_table_of_a_line_is_stored(loads, counted):
    verdicts = [{"assertion_id": "must", "verdict": "supported"}]
    report = loads.run(loads.lines("r.jsonl", whole(1, verdicts=verdicts), whole(2)), run="r")
    assert counted(report, "results") == (2, 2, 0, 0)
    assert counted(report, "assertion_verdicts") == (1, 1, 0, 0)
    for table in ("retrievals", "answer_citations", "claims", "detected_concepts", "checks"):
        assert loads.rows(table, "run_id", "item_id") == [("r", "q1"), ("r", "q2")]
    assert loads.rows("checks", "detail") == ['{"a":[2],"b":1}'] * 2
    assert loads.rows("retrievals", "rank", "score")[0] == (1, 2.5)
    assert report.facts["run_id"] == "r"


def test_a_run_pins_the_current_hash_and_later_edits_do_not_move_it(loads, item, result):
    first = loads.run(loads.lines("r.jsonl", result(1)), run="r")
    loads.golden(loads.lines("g.jsonl", item(1, ground_truth="New.")))
    again = loads.run(loads.lines("r.jsonl", result(1)), run="r")
    assert not again.created
    assert loads.rows("runs", "golden_set_hash") == [first.facts["golden_set_hash"]]
    other = loads.run(loads.lines("r.jsonl", result(1)), run="other")
    assert other.facts["golden_set_hash"] != first.facts["golden_set_hash"]


def test_a_run_can_be_measured_against_an_old_hash(loads, item, result):
    old = loads.rows("golden_set_versions", "golden_set_hash")[0]
    changed = item(1, assertions=[{"assertion_id": "new", "level": "must", "text": "So."}])
    loads.golden(loads.lines("g.jsonl", changed, item(9)))
    line = {"run": {"run_id": "r", "golden_set_hash": old}}
    verdicts = [{"assertion_id": name, "verdict": "supported"} for name in ("must", "new")]
    report = loads.run(loads.lines("r.jsonl", line, result(1, verdicts=verdicts), result(9)))
    assert [reason.split(" (")[0] for reason in report.reasons] == [
        "results.item_id: unknown_item: q9",
        "assertion_verdicts.assertion_id: unknown_assertion: new",
    ]


def test_an_unknown_hash_is_a_contract_error_that_names_it(loads, result):
    line = {"run": {"run_id": "r", "golden_set_hash": "sha256:beef"}}
    with pytest.raises(ContractError, match="has the hash sha256:beef") as caught:
        loads.run(loads.lines("r.jsonl", line, result(1)))
    assert caught.value.exit_code == 4
    assert loads.rows("runs") == []


def test_a_hash_of_another_set_is_refused(loads, item, result):
    loads.golden(loads.lines("g.jsonl", item(50)), golden_set="else")
    of_default = (
        loads.rows("runs")
        or loads.store.table("golden_set_versions")
        .filter(pl.col("golden_set") == "default")
        .collect()["golden_set_hash"][0]
    )
    line = {"run": {"run_id": "r", "golden_set": "else", "golden_set_hash": of_default}}
    with pytest.raises(ContractError, match="not one of golden set 'else'"):
        loads.run(loads.lines("r.jsonl", line, result(1)))


def test_the_golden_set_must_be_clear(loads, item, result, new_loads):
    path = loads.lines("r.jsonl", result(1))
    with pytest.raises(UnknownNameError, match="golden set is called 'defualt'") as caught:
        loads.run(path, run="r", golden_set="defualt")
    assert "Did you mean default?" in str(caught.value)
    loads.golden(loads.lines("g.jsonl", item(50)), golden_set="else")
    with pytest.raises(UsageError, match="does not say which golden set"):
        loads.run(path, run="r")
    with pytest.raises(UsageError, match="crucible load golden"):
        new_loads("empty").run(path, run="r")


def test_results_of_unknown_items_are_quarantined_with_their_children(loads, result, counted):
    rows = [result(1), result(77, retrievals=[{"doc_id": "d"}], checks=[])]
    report = loads.run(loads.lines("r.jsonl", *rows), run="r")
    assert counted(report, "results") == (2, 1, 1, 0)
    assert counted(report, "retrievals") == (1, 0, 1, 0)
    assert "results.item_id: unknown_item: q77 (1 row, first at " in report.reasons[0]
    assert "r.jsonl row 2" in report.reasons[0]
    assert "parent_quarantined: q77 sample 0" in report.reasons[1]


def test_rows_without_a_result_are_orphans(loads, counted):
    results = loads.parquet("results.parquet", [{"item_id": "q1", "answer": "A."}])
    ranked = [{"item_id": f"q{n}", "rank": 1, "doc_id": "d"} for n in (1, 2)]
    report = loads.run(results, loads.parquet("retrievals.parquet", ranked), run="r")
    assert counted(report, "retrievals") == (2, 1, 1, 0)
    assert "no_result: q2 sample 0" in report.reasons[0]


def test_verdicts_may_follow_in_a_load_of_their_own(loads, result, counted):
    loads.run(loads.lines("r.jsonl", result(1)), run="r")
    verdict = {"run_id": "r", "item_id": "q1", "assertion_id": "must", "verdict": "partial"}
    path = loads.parquet("assertion_verdicts.parquet", [verdict])
    assert counted(loads.run(path), "assertion_verdicts") == (1, 1, 0, 0)
    assert loads.rows("run_events", "status") == ["succeeded"]
    changed = loads.parquet("assertion_verdicts.parquet", [verdict | {"verdict": "missing"}])
    with pytest.raises(ConflictError, match="'partial', the input says 'missing'"):
        loads.run(changed)


def test_verdicts_get_the_pinned_judge_else_unknown(loads, result):
    verdicts = [{"assertion_id": "must", "verdict": "supported"}]
    claims = [{"claim_id": "1", "correct": True}]
    judged = result(1, verdicts=verdicts, claims=claims)
    line = {"run": {"run_id": "pinned", "judge": {"judge": "gpt@v1", "temperature": 0}}}
    loads.run(loads.lines("a.jsonl", line, judged))
    loads.run(loads.lines("b.jsonl", judged), run="free")
    for table in ("assertion_verdicts", "claims"):
        assert loads.rows(table, "run_id", "judge") == [("free", "unknown"), ("pinned", "gpt@v1")]


def test_samples_default_to_what_is_seen_and_a_stated_number_bounds_them(loads, result):
    rows = [result(1, sample_index=0), result(1, sample_index=2)]
    loads.run(loads.lines("a.jsonl", *rows), run="a")
    assert loads.rows("runs", "samples_n") == [3]
    line = {"run": {"run_id": "b", "samples_n": 2}}
    report = loads.run(loads.lines("b.jsonl", line, *rows))
    assert "sample_out_of_range: 2" in report.reasons[0]
    assert loads.rows("runs", "samples_n") == [3, 2]


def test_retrieval_ran_unless_the_item_gives_contexts_or_the_row_says_so(loads, result):
    rows = [result(1), result(4), result(2, retrieval_ran=False)]
    loads.run(loads.lines("r.jsonl", *rows), run="r")
    assert loads.rows("results", "item_id", "retrieval_ran") == [
        ("q1", True),
        ("q2", False),
        ("q4", False),
    ]


@pytest.mark.parametrize(
    ("key", "flag"),
    [
        ("concepts", "concepts_detected"),
        ("citations", "citations_reported"),
        ("retrievals", "retrieval_reported"),
    ],
)
def test_an_empty_list_is_reported_and_a_missing_key_is_not(loads, result, key, flag):
    loads.run(loads.lines("a.jsonl", result(1)), run="a")
    loads.run(loads.lines("b.jsonl", result(1, **{key: []})), run="b")
    assert loads.rows("runs", "run_id", flag) == [("a", False), ("b", True)]


def test_a_header_gives_the_run_its_configurations_and_its_status(loads, result):
    header = {
        "run_id": "r",
        "top_k": 5,
        "label": "first",
        "started_at": "2026-01-01T00:00:00Z",
        "target": {"top_k": 5, "model": "m"},
        "judge": {"judge": "m@p"},
        "status": "failed",
        "reason": "quota",
        "occurred_at": "2026-01-01T01:00:00+01:00",
    }
    loads.run(loads.lines("r.jsonl", {"run": header}, result(1)))
    (run,) = loads.rows("runs")
    payloads = dict(loads.rows("config_snapshots", "snapshot_id", "payload"))
    assert run["target_snapshot_id"] == text_sha256('{"model":"m","top_k":5}')
    assert payloads[run["target_snapshot_id"]] == '{"model":"m","top_k":5}'
    assert payloads[run["judge_snapshot_id"]] == '{"judge":"m@p"}'
    assert (run["top_k"], run["label"]) == (5, "first")
    midnight = datetime(2026, 1, 1, tzinfo=UTC)
    assert run["started_at"] == midnight
    assert loads.rows("run_events", "seq", "status", "reason", "occurred_at") == [
        (1, "failed", "quota", midnight)
    ]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"sample_n": 2}, "unknown key 'sample_n'; did you mean samples_n?"),
        ({"samples_n": "2"}, 'samples_n: not an integer in 1..10000: "2"'),
        ({"samples_n": 0}, "samples_n: not in 1..10000: 0"),
        ({"samples_n": 2**62}, "samples_n: not in 1..10000: 4611686018427387904"),
        ({"top_k": -1}, "top_k: below 1: -1"),
        ({"label": 7}, "label: not text: 7"),
        ({"status": "done"}, "status: not one of running, succeeded, failed, degraded: done"),
        ({"run_id": " "}, "run_id: blank"),
        ({"run_id": "a\nb"}, "run_id: control_character"),
        ({"golden_set_hash": 5}, "golden_set_hash: not text: 5"),
        ({"target": [1]}, "target: not an object"),
        ({"target": {"a": 1}, "target_snapshot_id": "x"}, "give one of them"),
        ({"judge": {"model": "m"}}, "does not say which judge it is"),
        ({"judge_snapshot_id": "none"}, "judge_snapshot_id: unknown configuration: none"),
        ({"started_at": "2026-01-01T00:00:00"}, "started_at: no time zone"),
        ({"occurred_at": "2026-01-01T00:00:00Z"}, "occurred_at: speaks of a status"),
        ({"reason": "quota"}, "reason: speaks of a status"),
    ],
)
def test_a_header_that_breaks_its_contract_is_refused(loads, result, header, said):
    path = loads.lines("r.jsonl", {"run": {"run_id": "r"} | header}, result(1))
    with pytest.raises(ContractError) as caught:
        loads.run(path)
    assert said in str(caught.value)
    assert loads.rows("runs") == []
    assert loads.rows("results") == []


def test_a_target_with_nan_is_refused(loads, result):
    path = loads.lines("r.jsonl", '{"run": {"run_id": "r", "target": {"t": NaN}}}', result(1))
    with pytest.raises(ContractError, match="target: not_json"):
        loads.run(path)


def test_the_command_may_not_contradict_the_input(loads, result):
    path = loads.lines("r.jsonl", {"run": {"run_id": "r", "golden_set": "default"}}, result(1))
    with pytest.raises(UsageError, match="two ways") as caught:
        loads.run(path, run="other")
    assert "run_id: the first line of" in str(caught.value)
    with pytest.raises(UsageError, match="golden_set"):
        loads.run(path, golden_set="else")
    with pytest.raises(UsageError, match="workspace_id"):
        loads.run(loads.lines("w.jsonl", {"run": {"run_id": "r", "workspace_id": "w"}}, result(1)))


def test_the_input_may_not_contradict_itself(loads, result):
    lines = loads.lines("r.jsonl", {"run": {"run_id": "r", "label": "a"}}, result(1))
    table = loads.parquet("runs.parquet", [{"run_id": "r", "label": "b"}])
    with pytest.raises(ContractError, match="two ways") as caught:
        loads.run(lines, table)
    assert "label: runs says 'b'" in str(caught.value)


def test_several_runs_in_one_input_are_refused_by_name(loads, result):
    path = loads.lines("r.jsonl", result(1, run_id="a"), result(2, run_id="b"))
    with pytest.raises(UsageError, match="holds 2 runs") as caught:
        loads.run(path)
    assert "- a\n  - b" in str(caught.value)
    with pytest.raises(ContractError, match="run_id is 'b'"):
        loads.run(path, run="a")
    with pytest.raises(UsageError, match="--run ID"):
        loads.run(loads.lines("r.jsonl", result(1)))
    table = loads.parquet("runs.parquet", [{"run_id": "a"}, {"run_id": "b"}])
    with pytest.raises(UsageError, match="several rows"):
        loads.run(table, loads.lines("r.jsonl", result(1, run_id="a")))


def test_the_tables_about_a_run_are_counted_row_by_row(loads, result, counted):
    payload = {"kind": "target", "payload": '{"b": 1, "a": 2}'}
    tables = [
        loads.parquet("config_snapshots.parquet", [payload, payload]),
        loads.parquet(
            "runs.parquet",
            [{"run_id": "r", "target_snapshot_id": text_sha256('{"a":2,"b":1}')}] * 2,
        ),
        loads.parquet(
            "run_events.parquet",
            [{"run_id": "r", "seq": n, "status": "running"} for n in (1, 2, 2)],
        ),
        loads.lines("r.jsonl", result(1)),
    ]
    report = loads.run(*tables, status="succeeded")
    assert counted(report, "config_snapshots") == (2, 1, 0, 1)
    assert counted(report, "runs") == (2, 1, 0, 1)
    assert counted(report, "run_events") == (3, 2, 0, 1)
    assert loads.rows("run_events", "status") == ["running", "running", "succeeded"]
    again = loads.run(*tables)
    assert not again.created
    assert counted(again, "run_events") == (3, 0, 0, 3)


def test_a_stored_event_may_not_change(loads, result):
    loads.run(loads.lines("r.jsonl", result(1)), run="r")
    other = [{"run_id": "r", "seq": 1, "status": "failed"}]
    with pytest.raises(ConflictError, match="status is 'succeeded', the input says 'failed'"):
        loads.run(loads.parquet("run_events.parquet", other))


def test_the_status_of_the_command_holds_from_now_on(loads, result):
    path = loads.lines("r.jsonl", result(1))
    for status in ("running", "failed", "running", "running", "succeeded"):
        loads.run(path, run="r", status=status)
    assert loads.rows("run_events", "seq", "status") == [
        (1, "running"),
        (2, "failed"),
        (3, "running"),
        (4, "succeeded"),
    ]
    with pytest.raises(UsageError, match="No status is called 'done'"):
        loads.run(path, run="r", status="done")


def test_a_status_that_the_input_records_is_recorded_once(loads, result):
    path = loads.lines("r.jsonl", {"run": {"run_id": "r", "status": "running"}}, result(1))
    loads.run(path)
    loads.run(path, status="succeeded")
    assert not loads.run(path).created
    assert loads.rows("run_events", "status") == ["running", "succeeded"]


def test_a_result_stored_with_another_answer_is_refused_by_key_column_and_values(loads, result):
    loads.run(loads.lines("r.jsonl", result(1), result(2)), run="r")
    with pytest.raises(ConflictError) as caught:
        loads.run(loads.lines("r.jsonl", result(1), result(2, answer="Else.")), run="r")
    said = "item_id 'q2', sample_index 0: answer is 'Answer 2.', the input says 'Else.'"
    assert said in str(caught.value)
    assert loads.rows("results", "answer") == ["Answer 1.", "Answer 2."]


def test_a_stored_run_with_rows_more_or_less_is_refused_with_the_way_out(loads, result):
    loads.run(loads.lines("r.jsonl", result(1), result(2)), run="r")
    with pytest.raises(ConflictError, match="1 only in the input, 1 only in the store") as caught:
        loads.run(loads.lines("r.jsonl", result(1), result(3)), run="r")
    assert "--part NAME" in str(caught.value)
    with pytest.raises(ConflictError, match="0 only in the input, 1 only in the store"):
        loads.run(loads.lines("r.jsonl", result(1)), run="r")


def test_a_frozen_run_may_not_change(loads, result):
    loads.run(loads.lines("r.jsonl", {"run": {"run_id": "r", "top_k": 5}}, result(1)))
    with pytest.raises(ConflictError, match="top_k is 5, the input says 6"):
        loads.run(loads.lines("r.jsonl", {"run": {"run_id": "r", "top_k": 6}}, result(1)))


def test_one_key_with_two_contents_puts_all_its_rows_aside(loads, result, counted):
    rows = [result(1), result(2), result(1, answer="Else."), result(2)]
    report = loads.run(loads.lines("r.jsonl", *rows), run="r")
    assert counted(report, "results") == (4, 1, 2, 1)
    assert "duplicate_key: r, q1, 0 (2 rows, first at" in report.reasons[0]


def test_keys_are_unique_over_all_files_of_a_load(loads, result, counted):
    a = loads.lines("a.jsonl", result(1, retrievals=[{"doc_id": "d"}]), result(2))
    b = loads.lines("b.jsonl", result(1, retrievals=[{"doc_id": "e"}]), result(3))
    report = loads.run(a, b, run="r")
    assert counted(report, "results") == (4, 2, 2, 0)
    assert counted(report, "retrievals") == (2, 0, 2, 0)
    assert loads.rows("results", "item_id") == ["q2", "q3"]


def test_rows_of_many_files_and_many_tables_all_arrive(loads, result, counted):
    paths = [loads.lines(f"{n}.jsonl", whole(n)) for n in (1, 2, 3, 4)]
    report = loads.run(*paths, run="r")
    for table in ("results", "retrievals", "checks", "external_scores", "claims"):
        assert counted(report, table) == (4, 4, 0, 0)
        assert loads.rows(table, "item_id") == ["q1", "q2", "q3", "q4"]


def test_a_load_without_one_good_result_is_refused(loads, result):
    path = loads.lines("r.jsonl", result(77), result(78))
    with pytest.raises(ContractError, match="2 of 2 rows") as caught:
        loads.run(path, run="r")
    assert "unknown_item: q77 (2 rows" in str(caught.value)
    orphan = loads.parquet("retrievals.parquet", [{"item_id": "q1", "rank": 1, "doc_id": "d"}])
    with pytest.raises(ContractError, match="no_result"):
        loads.run(orphan, run="r")
    assert loads.rows("runs") == []
    assert len(list(loads.store.root.glob("default/quarantine/*/results.parquet"))) == 1


def test_bad_check_details_are_quarantined_and_good_ones_made_canonical(loads, counted):
    rows = [
        {"item_id": "q1", "check_id": name, "detail": detail}
        for name, detail in {"a": '{"b": 1,"a":2}', "b": "{oops", "c": '{"x": NaN}'}.items()
    ]
    rows = [row | {"item_id": f"q{n}"} for n, row in enumerate(rows, start=1)]
    results = loads.parquet("results.parquet", [{"item_id": row["item_id"]} for row in rows])
    report = loads.run(results, loads.parquet("checks.parquet", rows), run="r")
    assert counted(report, "checks") == (3, 1, 2, 0)
    assert counted(report, "results") == (3, 1, 2, 0)
    assert any("checks.detail: not_json: {oops (2 rows" in line for line in report.reasons)
    assert loads.rows("checks", "detail") == ['{"a":2,"b":1}']


def test_plugin_metrics_are_declared_once(loads, result):
    declared = {"metric": "plugin.a.b", "title": "B", "unit": "1", "better": "higher"}
    path = loads.parquet("plugin_metrics.parquet", [declared])
    loads.run(loads.lines("r.jsonl", result(1)), path, run="r")
    changed = loads.parquet("plugin_metrics.parquet", [declared | {"better": "lower"}])
    with pytest.raises(ConflictError, match=r"metric 'plugin\.a\.b': better is 'higher'"):
        loads.run(loads.lines("r.jsonl", result(1)), changed, run="s")


def test_a_trec_run_is_loaded_under_its_tag(loads, counted):
    lines = ("q1 Q0 d2 1 0.5 bm25", "q1 Q0 d1 2 0.7 bm25", "q2 Q0 d1 1 nan bm25")
    report = loads.run(loads.lines("x.trec", *lines))
    assert report.facts["run_id"] == "bm25"
    assert counted(report, "results") == (1, 1, 0, 0)
    assert counted(report, "retrievals") == (3, 2, 1, 0)
    assert loads.rows("retrievals", "rank", "doc_id") == [(1, "d1"), (2, "d2")]


def test_a_reload_tells_the_same_facts_and_that_nothing_happened(loads, result):
    path = loads.lines("r.jsonl", result(1))
    first, again = (loads.run(path, run="r") for _ in range(2))
    assert again.facts == first.facts
    assert again.messages[:-1] == first.messages
    assert again.messages[-1] == f"already committed as c{first.commit:08d} (no-op)"


def test_a_dry_run_of_a_run_writes_nothing(loads, result, counted):
    before = sorted(loads.store.root.rglob("*"))
    report = loads.run(loads.lines("r.jsonl", result(1), result(77)), run="r", dry_run=True)
    assert counted(report, "results") == (2, 1, 1, 0)
    assert sorted(loads.store.root.rglob("*")) == before


def test_lone_surrogates_are_replaced_and_counted(loads, result):
    path = loads.lines("r.jsonl", json.dumps(result(1)).replace("Answer", "\\ud835"))
    report = loads.run(path, run="r")
    assert report.n_replaced_surrogates == 1
    assert loads.rows("commits")[-1]["n_replaced_surrogates"] == 1
    assert loads.rows("results", "answer") == ["\ufffd 1."]


def test_what_is_put_aside_beyond_memory_waits_on_disk(loads, result, monkeypatch):
    monkeypatch.setattr("crucible_batch.assemble.load.report.KEPT_ROWS", 1)
    paths = [
        loads.lines(f"{n}.jsonl", result(n), result(70 + n, retrievals=[{"doc_id": "d"}]))
        for n in (1, 2, 3)
    ]
    report = loads.run(*paths, run="r")
    aside = pl.concat([pl.read_parquet(path) for path in report.quarantine], how="diagonal")
    assert sorted(aside["item_id"]) == ["q71", "q71", "q72", "q72", "q73", "q73"]
    assert "unknown_item: q71 (3 rows, first at" in report.reasons[0]
