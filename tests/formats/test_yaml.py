"""Golden items that people write by hand."""

from __future__ import annotations

import json

import pytest

from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats.sources import find
from crucible_batch.formats.verbs import Verb

ITEM = """\
- item_id: q1
  question: Who signs the deed?
  answerable: true
  tags: [deeds]
  assertions:
    - {level: must, text: The notary signs.}
  citations:
    - doc_id: deed-law
      kind: required
"""


def test_yaml_and_json_lines_of_the_same_items_are_the_same_rows(write, load):
    row = {
        "item_id": "q1",
        "question": "Who signs the deed?",
        "answerable": True,
        "tags": ["deeds"],
        "assertions": [{"level": "must", "text": "The notary signs."}],
        "citations": [{"doc_id": "deed-law", "kind": "required"}],
    }
    by_hand = load(write("a.yaml", ITEM.encode()), "golden")
    lines = load(write("a.jsonl", json.dumps(row).encode()), "golden")
    assert by_hand.tables.keys() == lines.tables.keys()
    for name, frame in lines.tables.items():
        assert by_hand[name].drop("_source_file").equals(frame.drop("_source_file"))


@pytest.mark.parametrize(
    "text",
    [
        "golden_set: deeds\nitems:\n" + ITEM,
        ITEM.replace("- item_id", "item_id", 1).replace("\n  ", "\n"),
        "---\n" + ITEM.replace("- item_id", "item_id", 1).replace("\n  ", "\n") + "...\n",
    ],
)
def test_a_file_is_a_list_a_set_with_items_or_an_item_per_document(write, load, text):
    items = load(write("a.yml", text.encode()), "golden")["golden_items"]
    assert items["item_id"].to_list() == ["q1"]
    assert items["golden_set"].to_list() == (["deeds"] if "golden_set" in text else [None])


def test_an_items_row_is_the_line_it_begins_on(write, load):
    two = ITEM + "\n# the other\n" + ITEM.replace("q1", "q2")
    items = load(write("a.yaml", two.encode()), "golden")["golden_items"]
    assert items["_source_row"].to_list() == [1, 12]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("no", "no"),
        ("2026-03-01", "2026-03-01"),
        ("007", "007"),
        ("'7'", "7"),
        ("True", "True"),
        ("1:30", "1:30"),
        ("|\n    two\n    lines", "two\nlines\n"),
        ('"\\ud800"', "\ufffd"),
    ],
)
def test_words_that_yaml_would_convert_stay_texts(write, load, word, value):
    text = f"- item_id: q1\n  question: {word}\n  answerable: true\n"
    items = load(write("a.yaml", text.encode()), "golden")["golden_items"]
    assert items["question"].to_list() == [value]
    assert items["_reasons"].to_list() == [[]]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("question: 7", "question: not text: 7"),
        ("question: null", None),
        ("qestion: x", "qestion: unknown key, did you mean question?: x"),
        ("answerable: yes", 'answerable: not true or false: "yes"'),
        ("revision: 1.5", "revision: not an integer: 1.5"),
    ],
)
def test_a_value_of_another_type_is_a_reason_of_its_item(write, load, line, why):
    text = f"- item_id: q1\n  {line}\n"
    items = load(write("a.yaml", text.encode()), "golden")["golden_items"]
    assert items["_reasons"].to_list() == [[why] if why else []]


def test_what_is_no_mapping_is_a_broken_row_beside_the_good_ones(write, load):
    items = load(write("a.yaml", (ITEM + "- just words\n").encode()), "golden")["golden_items"]
    assert items["_reasons"].to_list() == [[], ["item: not a mapping: just words"]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- item_id: q1\n  item_id: q2\n", "line 2: key 'item_id' stands twice"),
        ("- &a {item_id: q1}\n- *a\n", "an alias"),
        ("- {item_id: q1\n", "is not YAML"),
        ("items: q1\n", "`items` is no list"),
        ("- item_id: !secret q1\n", "line 1: the tag !secret is not known"),
        ("- ? [a]\n  : b\n", "a key is no text"),
        ("- " + "[" * 400 + "]" * 400 + "\n", "nested too deeply"),
        ("- " + "[" * 20_000 + "]" * 20_000 + "\n", "nested too deeply"),
    ],
)
def test_a_file_that_could_be_misread_is_refused_with_its_line(write, load, text, why):
    with pytest.raises(ContractError) as caught:
        load(write("a.yaml", text.encode()), "golden")
    assert why in str(caught.value)
    assert "a.yaml" in str(caught.value)


def test_latin_1_is_refused(write, load):
    with pytest.raises(ContractError, match="not UTF-8"):
        load(write("a.yaml", "- item_id: ü\n".encode("latin-1")), "golden")


def test_yaml_of_a_folder_is_left_aside_unless_golden_items_are_loaded(write, tmp_path):
    write("a.yaml", ITEM.encode())
    write("b.jsonl", b'{"item_id": "q1"}\n')
    assert len(find([tmp_path], Verb.GOLDEN)[0]) == 2
    taken, skipped = find([tmp_path], Verb.RUN)
    assert ([s.path.name for s in taken], [p.name for p in skipped]) == (["b.jsonl"], ["a.yaml"])


def test_yaml_serves_golden_items_only(write):
    with pytest.raises(UsageError, match="`load qrels` does not take"):
        find([write("a.yaml", ITEM.encode())], Verb.QRELS)
