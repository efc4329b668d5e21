"""Every kind of bad input ends in words that name file, row and value, and in the right code."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.exceptions import PanicException

GOOD = {"item_id": "q1", "answer": "It is so."}


def run_of(file, *rows, **more):
    return "load", "run", file("run.jsonl", *rows), "--run", "r", *more.get("options", ())


def parquet(tmp_path, name, **columns):
    path = tmp_path / name
    pl.DataFrame(columns).write_parquet(path)
    return path


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"run_id": ["r"]}, "column 'item_id' is missing (golden item)"),
        ({"item_id": [7]}, "item_id"),
        ({"item_id": ["q1"], "confidence": ["high"]}, "confidence"),
        ({"item_id": ["q1"], "anwser": ["x"]}, "unknown column 'anwser'; did you mean answer?"),
    ],
)
def test_a_column_missing_unknown_or_of_another_type_refuses_the_file(
    golden, crucible, tmp_path, columns, said
):
    path = parquet(tmp_path, "results.parquet", **columns)
    done = crucible("load", "run", path, "--run", "r")
    assert done.code == 4
    assert said in done.err
    assert "results.parquet" in done.err
    assert "Fix: " in done.err


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"confidence": float("nan")}, "results.confidence: not finite: NaN"),
        ({"latency_ms": float("inf")}, "results.latency_ms: not finite: Infinity"),
        ({"confidence": 1.5}, "results.confidence: not in 0..1: 1.5"),
        ({"confidence": "0.8"}, 'results.confidence: not a number in 0..1: "0.8"'),
        ({"item_id": "ghost"}, "results.item_id: unknown_item: ghost"),
        ({"item_id": 7}, "results.item_id: not text: 7"),
        ({"sample_index": 1.5}, "results.sample_index: not an integer: 1.5"),
        ({"anwser": "x"}, "results.anwser: unknown key, did you mean answer?: x"),
        ({"answer": "x" * (2 << 20)}, f"results.answer: text_too_long: {'x' * 80}"),
        (
            {"verdicts": [{"assertion_id": "a", "verdict": "right"}]},
            "assertion_verdicts.verdict: not one of supported, partial, missing, contradicted, "
            "malformed: right",
        ),
        (
            {"verdicts": [{"assertion_id": "zz", "verdict": "partial"}]},
            "assertion_verdicts.assertion_id: unknown_assertion: zz",
        ),
        ({"scores": [{"metric": "ndcg_at_10", "value": 1}]}, "not_a_payload_or_plugin_name"),
        ({"retrievals": [{"rank": 0, "doc_id": "d"}]}, "retrievals.rank: below 1: 0"),
        ({"retrievals": ["d1"]}, "not an object"),
    ],
)
def test_a_bad_row_of_a_run_is_put_aside_with_its_reason_and_the_rest_is_loaded(
    golden, crucible, file, bad, reason
):
    rows = [GOOD, {**GOOD, "item_id": "q2", **bad}]
    done = crucible(*run_of(file, *rows, options=["--json"]))
    assert done.code == 0
    report = done.json
    assert any(reason in line for line in report["reasons"]), report["reasons"]
    assert any("run.jsonl row 2" in line for line in report["reasons"])
    for table in report["tables"]:
        parts = table["n_accepted"] + table["n_quarantined"] + table["n_already_there"]
        assert table["n_in"] == parts
    (path, *_) = report["quarantine"]
    row = pl.read_parquet(path).row(0, named=True)
    assert row["_source_row"] == 2
    assert row["_reasons"]
    assert row["_row"]


def test_nan_and_infinity_in_parquet_are_put_aside(golden, crucible, tmp_path):
    path = parquet(
        tmp_path,
        "results.parquet",
        item_id=["q1", "q2", "q2"],
        sample_index=[0, 0, 1],
        confidence=[0.5, float("nan"), float("-inf")],
    )
    done = crucible("load", "run", path, "--run", "r")
    assert done.code == 0
    assert "results.confidence: not finite: NaN (2 rows, first at" in done.out
    assert "results.parquet row 2)" in done.out


def test_the_same_key_with_two_contents_is_put_aside(golden, crucible, file):
    rows = [GOOD, {"item_id": "q2", "answer": "a"}, {"item_id": "q2", "answer": "b"}]
    done = crucible(*run_of(file, *rows))
    assert done.code == 0
    assert "duplicate_key: r, q2, 0 (2 rows, first at" in done.out


def test_a_lone_surrogate_is_replaced_and_told(golden, crucible, file):
    done = crucible(*run_of(file, {**GOOD, "answer": "\ud835"}))
    assert done.code == 0
    assert "1 lone surrogates were replaced by U+FFFD" in done.out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("run.jsonl", b"", "is empty"),
        ("run.jsonl", b"\n\n", "There are no rows"),
        ("run.jsonl", b"\xff\xfeq", "UTF-16"),
        ("run.jsonl.gz", b"\x1f\x8b\x08\x00cut", "cannot be read"),
        ("results.parquet", b"", "is empty"),
        ("results.parquet", b"PAR1 but not really", "not a Parquet file, or is cut off"),
        ("results.parquet", b"plain text", "not a Parquet file, or is cut off"),
    ],
)
def test_a_file_that_is_empty_or_damaged_is_refused_by_name(
    golden, crucible, file, name, content, said
):
    done = crucible("load", "run", file(name, content), "--run", "r")
    assert done.code == 4
    assert said in done.err
    assert name in done.err
    assert "Fix: " in done.err


def test_a_truncated_parquet_file_is_refused(golden, crucible, tmp_path):
    path = parquet(tmp_path, "results.parquet", item_id=["q1", "q2"])
    path.write_bytes(path.read_bytes()[:-20])
    done = crucible("load", "run", path, "--run", "r")
    assert done.code == 4
    assert "results.parquet is not a Parquet file, or is cut off" in done.err


def test_a_broken_line_is_one_bad_row(golden, crucible, file):
    path = file("run.jsonl", b'{"item_id": "q1"}\n{"item_id": oops}\n[1]\n')
    done = crucible("load", "run", path, "--run", "r")
    assert done.code == 0
    assert "line: not JSON" in done.out
    assert "line: not a JSON object" in done.out


def test_results_of_an_unknown_golden_set_hash_are_a_contract_error(golden, crucible, file):
    line = {"run": {"run_id": "r", "golden_set_hash": "sha256:beef"}}
    done = crucible("load", "run", file("run.jsonl", line, GOOD))
    assert done.code == 4
    assert "sha256:beef" in done.err


@pytest.mark.parametrize("verb", ["golden", "run"])
def test_two_workspaces_in_one_file_are_refused(golden, crucible, file, verb):
    rows = [
        {"item_id": "q1", "workspace_id": workspace, "question": "?", "answerable": True}
        if verb == "golden"
        else {"item_id": "q1", "workspace_id": workspace}
        for workspace in ("default", "other")
    ]
    path = file("two.jsonl", *rows)
    done = crucible("load", verb, path, *(["--run", "r"] if verb == "run" else []))
    assert done.code == 4
    assert "two.jsonl row 2: workspace_id is 'other'" in done.err
    assert "--workspace other" in done.err


def test_one_document_required_and_forbidden_is_refused(store, crucible, file):
    both = [{"doc_id": "d", "kind": "required"}, {"doc_id": "d", "kind": "forbidden"}]
    row = {"item_id": "q", "question": "?", "answerable": True, "citations": both}
    done = crucible("load", "golden", file("golden.jsonl", row))
    assert done.code == 4
    assert "golden_citations.kind: required_and_forbidden: d (2 rows, first at" in done.err
    assert "golden.jsonl row 1" in done.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"grade": 4}, "grade: not in 0..3: 4"),
        ({"grade": 2.5}, "grade: not an integer: 2.5"),
        ({"source": "robot"}, "source: not one of human, provenance, llm: robot"),
    ],
)
def test_a_bad_judgment_refuses_the_file_and_lenient_loads_the_rest(
    store, crucible, file, change, said
):
    good = {"query_id": "q", "doc_id": "d", "grade": 1, "source": "human"}
    path = file("qrels.jsonl", good, {**good, "query_id": "p", **change})
    done = crucible("load", "qrels", path)
    assert done.code == 4
    assert said in done.err
    assert "qrels.jsonl row 2" in done.err
    lenient = crucible("load", "qrels", path, "--lenient")
    assert lenient.code == 0
    assert said in lenient.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["load", "run", "none.jsonl", "--run", "r"], 2, "none.jsonl does not exist"),
        (["load", "run", "empty/", "--run", "r"], 2, "has no file to load"),
        (["load", "run", "GOOD"], 2, "--run ID"),
        (["load", "run", "GOOD", "--run", "r", "--golden-set", "fax"], 2, "Did you mean faq?"),
        (["load", "run", "GOOD", "--run", "r", "--status", "done"], 2, "No status"),
        (["load", "run", "GOOD", "--run", "r", "--format", "xml"], 2, "No format is called 'xml'"),
        (["load", "run", "GOOD", "--run", "r", "--workspace", "a/b"], 2, "a/b"),
        (["load", "run", "GOOD", "--runn", "r"], 2, "--run"),
        (["load", "runs", "GOOD"], 2, "runs"),
        (["load", "qrels", "GOOD", "--source", "me"], 2, "No source is called 'me'"),
        (["load", "corpus", "GOOD", "--observed-at", "noon"], 2, "'noon' is no time"),
        (["load", "corpus", "GOOD", "--observed-at", "2026-01-01T00:00:00"], 2, "no time zone"),
        (["load", "run", "GOOD", "--run", "r", "--root", "/nowhere"], 4, "There is no store"),
        (["schema", "result"], 2, "Did you mean results"),
        (["docs", "loadin"], 2, "Did you mean loading"),
        (["sql", "DROP TABLE results"], 2, ""),
        (["sql", "SELECT * FROM nothing"], 2, "nothing"),
        (["sql", "SELECT 1", "--workspace", "w"], 2, "No workspace is called 'w'"),
    ],
)
def test_wrong_commands_say_what_is_wrong(golden, crucible, file, words, code, said):
    good = str(file("good.jsonl", GOOD))
    (golden / "empty").mkdir()
    done = crucible(*[good if word == "GOOD" else word for word in words])
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_a_command_without_a_store_says_how_to_make_one(crucible, file):
    done = crucible("load", "golden", file("g.jsonl", {}))
    assert done.code == 2
    assert "crucible init DIR" in done.err


def test_settings_that_cannot_be_used_are_named_with_file_and_line(golden, crucible, file):
    (golden / "crucible.toml").write_text("[scoring]\nk = [5]\n")
    done = crucible(*run_of(file, GOOD))
    assert done.code == 2
    assert "crucible.toml" in done.err
    assert "line 2: unknown setting 'scoring.k'" in done.err


def test_an_internal_error_is_told_in_one_line(golden, crucible, monkeypatch):
    def broken(*_, **__):
        raise ValueError("boom")

    monkeypatch.setattr("crucible_batch.store.Store.sql", broken)
    done = crucible("sql", "SELECT 1")
    assert done.code == 70
    assert done.err.startswith("internal error: ValueError: boom\nFix: ")


def test_a_panic_of_the_engine_is_told_like_one_and_never_reads_as_a_regression(
    golden, crucible, monkeypatch
):
    def panicking(*_, **__):
        raise PanicException("capacity overflow")

    assert not issubclass(PanicException, Exception)
    monkeypatch.setattr("crucible_batch.store.Store.sql", panicking)
    done = crucible("sql", "SELECT 1")
    assert done.code == 70
    assert "internal error: PanicException: capacity overflow" in done.err
    assert "Traceback" not in done.err


def test_a_system_error_is_a_data_error_with_its_file(golden, crucible, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "/disk/file")

    monkeypatch.setattr("crucible_batch.store.Store.sql", full)
    done = crucible("sql", "SELECT 1")
    assert done.code == 4
    assert "No space left on device: /disk/file" in done.err


def test_an_interrupted_command_does_not_read_as_a_regression(golden, crucible, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("crucible_batch.store.Store.sql", stopped)
    assert crucible("sql", "SELECT 1").code == 130


def test_a_report_of_no_known_format_is_refused_before_any_work(golden, crucible):
    done = crucible("report", "nobody", "-o", "x.pdf")
    assert done.code == 2
    assert ".pdf" in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_device_ends_in_words_and_stays_a_device(golden, crucible, file):
    rows = [{"query_id": "q1", "doc_id": "d", "grade": 1, "source": "human", "judge": "me"}]
    assert crucible("load", "qrels", file("qrels.jsonl", *rows)).code == 0
    done = crucible("qrels", "export", "-o", "/dev/full")
    assert done.code == 4
    assert "/dev/full cannot be written: No space left on device" in done.err
    assert Path("/dev/full").is_char_device()
