"""`crucible gate` and `crucible baseline` as a shell and a CI server see them."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from crucible_batch.assemble.compare import compare_runs
from crucible_batch.assemble.load import load_golden, load_run
from crucible_batch.store import Store

N = 30
RULES = """
[[rules]]
id = "answers"
kind = "regression"
metric = "accuracy"
"""
SOFT = RULES + 'severity = "warn"\n' + '[[rules]]\nid = "alerts"\nkind = "no_open_alert"\n'


def run_lines(run: str, n_right: int) -> list[dict]:
    rows = [
        {
            "item_id": f"q{n}",
            "answer": "So.",
            "verdicts": [
                {"assertion_id": "a", "verdict": "supported" if n < n_right else "missing"}
            ],
        }
        for n in range(N)
    ]
    return [{"run": {"run_id": run, "golden_set": "faq", "judge": {"judge": "j@1"}}}, *rows]


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> Path:
    """A store with `good` (27 of 30 right), `same` and `bad` (12 of 30), scored and compared."""
    folder = tmp_path_factory.mktemp("gate")
    items = [
        {
            "item_id": f"q{n}",
            "question": f"Question {n}?",
            "answerable": True,
            "assertions": [{"assertion_id": "a", "level": "must", "text": "So."}],
        }
        for n in range(N)
    ]

    def written(name: str, rows: list[dict]) -> Path:
        path = folder / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    store = Store.create(folder / "store")
    (store.root / "crucible.toml").write_text("[statistics]\nn_resamples = 1000\n")
    load_golden(store, [written("g.jsonl", items)], golden_set="faq")
    for run, n_right in (("good", 27), ("same", 27), ("bad", 12)):
        load_run(store, [written(f"{run}.jsonl", run_lines(run, n_right))])
    for candidate in ("same", "bad"):
        compare_runs(store, "default", "good", candidate)
    return store.root


@pytest.fixture
def runs(compared, crucible, tmp_path, monkeypatch) -> Path:
    """That store, and a gate.toml in it; commands find it because it is the current folder."""
    root = tmp_path / "store"
    shutil.copytree(compared, root)
    monkeypatch.chdir(root)
    (root / "gate.toml").write_text(RULES)
    return root


def test_exit_code_text_and_files_say_the_same(runs, crucible, tmp_path):
    for candidate, code, word in (("bad", 1, "FAIL"), ("same", 0, "PASS")):
        folder = tmp_path / candidate
        done = crucible(
            "gate", "--candidate", candidate, "--baseline", "good",
            "--junit", folder / "g.xml", "--json-file", folder / "g.json",
            "--markdown", folder / "g.md",
        )  # fmt: skip
        assert done.code == code
        assert done.out.startswith(f"gate {word}  exit {code}  {candidate} against good")
        assert json.loads((folder / "g.json").read_text())["exit_code"] == code
        failures = ET.parse(folder / "g.xml").getroot().get("failures")
        assert failures == str(code)
        assert f"gate {word}" in (folder / "g.md").read_text()


def test_json_is_one_object_on_stdout(runs, crucible):
    done = crucible("gate", "--candidate", "bad", "--baseline", "good", "--json")
    assert (done.code, done.json["outcome"]) == (1, "fail")
    assert len(done.out.splitlines()) == 1


def test_a_warning_is_shown_and_exits_0(runs, crucible):
    (runs / "soft.toml").write_text(SOFT)
    done = crucible("gate", "--candidate", "bad", "--baseline", "good", "--config", "soft.toml")
    assert done.code == 0
    assert "warnings: answers" in done.out.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--candidate is missing"),
        (("--candidate", "bad"), "--baseline is missing"),
        (("--candidate", "bda", "--baseline", "good"), "Did you mean bad"),
        (("--candidate", "bad", "--baseline", "pinned:x"), "No baseline is called 'x'"),
        (("--candidate", "bad", "--baseline", "good", "--config", "no.toml"), "no.toml"),
        (("--candidate", "bad", "--baseline", "good", "--as-of", "soon"), "soon"),
        (("selftest",), "--candidate is missing"),
    ],
)
def test_a_wrong_word_exits_2_and_says_the_fix(runs, crucible, words, said):
    done = crucible("gate", *words)
    assert done.code == 2
    assert said in done.err
    assert "Fix: " in done.err


def test_a_gate_file_that_cannot_be_used_exits_2(runs, crucible):
    (runs / "gate.toml").write_text(RULES + "margn = 1\n")
    done = crucible("gate", "--candidate", "bad", "--baseline", "good")
    assert done.code == 2
    assert "gate.toml" in done.err
    assert "Did you mean margin" in done.err


def test_an_unknown_metric_exits_2_and_no_file_is_written(runs, crucible, tmp_path):
    (runs / "gate.toml").write_text(RULES.replace("accuracy", "acuracy"))
    done = crucible("gate", "--candidate", "bad", "--baseline", "good", "--junit", tmp_path / "x")
    assert done.code == 2
    assert not (tmp_path / "x").exists()


def test_a_fault_of_crucible_exits_70_and_never_1(runs, crucible, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("crucible_batch.assemble.gate.run.judge_all", broken)
    done = crucible("gate", "--candidate", "bad", "--baseline", "good")
    assert done.code == 70
    assert "oops" in done.err


def test_inconclusive_exits_3_and_not_comparable_exits_4(runs, crucible, file):
    few = run_lines("few", 27)[:20]
    crucible("load", "run", file("few.jsonl", *few))
    done = crucible("gate", "--candidate", "few", "--baseline", "good")
    assert done.code == 3
    assert "degraded" in done.out
    crucible("load", "run", file("other.jsonl", *run_lines("other", 27)), "--status", "failed")
    done = crucible("gate", "--candidate", "other", "--baseline", "good")
    assert done.code == 4
    assert done.out.startswith("gate NOT COMPARABLE  exit 4")


def test_the_self_test_tells_what_it_planted_and_what_it_would_find(runs, crucible):
    done = crucible("gate", "selftest", "--candidate", "bad", "--baseline", "good")
    assert done.code == 0
    assert "gate selftest PASS  exit 0" in done.out
    assert "worse on every pair must fail: fail" in done.out
    assert "smallest real drop found 4 times in 5: 0." in done.out
    told = crucible("gate", "selftest", "--candidate", "bad", "--baseline", "good", "--json").json
    assert told["rules"][0]["planted"] == "fail"


def test_a_baseline_is_pinned_listed_and_used(runs, crucible):
    assert "nothing is pinned" in crucible("baseline", "list").out
    pin = ("baseline", "pin", "release", "good", "--reason", "release 4", "--author", "ann")
    assert "pinned:release is good" in crucible(*pin).out
    assert "nothing to do" in crucible(*pin).out
    assert crucible("baseline", "list", "--json").json["run_id"] == "good"
    assert "release 4" in crucible("baseline", "list").out
    done = crucible("gate", "--candidate", "same", "--baseline", "pinned:release")
    assert (done.code, "against good" in done.out) == (0, True)


def test_a_pin_needs_a_reason_and_a_run_that_is_there(runs, crucible):
    assert crucible("baseline", "pin", "release", "good").code == 2
    assert crucible("baseline", "pin", "release", "goood", "--reason", "x").code == 2


def test_an_output_never_replaces_the_rules_or_another_output(runs, crucible, tmp_path):
    held = ("gate", "--candidate", "bad", "--baseline", "good", "--config", runs / "gate.toml")
    for files in (
        ("--json-file", runs / "gate.toml"),
        ("--junit", tmp_path / "one", "--markdown", tmp_path / "one"),
    ):
        done = crucible(*held, *files)
        assert done.code == 2
        assert "would replace" in done.err
    assert (runs / "gate.toml").read_text() == RULES
    assert not (tmp_path / "one").exists()


def test_the_self_test_plants_a_drop_that_numbers_can_hold(runs, crucible, file):
    """Latencies from 1e-300 to 1e15 ms: the spread alone asks for a factor beyond float64."""
    for run, far in (("fast", 1e-300), ("slow", 1e15)):
        lines = run_lines(run, 27)
        for n, row in enumerate(lines[1:]):
            row["latency_ms"] = far if n % 2 else 1.0
        assert crucible("load", "run", file(f"{run}.jsonl", *lines)).code == 0
    rule = '[[rules]]\nid = "speed"\nkind = "max_drop"\nmetric = "latency_ms"\nmax_drop = 0.2\n'
    (runs / "gate.toml").write_text(rule)
    done = crucible(
        "gate", "selftest", "--candidate", "slow", "--baseline", "fast",
        "--config", runs / "gate.toml", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["rules"][0]["planted"] == "fail"
