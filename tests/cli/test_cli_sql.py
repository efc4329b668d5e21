"""`crucible sql`: forms and files, the prompt, and what it must not do."""

from __future__ import annotations

import io
import json
import sys

import polars as pl
import pytest

from crucible_batch.cli import shell
from crucible_batch.cli.sql import Format, Session

ITEMS = "SELECT item_id, revision, author FROM golden_items ORDER BY ALL"


@pytest.fixture
def typed(monkeypatch, crucible, golden):
    """Run the prompt with lines as if a person typed them; an exception is raised, as a key."""

    def run(*lines, words=()):
        left = iter(lines)

        def ask(_):
            line = next(left, None)
            if line is None:
                raise EOFError
            if isinstance(line, type):
                raise line
            return line

        monkeypatch.setattr("builtins.input", ask)
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        done = crucible("sql", *words)
        assert next(left, None) is None
        assert done.code == 0
        return done.out

    return run


# --- forms and files --------------------------------------------------------------------------


def test_csv_is_whole_and_keeps_null_and_blank_apart(golden, crucible):
    query = "SELECT NULL AS a, '' AS b, ['x', 'y'] AS c, 'q,r' AS d, TIMESTAMPTZ '2026-03-01' AS t"
    done = crucible("sql", query, "--format", "csv")
    assert done.out == ('a,b,c,d,t\n,"","[""x"", ""y""]","q,r",2026-03-01T00:00:00.000000+00:00\n')


def test_json_is_one_object_per_line_whichever_way_it_is_asked_for(golden, crucible):
    outs = {crucible("sql", ITEMS, *words).out for words in (("--json",), ("--format", "json"))}
    (out,) = outs
    assert [json.loads(line)["item_id"] for line in out.splitlines()] == ["q1", "q2"]


def test_markdown_is_a_table_whose_cells_stay_in_their_line(golden, crucible):
    query = "SELECT 'a|b' || chr(10) || 'c' AS t, 1 AS n, NULL::VARCHAR AS x"
    assert crucible("sql", query, "--format", "markdown").out.splitlines() == [
        "| t | n | x |",
        "|---|---:|---|",
        "| a\\|b⟨U+000A⟩c | 1 | — |",
    ]


@pytest.mark.parametrize(
    ("form", "want"),
    [
        ("table", 'aabb  {"t": "2026-03-01", "n": [1, null]}'),
        ("markdown", '| aabb | {"t": "2026-03-01", "n": [1, null]} |'),
        ("csv", 'aabb,"{""t"": ""2026-03-01"", ""n"": [1, null]}"'),
        ("json", '{"b": "aabb", "s": {"t": "2026-03-01", "n": [1, null]}}'),
    ],
)
def test_bytes_are_hex_and_structs_are_json_in_every_text(golden, crucible, form, want):
    query = "SELECT '\\xAA\\xBB'::BLOB AS b, {'t': DATE '2026-03-01', 'n': [1, NULL]} AS s"
    assert want in crucible("sql", query, "--format", form).out.splitlines()


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("x.csv", b"item_id,"),
        ("x.jsonl", b'{"item_id"'),
        ("x.md", b"| item_id"),
        ("x", b"item_id "),
    ],
)
def test_the_name_of_the_file_says_the_format(golden, crucible, tmp_path, name, start):
    done = crucible("sql", ITEMS, "-o", tmp_path / "new" / name)
    assert done.out == ""
    assert "wrote 2 rows to" in done.err
    assert (tmp_path / "new" / name).read_bytes().startswith(start)


def test_parquet_goes_to_a_file(golden, crucible, tmp_path):
    assert crucible("sql", ITEMS, "-o", tmp_path / "x.parquet").code == 0
    assert pl.read_parquet(tmp_path / "x.parquet")["item_id"].to_list() == ["q1", "q2"]


def test_parquet_goes_into_a_pipe(golden, crucible, monkeypatch):
    pipe = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", pipe)
    crucible("sql", ITEMS, "--format", "parquet")
    pipe.buffer.seek(0)
    assert pl.read_parquet(pipe.buffer)["item_id"].to_list() == ["q1", "q2"]


def test_parquet_goes_to_no_terminal(golden, crucible, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    done = crucible("sql", ITEMS, "--format", "parquet")
    assert done.code == 2
    assert "say -o FILE" in done.err


def test_two_formats_are_refused(golden, crucible):
    done = crucible("sql", ITEMS, "--json", "--format", "csv")
    assert done.code == 2
    assert "two formats" in done.err


def test_a_table_fits_the_width_and_says_what_is_not_to_be_seen(golden, crucible, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out = crucible("sql", "FROM golden_items").out
    assert max(map(len, out.splitlines()[:-2])) <= 60
    assert "columns do not fit" in out
    monkeypatch.delenv("COLUMNS")
    assert "do not fit" not in crucible("sql", "FROM golden_items").out


def test_a_long_table_on_a_terminal_says_how_many_rows_there_are(golden, crucible, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    out = crucible("sql", "SELECT unnest(range(1000)) AS n").out
    assert out.splitlines()[-1] == "(200 of 1,000 rows; --format csv or json prints all)"
    assert len(crucible("sql", "SELECT unnest(range(1000)) AS n", "--json").out.split()) > 1000


# --- the prompt -------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["\\q", "exit", "QUIT;", ".quit"])
def test_the_prompt_says_how_it_is_left_and_is_left_so(typed, word):
    out = typed("SELECT 1 AS one", ";", word)
    assert "\\q, exit, quit or Control-D leaves" in out
    assert "(1 row)" in out


def test_a_statement_ends_with_a_semicolon_that_is_no_text_and_no_comment(typed):
    out = typed("SELECT 'a;", "b' AS x -- not yet;", ", 2 AS y; -- now")
    assert "a;⟨U+000A⟩b  2" in out


def test_control_c_forgets_what_was_typed(typed):
    out = typed("SELECT nonsense", KeyboardInterrupt, "SELECT 7 AS seven;")
    assert "error" not in out
    assert "seven" in out


def test_control_c_stops_what_is_running_and_the_prompt_goes_on(typed, monkeypatch):
    monkeypatch.setattr(Session, "rows", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert "stopped" in typed("SELECT 1;")


def test_an_error_does_not_end_the_prompt_and_says_what_was_meant(typed):
    out = typed("FROM golden_item;", "SELECT 7 AS seven;")
    assert "Did you mean golden_items" in out
    assert "seven" in out


def test_the_words_of_the_prompt_describe_help_and_change_the_format(typed):
    out = typed(
        "\\d", "\\d v_alerts", ".help", "\\f csv", "SELECT 1 AS a, 2 AS b;", "\\x", "\\f so"
    )
    for said in ("Wide views", "wide view of alert_events", "Control-C", "a,b\n1,2\n"):
        assert said in out
    assert "does not know \\x" in out
    assert "one of table, csv, json, markdown" in out


def test_what_was_typed_is_there_in_the_next_session_and_not_in_the_store(
    typed, golden, tmp_path, monkeypatch
):
    import readline

    monkeypatch.setattr("builtins.input", lambda _: "")
    typed(words=("--json",))
    readline.add_history("SELECT 42;")
    shell._keep(readline, shell.history_file())
    kept = tmp_path / "state" / "crucible" / "sql_history"
    assert "SELECT 42;" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    readline.clear_history()
    typed()
    assert "SELECT 42;" in kept.read_text()
    assert not [path for path in golden.rglob("*") if "history" in path.name]


def test_a_history_that_cannot_be_kept_is_told(typed, tmp_path):
    (tmp_path / "state").write_text("a file")
    assert "the history could not be kept" in typed()


@pytest.mark.parametrize(
    ("word", "line", "found"),
    [
        ("v_run", "FROM v_run", ["v_run_metrics"]),
        ("accu", "SELECT accu FROM v_run_metrics", ["accuracy"]),
        ("m.cov", "SELECT m.cov FROM v_run_metrics m", ["m.coverage_accuracy"]),
        ("ndcg_exp", "SELECT ndcg_exp FROM result_metrics", ["ndcg_exp_at_5"]),
        ("sele", "sele", ["SELECT"]),
        ("golden_i", "\\d golden_i", ["golden_items"]),
        ("nothing_like_it", "FROM nothing_like_it", []),
    ],
)
def test_tab_completes_tables_columns_and_words(word, line, found):
    assert shell.completions(word, line)[: len(found) or 1] == found


def test_columns_of_the_tables_in_the_line_come_alone(monkeypatch):
    found = shell.completions("", "SELECT  FROM v_alerts WHERE ")
    assert "is_open" in found
    assert "ndcg_at_10" not in found


def test_readline_asks_for_one_completion_after_the_other(monkeypatch):
    monkeypatch.setattr("readline.get_line_buffer", lambda: "FROM v_al")
    assert shell.complete("v_al", 0) == "v_alerts"
    assert shell.complete("v_al", 1) is None


def test_the_prompt_writes_no_file(golden, crucible, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    done = crucible("sql", "-o", tmp_path / "x.csv")
    assert done.code == 2
    assert 'crucible sql "SELECT …" -o FILE' in done.err


def test_a_pipe_gives_one_statement_in_any_format(golden, crucible, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1 AS a"))
    assert crucible("sql", "--format", "csv").out == "a\n1\n"


# --- what it must not do ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "FROM read_csv('https://example.org/x.csv')",
        "FROM read_parquet('s3://bucket/x.parquet')",
        "FROM '../crucible.toml'",
        "FROM read_blob('crucible.toml')",
        "SELECT getenv('HOME')",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "FROM duckdb_secrets() UNION ALL FROM read_text('/proc/self/environ')",
        "CREATE SECRET (TYPE s3)",
        "DELETE FROM golden_items",
        "UPDATE golden_items SET author = 'x'",
        "DROP VIEW golden_items",
        "USE memory",
        "EXECUTE v",
    ],
)
def test_no_statement_reads_elsewhere_writes_or_phones(golden, crucible, query):
    before = sorted(golden.rglob("*"))
    done = crucible("sql", query)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert sorted(golden.rglob("*")) == before


def test_every_format_has_a_writer():
    assert set(Format) == {"table", "csv", "json", "parquet", "markdown"}
