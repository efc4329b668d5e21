from __future__ import annotations

import json

import pytest
from nights import Nights


@pytest.fixture
def nights(crucible, tmp_path, monkeypatch) -> Nights:
    """A job whose baseline is loaded, in a store that commands find."""
    job = Nights(tmp_path)
    job.run("base", "01:00")
    assert crucible("init", job.root).code == 0
    monkeypatch.setenv("CRUCIBLE_ROOT", str(job.root))
    return job


def test_nights_of_a_range_are_done_in_order_and_the_last_one_gives_the_code(crucible, nights):
    nights.run("new", "02:00")
    words = ("nightly", "--config", nights.config, "--root", nights.root)
    done = crucible(*words, "--as-of", "2026-05-01..2026-05-02")
    assert done.code == 3
    verdict, nothing = done.out.index("base → new"), done.out.index("no new run of faq to judge")
    assert verdict < nothing

    again = crucible(*words, "--as-of", "2026-05-01", "--json")
    assert again.code == 0
    told = again.json
    assert (told["is_repeat"], told["candidate"]) == (True, "new")


def test_the_last_line_of_a_night_is_that_of_its_gate_and_the_code_is_its_code(crucible, nights):
    floor = 'kind = "floor"\nmetric = "retrieval_hit_rate"\nfloor = 0.5\n'
    nights.gate(f'[[rules]]\nid = "found"\n{floor}')
    nights.run("new", "02:00", n_right=0)
    words = ("nightly", "--config", nights.config, "--root", nights.root, "--as-of", "2026-05-01")
    done = crucible(*words)
    assert done.code == 1
    why, line = done.out.splitlines()[-2:]
    assert why == "✕ fail  found: retrieval_hit_rate  mean 0.000 [0.000, 0.000], floor 0.500"
    assert (
        line == "gate FAIL  exit 1  new against base  failed: found (of 1 rule and 5 requirements)"
    )
    again = crucible(*words)
    assert (again.code, again.out.splitlines()[-1]) == (1, line)
    assert crucible(*words, "--json").json["gate"]["line"] == line


def test_without_as_of_a_run_without_finish_time_is_judged_at_once(crucible, nights):
    nights.run("silent", None)
    done = crucible("nightly", "--config", nights.config, "--root", nights.root, "--json")
    assert done.code == 0
    assert json.loads(done.out)["candidate"] == "silent"


def test_rows_put_aside_are_shown_with_their_reasons(crucible, nights, tmp_path):
    nights.run("new", "02:00")
    path = tmp_path / "runs/new.jsonl"
    path.write_text(path.read_text() + '{"item_id": "q0", "answer": 5}\n', encoding="utf-8")
    done = crucible("nightly", "--config", nights.config, "--root", nights.root)
    assert "quarantined: results.answer: not text: 5" in done.out
    assert "quarantine file: " in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--as-of", "2026-05-01T00:00:00"), "has no time zone"),
        (("--as-of", "yesterday"), "no date and no instant"),
        (("--config", "elsewhere.toml"), "elsewhere.toml does not exist"),
        (("--config", "."), "is no file"),
        (("--workspace", "a b"), "cannot name a workspace"),
    ],
)
def test_a_wrong_option_exits_with_2_in_words(crucible, nights, words, said):
    config = () if "--config" in words else ("--config", nights.config)
    done = crucible("nightly", *config, "--root", nights.root, *words)
    assert done.code == 2
    assert said in done.err
    assert "Fix: " in done.err


def test_a_workspace_of_the_command_line_is_used_when_the_file_names_none(crucible, nights):
    words = ("nightly", "--config", nights.config, "--root", nights.root)
    assert crucible(*words, "--workspace", "w").code == 3
    assert (nights.root / "w" / "lake").is_dir()
    assert not (nights.root / "default").exists()


def test_a_mistyped_golden_set_is_told_with_the_nearest_name(crucible, nights):
    words = ("nightly", "--config", nights.config, "--root", nights.root)
    assert crucible(*words).code == 3
    nights.top["golden_set"] = "fqa"
    nights.inputs = []
    done = crucible("nightly", "--config", nights.config, "--root", nights.root)
    assert done.code == 2
    assert "No golden set is called 'fqa'" in done.err
    assert "Did you mean faq?" in done.err


def test_a_mistyped_workspace_is_not_made_by_a_night_that_loads_nothing(crucible, nights):
    nights.inputs = []
    words = ("nightly", "--config", nights.config, "--root", nights.root)
    done = crucible(*words, "--workspace", "w")
    assert done.code == 2
    assert "No workspace is called 'w'" in done.err
    assert not (nights.root / "w").exists()


def test_a_night_whose_runs_cannot_be_compared_exits_with_4_every_time(crucible, nights):
    nights.run("broken", "02:00", status="failed")
    words = ("nightly", "--config", nights.config, "--root", nights.root, "--as-of", "2026-05-01")
    assert crucible(*words).code == 4
    again = crucible(*words, "--json")
    assert again.code == 4
    assert again.json["is_repeat"]


@pytest.mark.parametrize("baseline", ["pinned:nobody", "nobody"])
def test_a_mistyped_baseline_is_told_before_anything_is_scored(crucible, nights, baseline):
    nights.top["baseline"] = baseline
    done = crucible("nightly", "--config", nights.config, "--root", nights.root)
    assert done.code == 2
    assert "nobody" in done.err
    assert not list(nights.root.glob("default/marts/scores/base.parquet"))
    was_loaded = (nights.root / "default" / "lake" / "c00000001").exists()
    assert was_loaded == (baseline == "nobody")  # a run may be among the inputs, a pin never is
