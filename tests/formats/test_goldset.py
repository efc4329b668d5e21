from __future__ import annotations

import hashlib
import json

import pytest

from crucible_batch.contracts.ids import assertion_id, question_id
from crucible_batch.errors import ContractError

PAIR = {"question": "Who?", "ground_truth": "Me", "contexts": ["c2", "c1"]}


def goldset(*pairs, **more):
    return {"pairs": list(pairs), **more}


def test_a_pair_is_an_answerable_item_with_one_must_assertion(write, load):
    found = load(write("g.json", goldset(PAIR, rewrite_n=3, top_k=5)), "golden")
    columns = ("item_id", "question", "ground_truth", "answerable", "contexts", "_source_row")
    item_id = question_id("Who?")
    assert found.rows("golden_items", *columns) == [(item_id, "Who?", "Me", True, ["c2", "c1"], 1)]
    assert found.rows("golden_assertions", "item_id", "assertion_id", "level", "text") == [
        (item_id, assertion_id("must", "Me"), "must", "Me")
    ]
    assert found.findings.target == {"rewrite_n": 3, "top_k": 5}
    assert found.findings.reported == {"golden_items", "golden_assertions"}


def test_the_id_is_a_pinned_hash_of_the_normal_form_of_the_question():
    expected = "q-" + hashlib.sha256("Café?".encode()).hexdigest()[:16]
    assert question_id("Cafe\u0301?") == question_id("Caf\u00e9?") == expected


def test_contexts_may_be_absent_or_empty_and_the_difference_stays(write, load):
    pairs = [
        {"question": "a", "ground_truth": "x"},
        {"question": "b", "ground_truth": "x", "contexts": []},
    ]
    found = load(write("g.json", goldset(*pairs)), "golden")
    assert found.rows("golden_items", "contexts") == [(None,), ([],)]
    assert found.findings.target is None


def test_a_file_over_several_lines_with_a_byte_order_mark_is_one_gold_set(write, load):
    text = "\ufeff" + json.dumps(goldset(PAIR), indent=2)
    assert load(write("g.json", text), "golden")["golden_items"].height == 1


def test_the_same_pair_twice_is_handed_on_and_counted(write, load):
    twin = {**PAIR, "question": "Who?"}
    found = load(write("g.json", goldset(PAIR, twin)), "golden")
    assert found["golden_items"].drop("_source_row").is_duplicated().all()
    assert found["golden_assertions"].height == 2
    assert found.findings.n_repeated_questions == 1


def test_two_spellings_of_one_question_are_handed_on_in_the_first(write, load):
    pairs = [
        {"question": "Caf\u00e9?", "ground_truth": "x"},
        {"question": "Cafe\u0301?", "ground_truth": "x"},
    ]
    found = load(write("g.json", goldset(*pairs)), "golden")
    assert found.rows("golden_items", "question") == [("Caf\u00e9?",)] * 2


@pytest.mark.parametrize("change", [{"ground_truth": "You"}, {"contexts": ["c1", "c2"]}])
def test_the_same_question_with_other_content_is_refused_with_both_positions(write, load, change):
    path = write(
        "g.json", goldset(PAIR, {"question": "b", "ground_truth": "x"}, {**PAIR, **change})
    )
    with pytest.raises(ContractError, match="asks one question twice") as caught:
        load(path, "golden")
    assert caught.value.problems == ("pairs 1 and 3: question: Who?",)


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        (
            {"question": "a", "ground_thruth": "x"},
            "ground_thruth: unknown key, did you mean ground_truth?: x",
        ),
        ({"question": "a"}, "ground_truth: missing: null"),
        ({"question": 1, "ground_truth": "x"}, "question: not text: 1"),
        ({"question": "a", "ground_truth": ["x"]}, 'ground_truth: not text: ["x"]'),
        (
            {"question": "a", "ground_truth": "x", "contexts": "c"},
            'contexts: not a list of texts: "c"',
        ),
        ({"question": "a", "ground_truth": "x", "item_id": "i"}, "item_id: unknown key: i"),
        ("a", "pair: not an object: a"),
    ],
)
def test_a_bad_pair_is_a_row_with_a_reason(write, load, pair, problem):
    found = load(write("g.json", goldset(PAIR, pair)), "golden")
    good, bad = found.reasons("golden_items")
    assert (good, problem in bad) == ([], True)
    assert found["golden_items"]["_source_row"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (goldset(PAIR, rewriten=3), "rewriten: unknown key, did you mean rewrite_n?: 3"),
        (goldset(PAIR, top_k="5"), "top_k: not an integer of at least 1: 5"),
        (goldset(PAIR, top_k=0), "top_k: not an integer of at least 1: 0"),
        (goldset(PAIR, rewrite_n=True), "rewrite_n: not an integer of at least 1: true"),
        (goldset(), "pairs: the list is empty"),
        ({"pairs": {}}, "pairs: not a list: {}"),
        ('{"pairs": [', "not JSON (Expecting value at character 13)"),
        ('{"pairs": [], "pairs": []}', "key 'pairs' stands twice in one object"),
    ],
)
def test_a_file_that_is_no_gold_set_is_refused_with_an_example(write, load, content, problem):
    with pytest.raises(ContractError, match=r"g\.json is not a gold set") as caught:
        load(write("g.json", content), "golden", as_format="goldset")
    assert caught.value.problems == (problem,)
    assert '"pairs"' in caught.value.fix


def test_gold_sets_of_different_targets_are_not_loaded_together(write, load, tmp_path):
    write("a.json", goldset(PAIR, top_k=5))
    write("b.json", goldset({"question": "b", "ground_truth": "x"}, top_k=10))
    with pytest.raises(ContractError, match="names another target"):
        load(tmp_path, "golden")


def test_lone_surrogates_are_replaced_and_counted(write, load):
    text = r'{"pairs": [{"question": "a\ud835", "ground_truth": "x"}]}'
    found = load(write("g.json", text), "golden")
    assert found.rows("golden_items", "question") == [("a\ufffd",)]
    assert found.findings.n_replaced_surrogates == 1
