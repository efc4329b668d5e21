"""`crucible anchors add|judge|status` and `crucible judge bridge`, as a person sees them."""

from __future__ import annotations

import json

import pytest
from anchoring import anchor
from judging import Judging, result

from crucible_batch.judges import lexical
from crucible_batch.judges.prompts import prompt_version

LANE = f"m@{prompt_version('assertion', 0.0)}"


@pytest.fixture
def store(tmp_path, crucible, monkeypatch):
    """An empty store, which commands find as the current folder, and a file beside it."""
    assert crucible("init", tmp_path / "store").code == 0
    monkeypatch.chdir(tmp_path / "store")
    lines = [json.dumps(anchor(n)) for n in range(20)]
    (tmp_path / "anchors.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_anchors_are_added_judged_and_told_about(crucible, store):
    added = crucible("anchors", "add", store / "anchors.jsonl")
    assert (added.code, added.err) == (0, "")
    assert "load anchors: committed as c00000001 in default" in added.out
    first = crucible("anchors", "judge", "--as-of", "2026-05-01")
    assert first.out.splitlines() == [
        f"{lexical.JUDGE}: calibrated on 20 anchors, 200 calls, 0 failed, 0 malformed"
    ]
    second = crucible("anchors", "judge", "--as-of", "2026-05-02")
    assert "judged again on 20 anchors, 20 calls" in second.out
    again = crucible("anchors", "judge", "--as-of", "2026-05-02")
    assert "nothing asked (judged already as of 2026-05-03 00:00 UTC, no-op)" in again.out
    lines = crucible("anchors", "status").out.splitlines()
    assert lines[0] == "20 anchors"
    assert "on 20 anchors, 20 of them as people say; noise floor 0.0149 (0 flips in 200" in lines[1]
    assert lines[2].endswith("quiet, 0 flips, e 1, 0 failed; nights since: 1")


def test_json_says_the_same(crucible, store):
    crucible("anchors", "add", store / "anchors.jsonl")
    judged = crucible("anchors", "judge", "--as-of", "2026-05-01", "--json").json
    assert (judged["judge"], judged["n_calls"], judged["calibrated"]) == (lexical.JUDGE, 200, True)
    status = crucible("anchors", "status", "--json").json
    assert (status["n_calibrated"], status["alarm"], status["e_value"]) == (20, False, 1.0)


def test_without_anchors_it_says_how_to_add_some(crucible, store):
    (store / "one.jsonl").write_text(json.dumps(anchor(1)) + "\n", encoding="utf-8")
    crucible("anchors", "add", store / "one.jsonl")
    assert crucible("anchors", "status").out.splitlines() == [
        "1 anchor",
        "no judge is calibrated on them: crucible anchors judge",
    ]
    done = crucible("anchors", "judge", "--repeats", "3")
    assert done.code == 2
    assert "calibrate with 5 or more" in done.err


@pytest.fixture
def judging(tmp_path, crucible, judge_server, monkeypatch) -> Judging:
    """A store with a run that the lexical judge has judged."""
    made = Judging(tmp_path, judge_server)
    made.golden()
    made.run("r", result("q0", "d1", "d2"), result("q1", "d1"))
    monkeypatch.chdir(made.bench.store.root)
    assert crucible("judge", "assertions", "r", "--judge", "lexical").code == 0
    return made


def test_a_bridge_says_how_far_two_judges_are_apart_on_the_same_answers(
    crucible, judging, judge_server
):
    judge_server.say = lambda prompt: '{"verdict": "supported", "context_supported": true}'
    done = crucible("judge", "bridge", "r", "--json")
    told = done.json
    verdicts = judging.table("assertion_verdicts")
    before = [v for judge, v in verdicts.select("judge", "verdict").rows() if judge != LANE]
    scores = {"supported": 1.0, "partial": 0.5, "missing": 0.0}
    assert (told["old"], told["new"], told["n"]) == (lexical.JUDGE, LANE, 4)
    assert told["shift"] == pytest.approx(1 - sum(scores[v] for v in before) / 4)
    assert told["n_up"] == sum(v != "supported" for v in before)
    assert told["raw"] == pytest.approx(sum(v == "supported" for v in before) / 4)
    n_before = judge_server.n_requests
    text = crucible("judge", "bridge", "r", "--against", lexical.JUDGE)
    assert f"{lexical.JUDGE} → {LANE} on 4 assertions" in text.out
    assert "is the judge's" in text.out
    assert judge_server.n_requests == n_before


def test_a_bridge_needs_two_judges_and_asks_nobody_before_it_has_them(
    crucible, judging, judge_server
):
    same = crucible("judge", "bridge", "r", "--judge", "lexical")
    assert same.code == 2
    assert f"No other judge than {lexical.JUDGE} has judged these runs" in same.err
    itself = crucible("judge", "bridge", "r", "--judge", "lexical", "--against", lexical.JUDGE)
    assert (itself.code, "held against itself" in itself.err) == (2, True)
    unknown = crucible("judge", "bridge", "r", "--against", "nobody@000000000000")
    assert unknown.code == 2
    assert lexical.JUDGE in unknown.err
    judging.run("other", result("q0", "d1"))
    assert crucible("judge", "bridge", "other").code == 2
    assert judge_server.n_requests == 0
