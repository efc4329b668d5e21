"""The way in: what comes next, what the shell completes, what was meant by a typo."""

from __future__ import annotations

import json

import pytest
import typer

from crucible_batch.assemble.load import load_run
from crucible_batch.cli.app import app
from crucible_batch.store import Store

RESULT = {"item_id": "q1", "answer": "So.", "retrieval_ran": False}


def next_commands(out: str) -> list[str]:
    """The commands behind "Next:", without what they are for."""
    lines = out.partition("Next:\n")[2].splitlines()
    return [line.strip().split("  ")[0] for line in lines]


@pytest.fixture
def load(golden, file):
    """Load a run of the golden set of the current store."""

    def run(name: str) -> None:
        store = Store.open(golden)
        load_run(store, [file(f"{name}.jsonl", RESULT)], run=name, golden_set="faq")

    return run


# --- crucible, and nothing else ---------------------------------------------------------------


def test_without_a_store_the_demo_and_a_new_store_come_next(crucible):
    done = crucible()
    assert done.code == 0
    assert "Usage: crucible" in done.out
    assert next_commands(done.out) == ["crucible demo", "crucible init DIR", "crucible docs"]


def test_an_empty_store_needs_a_golden_set(store, crucible):
    done = crucible()
    assert "no workspace default yet" in done.out
    assert next_commands(done.out)[0] == "crucible load golden FILE"


def test_a_golden_set_needs_a_run(golden, crucible):
    done = crucible()
    assert "2 golden items, no run yet" in done.out
    assert next_commands(done.out)[0] == "crucible load run FILE"


def test_a_run_needs_its_score_and_then_another_run(load, crucible):
    load("monday")
    assert next_commands(crucible().out)[:2] == ["crucible score monday", "crucible load run FILE"]
    assert crucible("score", "monday").code == 0
    assert next_commands(crucible().out)[:2] == ["crucible load run FILE", "crucible score monday"]


def test_two_runs_are_compared_the_older_one_first(load, crucible):
    load("tuesday")
    load("monday")
    out = crucible().out
    assert "2 golden items, 2 runs. Next:" in out
    assert next_commands(out)[0] == "crucible compare tuesday monday"
    assert "alerts" not in "".join(next_commands(out))


def test_open_alerts_come_first(demo_store, crucible):
    done = crucible("--root", demo_store)
    assert next_commands(done.out)[0] == "crucible alerts list"
    assert "1 alert open" in done.out


def test_a_root_that_is_no_store_is_told_with_its_fix(crucible, tmp_path):
    done = crucible("--root", tmp_path / "gone")
    assert done.code == 0
    assert "There is no store at" in done.out
    assert "Fix: crucible init" in done.out


# --- completion -------------------------------------------------------------------------------


@pytest.fixture
def completed(crucible, monkeypatch):
    """What bash is offered for the last word of a command line."""

    def run(*words: str) -> list[str]:
        monkeypatch.setenv("_CRUCIBLE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(("crucible", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        done = crucible()
        assert (done.code, done.err) == (0, "")
        return done.out.split()

    return run


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("sco",), ["score"]),
        (("golden", "ch"), ["check"]),
        (("compare", "--allow"), ["--allow-golden-change"]),
        (("sql", "--format", "mark"), ["markdown"]),
        (("schema", "v_al"), ["v_alerts"]),
        (("metrics", "ndcg_exp_at_1"), ["ndcg_exp_at_10"]),
        (("docs", "quest"), ["questions"]),
        (("score", "any"), []),
    ],
)
def test_the_shell_completes_commands_options_and_names(completed, words, found):
    assert completed(*words) == found


@pytest.mark.parametrize(
    "words",
    [
        ("score", "mon"),
        ("compare", "tuesday", "mon"),
        ("gate", "--candidate", "mon"),
        ("report", "mon"),
        ("baseline", "pin", "night", "mon"),
        ("judge", "claims", "mon"),
    ],
)
def test_the_shell_completes_runs_of_the_store_of_the_current_folder(load, completed, words):
    load("monday")
    load("tuesday")
    assert completed(*words) == ["monday"]


@pytest.mark.parametrize("before", [True, False])
def test_the_shell_completes_runs_of_the_store_that_is_named(
    load, golden, completed, tmp_path, monkeypatch, before
):
    load("monday")
    monkeypatch.chdir(tmp_path)
    root = ("--root", str(golden))
    assert completed(*(root if before else ()), "score", *(() if before else root), "") == [
        "monday"
    ]
    assert completed("score", "") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_answered_too(crucible, monkeypatch, shell):
    monkeypatch.setenv("_CRUCIBLE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "crucible schema v_al")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert "v_alerts" in crucible().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_shown(crucible, monkeypatch, shell):
    monkeypatch.setenv("_CRUCIBLE_COMPLETE", f"source_{shell}")
    assert "_CRUCIBLE_COMPLETE" in crucible().out


# --- typos ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("scroe", "monday"), "score"),
        (("golden", "chekc"), "check"),
        (("score", "mondy"), "monday"),
        (("score", "monday", "--relevant-a", "2"), "--relevant-at"),
        (("metrics", "ndgc_at_10"), "ndcg_at_10"),
        (("docs", "scorring"), "scoring"),
        (("schema", "v_run_metric"), "v_run_metrics"),
        (("sql", "FROM v_run_metric"), "v_run_metrics"),
        (("sql", "SELECT acuracy FROM v_run_metrics"), "accuracy"),
        (("--workspace", "defualt", "score", "monday"), "default"),
    ],
)
def test_a_typo_is_answered_with_what_was_meant(load, crucible, words, meant):
    load("monday")
    done = crucible(*words)
    assert done.code == 2
    assert meant in done.err


# --- JSON and colour --------------------------------------------------------------------------


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_every_command_takes_json():
    every = dict(commands(typer.main.get_command(app)))
    without = [
        path
        for path, one in every.items()
        if "--json" not in [o for p in one.params for o in p.opts]
    ]
    assert without == []


@pytest.mark.parametrize(
    "words",
    [
        ("init", "new"),
        ("docs", "questions"),
        ("docs",),
        ("report", "monday", "-o", "x.html"),
        ("baseline", "pin", "night", "monday", "--reason", "r"),
        ("qrels", "export", "-o", "x.txt"),
    ],
)
def test_json_is_one_object_per_line_and_nothing_else(load, crucible, words):
    load("monday")
    done = crucible(*words, "--json")
    assert done.code == 0
    assert all(isinstance(json.loads(line), dict) for line in done.out.splitlines())
    assert done.out


def test_nothing_is_said_in_colours(load, crucible, monkeypatch):
    load("monday")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for words in ((), ("score", "monday"), ("sql", "FROM runs"), ("alerts", "list")):
        done = crucible(*words)
        assert "\x1b" not in done.out + done.err
