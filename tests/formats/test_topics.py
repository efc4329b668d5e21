from __future__ import annotations

import pytest

from crucible_batch.formats import topics


def test_a_topic_is_an_answerable_item_without_assertions(write, load):
    found = load(write("t.tsv", "1\twhat is it", "007 \tcafé?\r"), "golden")
    columns = ("item_id", "question", "answerable", "_source_row")
    assert found.rows("golden_items", *columns) == [
        ("1", "what is it", True, 1),
        ("007", "café?", True, 2),
    ]
    assert found.findings.reported == {"golden_items"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"2 no tab", "line: 1 columns separated by tabs, not 2: 2 no tab"),
        (b"2\ta\tb", "line: 3 columns separated by tabs, not 2: 2\ta\tb"),
        (b"2\t\xff", "line: not UTF-8 (byte 3): 2\t\ufffd"),
    ],
)
def test_a_broken_line_is_a_row_with_a_reason(write, load, line, problem):
    found = load(write("t.tsv", b"1\ta\n\n" + line + b"\n"), "golden")
    assert found.reasons("golden_items") == [[], [problem]]
    assert found["golden_items"]["_source_row"].to_list() == [1, 3]


def test_chunks_are_bounded(write, load, monkeypatch):
    monkeypatch.setattr(topics, "CHUNK_LINES", 2)
    found = load(write("t.tsv", *(f"{n}\tq" for n in range(5))), "golden")
    assert found.heights["golden_items"] == [2, 2, 1]


def test_a_long_question_is_not_cut(write, load):
    found = load(write("t.tsv", "1\t" + "x" * (2 << 20)), "golden")
    assert found["golden_items"]["question"].str.len_bytes().item() == 2 << 20
