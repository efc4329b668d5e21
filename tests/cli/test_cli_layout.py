"""Tables are whole in a pipe, fit a terminal, and say what is not to be seen."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from crucible_batch.cli.layout import fitted

WIDE = (
    ("id", "a_long_name_of_a_number", "text", "more"),
    [("x", 0.123456789123, "words " * 10, "y" * 50), ("y", 2.5, "日本語" * 9, None)],
)


def test_without_a_width_nothing_is_cut():
    text = fitted(*WIDE, None)
    assert "0.123456789123" in text
    assert "y" * 50 in text
    assert "…" not in text


def test_with_a_width_texts_are_cut_numbers_rounded_and_both_are_said():
    lines = fitted(*WIDE, 60).splitlines()
    assert max(map(cell_len, lines[:-1])) <= 60
    assert "0.123457" in lines[1]
    assert lines[-1] == "(numbers are shown to 6 digits; … marks what was cut)"


def test_columns_that_do_not_fit_are_counted_and_named():
    assert "1 of 4 columns do not fit: more" in fitted(*WIDE, 50)


def test_a_number_is_never_cut():
    assert "12,345,678" in fitted(("n", "t"), [(12_345_678, "text")], 5)


@given(
    st.lists(st.tuples(st.text(), st.integers(), st.floats(allow_nan=False), st.text())),
    st.integers(60, 200),
)
def test_lines_fit_any_terminal_and_hold_one_row_each(rows, width):
    lines = fitted(("first", "second", "third", "last"), rows, width).split("\n")
    assert len(lines) - len(rows) in {1, 2}  # the header, and what is said below
    assert all(cell_len(line) <= width for line in lines[: len(rows) + 1])


def test_texts_of_others_steer_no_terminal():
    text = fitted(("a",), [("\x1b[31mred\nline\u202e",)], None)
    assert not re.search("[\x1b\u202e]", text)
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize("width", [None, 1, 20])
def test_a_table_without_rows_shows_its_header(width):
    assert fitted(("n", "t"), [], width).startswith("n")
