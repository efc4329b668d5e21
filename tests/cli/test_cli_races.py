"""Two commands at once: real processes, one store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from crucible_batch.cli import main; main()"]


def at_once(*commands: list[str]) -> list[tuple[int, str, str]]:
    """Start every command at the same moment and wait for all."""
    waiting = [
        subprocess.Popen(
            [
                *COMMAND[:2],
                "import sys, crucible_batch.assemble.load, crucible_batch.contracts.validate\n"
                "sys.stdin.readline()\n"
                "from crucible_batch.cli import main\nmain()",
                *words,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in commands
    ]
    for process in waiting:
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [(process, *process.communicate()) for process in waiting]
    return [(process.returncode, out, err) for process, out, err in ended]


def load(store: Path, verb: str, path: Path, *options: str) -> list[str]:
    return ["load", verb, str(path), *options, "--root", str(store), "--json"]


def count(crucible, table: str) -> int:
    return crucible("sql", f"SELECT count(*) AS n FROM {table}", "--json").json["n"]


def test_the_same_golden_file_twice_at_once_is_one_commit_and_one_no_op(store, crucible, file):
    rows = [{"item_id": f"q{n}", "question": "Who?", "answerable": True} for n in range(50)]
    command = load(store, "golden", file("golden.jsonl", *rows))
    ended = at_once(command, command)
    assert [code for code, _, _ in ended] == [0, 0]
    reports = [json.loads(out) for _, out, _ in ended]
    assert sorted(report["created"] for report in reports) == [False, True]
    assert len({report["golden_set_hash"] for report in reports}) == 1
    assert count(crucible, "golden_items") == 50
    for report in reports:
        (table,) = report["tables"]
        assert table["n_accepted"] + table["n_already_there"] == table["n_in"] == 50


def test_the_same_run_twice_at_once_is_one_commit_and_one_no_op(golden, crucible, file):
    rows = [{"item_id": f"q{n}", "answer": "So.", "retrievals": [{"doc_id": "d"}]} for n in (1, 2)]
    command = load(golden, "run", file("run.jsonl", *rows), "--run", "r")
    ended = at_once(command, command)
    assert [code for code, _, _ in ended] == [0, 0]
    assert sorted(json.loads(out)["created"] for _, out, _ in ended) == [False, True]
    assert count(crucible, "results") == 2
    assert count(crucible, "run_events") == 1


def test_two_answers_for_one_run_at_once_are_one_commit_and_one_clear_message(
    golden, crucible, file
):
    commands = [
        load(golden, "run", file(f"{n}.jsonl", {"item_id": "q1", "answer": n}), "--run", "r")
        for n in "ab"
    ]
    ended = at_once(*commands)
    assert sorted(code for code, _, _ in ended) == [0, 4]
    (err,) = [err for code, _, err in ended if code == 4]
    assert "results is already stored with other content" in err
    assert "item_id 'q1', sample_index 0: answer is" in err
    assert "Traceback" not in err
    assert count(crucible, "results") == 1


def test_parts_of_one_run_at_once_all_arrive(golden, crucible, file):
    commands = [
        load(
            golden,
            "run",
            file(f"{n}.jsonl", {"item_id": f"q{n}", "answer": "So."}),
            *("--run", "r", "--part", str(n)),
        )
        for n in (1, 2)
    ]
    assert [code for code, _, _ in at_once(*commands)] == [0, 0]
    assert count(crucible, "results") == 2
    assert count(crucible, "runs") == 1


@pytest.mark.slow
def test_judgments_at_once_from_many_processes_are_one_row_and_one_event_each(
    store, crucible, file
):
    commands = []
    for start in (0, 20, 40, 60):
        rows = [
            {"query_id": f"q{n}", "doc_id": "d", "grade": n % 4, "source": "human"}
            for n in range(start, start + 40)
        ]
        commands.append(load(store, "qrels", file(f"{start}.jsonl", *rows)))
    ended = at_once(*commands)
    assert [code for code, _, _ in ended] == [0] * 4
    accepted = [json.loads(out)["tables"][0]["n_accepted"] for _, out, _ in ended]
    assert sum(accepted) == count(crucible, "qrels") == count(crucible, "audit_log") == 100


CHURN = """\
[staleness]
max_document_age = "never"
[[thresholds]]
id = "churn"
metric = "doc_churn_ratio"
warn = {op = ">", value = 0.10}
[[thresholds]]
id = "lost"
metric = "doc_count_change"
warn = {op = "<", value = -0.10}
"""


@pytest.fixture
def corpus(store, crucible, file) -> Path:
    """A corpus that lost half of its documents, and rules that say so."""
    for number, names in ((1, "abcd"), (2, "ab")):
        rows = [{"doc_id": n, "content_hash": n, "hash_version": "v"} for n in names]
        seen = ("--observed-at", f"2026-04-0{number}T00:00:00Z")
        words = load(store, "corpus", file(f"documents-{number}.jsonl", *rows))
        assert crucible(*words, "--corpus-version", f"v{number}", *seen).code == 0
    (store / "default" / "settings.toml").write_text(CHURN)
    return store


def scan(store: Path, night: int) -> list[str]:
    return ["drift", "scan", "--as-of", f"2026-05-0{night}", "--root", str(store), "--json"]


def open_alerts(crucible) -> list[str]:
    lines = crucible("alerts", "list", "--json").out.splitlines()
    return sorted(json.loads(line)["rule_id"] for line in lines)


@pytest.mark.slow  # two processes that scan
def test_the_same_scan_twice_at_once_is_one_commit_and_one_no_op(corpus, crucible):
    ended = at_once(scan(corpus, 1), scan(corpus, 1))
    assert [code for code, _, _ in ended] == [0, 0]
    assert sorted(json.loads(out)["created"] for _, out, _ in ended) == [False, True]
    assert open_alerts(crucible) == ["churn", "lost"]
    n_commits = count(crucible, "commits")
    assert crucible(*scan(corpus, 1)).json["created"] is False
    assert count(crucible, "commits") == n_commits


@pytest.mark.slow  # two processes that scan
def test_scans_of_two_times_at_once_open_one_alert_per_condition(corpus, crucible):
    ended = at_once(scan(corpus, 1), scan(corpus, 2))
    assert [code for code, _, _ in ended] == [0, 0]
    assert all(json.loads(out)["created"] for _, out, _ in ended)
    assert open_alerts(crucible) == ["churn", "lost"]
    assert count(crucible, "alert_events") == 2
