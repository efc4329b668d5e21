"""`crucible feedback …` and `crucible override …` as a shell sees them."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def failed(crucible, golden, file) -> str:
    """Id of the one failure of the scored run r1."""
    rows = [
        {"item_id": i, "answer": "So.", "verdicts": [{"assertion_id": "a", "verdict": v}]}
        for i, v in (("q1", "missing"), ("q2", "supported"))
    ]
    path = file("run.jsonl", {"run": {"run_id": "r1", "golden_set": "faq"}}, *rows)
    assert crucible("load", "run", path).code == 0
    assert crucible("score", "r1").code == 0
    return crucible("feedback", "list", "--json").json["feedback_id"]


def test_the_walk_from_a_failure_to_a_test(crucible, failed):
    before = crucible("golden", "hash", "--json").json["golden_set_hash"]
    assert "classified" in crucible("feedback", "list").out
    assert crucible("feedback", "promote", failed).code == 2
    words = ("feedback", "correct", failed, "--answer", "Ann.", "--doc", "d1", "--doc", "d2")
    assert "next: crucible feedback promote" in crucible(*words).out
    assert "nothing to do" in crucible(*words).out
    done = crucible("feedback", "promote", failed, "--author", "ann", "--json").json
    assert (done["item_id"], done["revision"], done["created"]) == ("q1", 2, True)
    assert "nothing to do" in crucible("feedback", "promote", failed).out
    now = crucible("golden", "hash", "--json").json["golden_set_hash"]
    assert now == done["golden_set_hash"] != before
    (row,) = [json.loads(x) for x in crucible("feedback", "status", "--json").out.splitlines()]
    assert (row["item_id"], row["run_id"]) == ("q1", None)
    changed = crucible("golden", "diff", "r1", "faq", "--json").json
    assert changed["fields"]["tags"] == {"before": [], "after": ["regression"]}


def test_a_failure_is_listed_with_its_question_and_answer(crucible, failed):
    row = crucible("feedback", "list", "--json").json
    assert row["question"]
    assert row["answer"] == "So."
    header, line = crucible("feedback", "list").out.splitlines()
    assert header.split()[-2:] == ["question", "answer"]
    assert line.endswith("So.")


def test_a_failure_is_dismissed(crucible, failed):
    assert crucible("feedback", "dismiss", failed, "--note", "asked wrongly").out == "dismissed\n"
    assert crucible("feedback", "list", "--status", "dismissed", "--json").json["note"]
    assert "nothing is promoted yet" in crucible("feedback", "status").out


def test_judgments_are_overridden(crucible, failed):
    crucible("qrels", "add", "q1", "d1", "--grade", "3", "--author", "ann")
    words = ("override", "qrel", "q1", "d1", "--grade", "0", "--reason", "read it")
    assert "q1, doc:d1, human, ann: grade 3 → 0" in crucible(*words).out
    assert "nothing to do" in crucible(*words).out
    words = ("override", "verdict", "r1", "q1", "a", "--reason", "read it")
    assert "verdict missing → partial" in crucible(*words, "--verdict", "partial").out
    assert "null → true" in crucible(*words, "--context-supported", "true").out
    both = crucible(*words, "--verdict", "partial", "--context-supported", "true")
    assert (both.code, "--verdict or --context-supported" in both.err) == (2, True)
    assert crucible("override", "claim", "r1", "q1", "c1", "--reason", "x").code == 2
    gone = crucible("override", "claim", "r1", "q1", "c1", "--reason", "x", "--correct", "true")
    assert (gone.code, "claims has no row" in gone.err) == (2, True)


def test_texts_are_redacted_once(crucible, failed):
    words = ("redact", "--run", "r1", "--reason", "asked to")
    assert crucible(*words, "--json").json["rows"] == {"results": 2}
    assert "nothing to do" in crucible(*words).out
    assert crucible("doctor").code == 0
    assert crucible("redact", "--reason", "asked to").code == 2
