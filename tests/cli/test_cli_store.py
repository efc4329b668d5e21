from __future__ import annotations

import io
import json
import os
import sys

import pytest

from crucible_batch.cli import output
from crucible_batch.settings.template import template


def test_init_makes_a_store_with_commented_settings_once(crucible, tmp_path):
    root = tmp_path / "s"
    first, second = crucible("init", root), crucible("init", root)
    assert "made an empty store" in first.out
    assert "is already a store" in second.out
    assert (root / "crucible.toml").read_text() == template()


def test_sql_prints_a_table_and_the_number_of_rows(golden, crucible):
    done = crucible("sql", "SELECT item_id, revision, author FROM golden_items ORDER BY ALL")
    assert done.out.splitlines() == [
        "item_id  revision  author",
        "q1              1       —",
        "q2              1       —",
        "(2 rows)",
    ]


def test_sql_prints_json_lines(golden, crucible):
    done = crucible("sql", "SELECT item_id FROM golden_items ORDER BY ALL", "--json")
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"item_id": "q1"},
        {"item_id": "q2"},
    ]


def test_sql_names_what_json_has_no_number_for(golden, crucible):
    query = "SELECT 'nan'::DOUBLE AS a, ['-inf'::DOUBLE, 1.5] AS b, {'c': 'inf'::DOUBLE} AS d"
    done = crucible("sql", query, "--json")
    assert done.json == {"a": "nan", "b": ["-inf", 1.5], "d": {"c": "inf"}}


def test_sql_reads_the_statement_from_a_pipe(golden, crucible, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT count(*) AS n FROM golden_items;"))
    assert crucible("sql", "--json").json == {"n": 2}


def test_sql_shows_an_earlier_commit(golden, crucible):
    query = "SELECT count(*) AS n FROM golden_items"
    assert crucible("sql", query, "--pin", "0", "--json").json == {"n": 0}
    assert crucible("sql", query, "--pin", "99").code == 2


@pytest.mark.parametrize(
    "query",
    [
        "COPY golden_items TO 'x.parquet'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "INSTALL httpfs",
        "SELECT 1; SELECT 2",
        "SELEC 1",
        "",
    ],
)
def test_sql_that_would_do_more_than_read_is_refused(golden, crucible, query):
    done = crucible("sql", query)
    assert done.code == 2
    assert done.err.startswith("error: ")


def test_doctor_finds_a_sound_store_sound_and_a_damaged_one_broken(golden, crucible):
    assert crucible("doctor").code == 0
    victim = golden / "default" / "lake" / "c00000001" / "golden_items.parquet"
    victim.chmod(0o644)
    victim.write_bytes(b"")
    done = crucible("doctor")
    assert done.code == 4
    assert "golden_items" in done.out


def test_doctor_of_an_empty_store_says_what_comes_next(store, crucible):
    assert "the first load creates one" in crucible("doctor").out


def test_doctor_json_is_one_object_per_workspace(golden, crucible):
    report = crucible("doctor", "--json").json
    assert report["workspace"] == "default"
    assert isinstance(report["findings"], list)


def test_text_that_the_terminal_cannot_show_is_escaped(monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    output.emit("naïve \udc80 —")
    assert narrow.buffer.getvalue() == b"na\\xefve \\udc80 \\u2014\n"


def test_a_reader_that_stops_listening_ends_the_command_quietly(monkeypatch):
    class Closed(io.StringIO):
        def flush(self):
            raise BrokenPipeError

        def fileno(self):
            return 99

    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(output.os, "dup2", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        output.emit("x")
    assert ended.value.code == output.BROKEN_PIPE


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([(1_000, "a"), (None, "b")], "    n  t\n1,000  a\n    —  b"),
        ([], "n  t"),
        ([(True, None)], "n     t\nTrue  —"),
    ],
)
def test_tables_align_numbers_right_and_show_null_as_a_dash(rows, text):
    assert output.table(("n", "t"), rows) == text


def test_the_options_of_one_command_are_gone_with_it(crucible, store, monkeypatch):
    monkeypatch.setenv("CRUCIBLE_WORKSPACE", "default")
    before = dict(os.environ)
    assert crucible("--root", store, "--workspace", "other", "doctor").code in {0, 2}
    assert dict(os.environ) == before
