"""`crucible golden …` and `crucible qrels add|seed|history` as a shell sees them."""

from __future__ import annotations

import json


def test_golden_sets_are_shown_hashed_and_compared(crucible, golden, file):
    (one,) = [json.loads(line) for line in crucible("golden", "hash", "--json").out.splitlines()]
    assert (one["golden_set"], one["n_items"]) == ("faq", 2)
    assert one["golden_set_hash"] in crucible("golden", "hash").out
    assert "Question 2?" in crucible("golden", "show").out
    assert crucible("golden", "show", "q1", "--json").json["assertions"][0]["text"] == "So."
    row = {"item_id": "q1", "question": "Asked better?", "answerable": True}
    crucible("load", "golden", file("g.jsonl", row), "--golden-set", "faq")
    changed = crucible("golden", "diff", one["golden_set_hash"][:20], "faq", "--json").json
    assert (changed["item_id"], changed["kind"]) == ("q1", "changed")
    assert changed["fields"]["question"] == {"before": "Question 1?", "after": "Asked better?"}
    old = crucible("golden", "show", "q1", "--version", one["golden_set_hash"], "--json").json
    assert old["question"] == "Question 1?"


def test_golden_check_prints_every_line_and_writes_markdown(crucible, golden, tmp_path):
    done = crucible("golden", "check", "--markdown", tmp_path / "out" / "ready.md")
    assert done.code == 0
    assert "✕ missing" in done.out
    assert "| ✕ missing | popularity |" in (tmp_path / "out" / "ready.md").read_text()
    assert crucible("golden", "check", "--json").json["n_items"] == 2


def test_names_that_are_not_there_exit_2(crucible, golden):
    for words in (("show", "q9"), ("hash", "--golden-set", "x"), ("diff", "abc", "faq")):
        done = crucible("golden", *words)
        assert (done.code, "Fix:" in done.err) == (2, True)


def test_a_judgment_is_added_once_and_looked_back_on(crucible, golden):
    words = ("qrels", "add", "q1", "d1", "--grade", "2", "--author", "ann")
    first = crucible(*words, "--json").json
    assert first["created"]
    again = crucible(*words, "--json").json
    assert not again["created"]
    assert again["qrel"] == first["qrel"]
    other = crucible("qrels", "add", "q1", "d1", "--grade", "0", "--author", "ann")
    assert other.code == 0
    assert "kept grade 2, offered 0" in other.out
    assert "grade 2 counts (human)" in crucible("qrels", "history", "q1", "d1").out
    assert crucible("qrels", "history", "q1", "d2").code == 2


def test_a_file_of_judgments_is_added_as_load_does_it(crucible, golden, file):
    path = file("j.jsonl", {"query_id": "q1", "doc_id": "d1", "grade": 1, "source": "human"})
    assert "committed as" in crucible("qrels", "add", "--file", path).out
    assert "nothing to commit" in crucible("qrels", "add", "--file", path).out
    assert crucible("qrels", "seed").out == "0 appended, 0 already there\n"


def test_half_a_judgment_is_refused_with_the_right_form(crucible, golden, file):
    for words in (("q1",), ("q1", "d1"), (), ("q1", "d1", "--file", file("x.jsonl", {}))):
        done = crucible("qrels", "add", *words)
        assert (done.code, "crucible qrels add QUERY DOC --grade" in done.err) == (2, True)
