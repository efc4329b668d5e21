from __future__ import annotations

import os
import shutil
import signal
import threading
from datetime import date, datetime

import duckdb
import pandas as pd
import polars as pl
import pytest

from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import About, MartFile, Plan, Store, catalog
from crucible_batch.store.doctor import diagnose


@pytest.fixture
def filled(store, workspace, qrels, results, metrics):
    """Two commits of judgments, one run, one mart."""
    for key in ("q1", "q2"):
        rows = qrels(key)
        workspace.commit(
            lambda snapshot, rows=rows: Plan(events={"qrels": rows}),
            kind="t",
            idempotency_key=key,
        )
    bulk = workspace.stage_frame("results", results("i1", "i2"), "r1")
    workspace.commit(
        lambda snapshot: Plan(bulk=[bulk]),
        kind="t",
        idempotency_key="r",
        about=About(subject="r1"),
    )
    workspace.publish_marts(
        workspace.stage_marts([MartFile(table="scores", name="r1", rows=metrics("i1"))])
    )
    return store


@pytest.fixture
def catalogued(filled):
    """The same with a catalogue that points to it."""
    catalog.rebuild(filled.workspace("w").layout, TABLES)
    return filled


def test_every_table_is_a_view(filled):
    names = set(filled.sql("SELECT table_name FROM information_schema.tables", "w")["table_name"])
    assert names == set(TABLES)


def test_lake_marts_and_bulk_tables_join(filled):
    query = """
        SELECT r.item_id, s.value, r._commit
        FROM results r JOIN scores s USING (run_id, item_id)
    """
    assert filled.sql(query, "w").rows() == [("i1", 0.5, 3)]


def test_a_pin_shows_an_earlier_commit(filled):
    assert filled.sql("SELECT count(*) FROM qrels", "w", pin=1).item() == 1
    assert filled.sql("SELECT count(*) FROM results", "w", pin=2).item() == 0


def test_sums_of_integers_come_as_integers(filled):
    assert filled.sql("SELECT sum(grade) AS s FROM qrels", "w").schema == {"s": pl.Int64}


@pytest.mark.parametrize(
    "query",
    [
        "DESCRIBE qrels",
        "DESCRIBE",
        "DESCRIBE v_run_metrics",
        "SHOW TABLES",
        "EXPLAIN SELECT * FROM qrels",
        "/* why */ EXPLAIN ANALYZE SELECT * FROM qrels",
        "EXPLAIN (FORMAT json) SELECT * FROM qrels",
        "SUMMARIZE qrels",
        "WITH a AS (FROM qrels) SELECT count(*) FROM a;",
        "FROM qrels -- all",
        "PIVOT qrels ON source USING count(*)",
        "VALUES (1)",
    ],
)
def test_statements_that_read_are_allowed(filled, query):
    assert filled.sql(query, "w").height >= 1


@pytest.mark.parametrize(
    "query",
    [
        "COPY qrels TO '{0}/x.parquet'",
        "COPY (PIVOT qrels ON source USING count(*)) TO '{0}/x.parquet'",
        "EXPLAIN ANALYZE COPY qrels TO '{0}/x.parquet'",
        "/* a */ EXPLAIN ANALYZE -- b\n COPY qrels TO '{0}/x.parquet'",
        "EXPORT DATABASE '{0}/x'",
        "ATTACH '{0}/x.duckdb'",
        "CREATE TABLE x AS FROM qrels",
        "CREATE TABLE x AS (PIVOT qrels ON source USING count(*))",
        "INSERT INTO qrels FROM qrels",
        "SET threads = 1",
        "SET VARIABLE a = 1",
        "PRAGMA version",
        "CALL pragma_version()",
        "INSTALL json",
        "CHECKPOINT",
        "PREPARE v AS SELECT 1",
        "BEGIN",
    ],
)
def test_statements_that_do_more_than_read_are_refused(filled, query):
    folder = filled.workspace("w").layout.root
    before = sorted(path.name for path in folder.rglob("*"))
    with pytest.raises(UsageError, match="only statements that read"):
        filled.sql(query.format(folder), "w")
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_one_statement_at_a_time(filled):
    with pytest.raises(UsageError, match="One statement at a time"):
        filled.sql("SELECT 1; SELECT 2", "w")


@pytest.mark.parametrize("query", ["", " ; ", "-- nothing"])
def test_no_statement_is_said_to_be_none(filled, query):
    with pytest.raises(UsageError, match="There is no statement"):
        filled.sql(query, "w")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("INTERVAL 3 DAY", "INTERVAL"),
        ("[INTERVAL 3 DAY]", "INTERVAL"),
        ("{'a': [union_value(k := 1)]}", "UNION"),
        ("'101'::BIT", "BIT"),
        ("1::BIGNUM", "BIGNUM"),
        ("TIMETZ '10:00:00+01'", "TIME WITH TIME ZONE"),
        ("TIMESTAMP 'infinity'", "years 1 to 9999"),
        ("DATE '-infinity'", "years 1 to 9999"),
        ("TIMESTAMPTZ '0044-03-15 (BC) 12:00:00'", "years 1 to 9999"),
    ],
)
def test_a_value_no_table_holds_is_refused_by_the_name_of_its_column(filled, value, told):
    with pytest.raises(UsageError, match=rf"Column 'a\"b' .*{told}") as refused:
        filled.sql(f'SELECT 1 AS x, {value} AS "a""b"', "w")
    assert str(refused.value).endswith('Fix: cast it in the query: "a""b"::VARCHAR')


def test_first_and_last_instants_of_the_calendar_are_held(filled):
    query = "SELECT DATE '0001-01-01' AS a, TIMESTAMP '9999-12-31 23:59:59.999999' AS b"
    assert filled.sql(query, "w").row(0) == (date.min, datetime.max)  # noqa: DTZ901


@pytest.mark.parametrize(
    "source",
    ["'/etc/passwd'", "read_text('/etc/hostname')", "glob('/*')", "read_csv('{0}/../o.csv')"],
)
def test_nothing_outside_the_workspace_can_be_read(filled, source):
    root = filled.workspace("w").layout.root
    (filled.root / "o.csv").write_text("a\n1\n")
    with pytest.raises(UsageError):
        filled.sql(f"SELECT * FROM {source.format(root)}", "w")


def test_another_workspace_cannot_be_read(filled):
    other = filled.workspace("w2", create=True).layout.root
    with pytest.raises(UsageError, match="disabled by configuration"):
        filled.sql(f"SELECT * FROM '{other}/lake/*/qrels.parquet'", "w")


def test_files_of_the_workspace_can_be_read_by_path(filled):
    root = filled.workspace("w").layout.root
    assert filled.sql(f"SELECT count(*) FROM '{root}/lake/*/qrels.parquet'", "w").item() == 2


def test_python_variables_are_not_tables(filled):
    secret = pl.DataFrame({"a": [1]})
    with pytest.raises(UnknownNameError, match="No table is called 'secret'"):
        filled.sql("SELECT * FROM secret", "w")
    assert secret.height == 1


def test_a_mistyped_table_is_named_with_its_neighbours(filled):
    with pytest.raises(UnknownNameError) as caught:
        filled.sql("SELECT * FROM qrel", "w")
    assert "qrels" in caught.value.fix


def test_a_wrong_statement_says_where(filled):
    with pytest.raises(UsageError, match="syntax error"):
        filled.sql("SELEC 1", "w")
    with pytest.raises(UsageError, match='"grad" not found') as caught:
        filled.sql("SELECT grad FROM qrels", "w")
    assert "crucible schema TABLE" in caught.value.fix


def test_a_type_no_table_can_hold_is_explained(filled):
    with pytest.raises(UsageError, match="no table can hold") as caught:
        filled.sql("SELECT INTERVAL 1 DAY AS a", "w")
    assert "VARCHAR" in caught.value.fix


def test_paths_with_glob_characters_and_quotes_work(tmp_path, qrels, metrics):
    store = Store.create(tmp_path / "it's [a]* ?")
    workspace = store.workspace("w", create=True)
    workspace.commit(
        lambda snapshot: Plan(events={"qrels": qrels("q1")}), kind="t", idempotency_key="k"
    )
    file = MartFile(table="scores", name="r", rows=metrics("i1"))
    workspace.publish_marts(workspace.stage_marts([file]))
    assert store.sql("SELECT count(*) FROM qrels, scores", "w").item() == 1
    assert len(store.table("scores", "w").collect()) == 1
    assert [finding.level for finding in diagnose(workspace)] == ["error"]  # no audit event
    with duckdb.connect(str(workspace.layout.catalog), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM qrels").fetchall() == [(1,)]


def test_the_catalogue_works_from_any_directory(catalogued, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = os.path.relpath(catalogued.workspace("w").layout.catalog)
    with duckdb.connect(path, read_only=True) as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0]
            for name in ("qrels", "results", "scores", "commits")
        ]
        assert counts == [2, 2, 1, 3]
        connection.execute("SET VARIABLE crucible_pin = 1")
        assert connection.execute("SELECT count(*), max(_commit) FROM qrels").fetchall() == [(1, 1)]
        assert connection.execute("SELECT count(*) FROM results").fetchall() == [(0,)]


def test_the_catalogue_is_of_the_format_duckdb_1_4_opens(catalogued):
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{catalogued.workspace('w').layout.catalog}' AS c (READ_ONLY)")
        tags = connection.execute(
            "SELECT tags FROM duckdb_databases() WHERE database_name = 'c'"
        ).fetchall()
    assert tags[0][0]["storage_version"].startswith("v1.4")


def test_views_sql_makes_the_same_views(catalogued):
    with duckdb.connect() as connection:
        connection.execute(catalogued.workspace("w").layout.views.read_text())
        assert connection.execute("SELECT count(*) FROM qrels").fetchall() == [(2,)]


def test_after_a_move_one_variable_is_enough_and_the_next_commit_rebuilds(
    catalogued, qrels, tmp_path
):
    shutil.move(catalogued.root, tmp_path / "moved")
    moved = Store.open(tmp_path / "moved").workspace("w")
    with duckdb.connect(str(moved.layout.catalog), read_only=True) as connection:
        connection.execute(f"SET VARIABLE crucible_root = '{moved.layout.root}'")
        assert connection.execute("SELECT count(*) FROM qrels").fetchall() == [(2,)]
    moved.commit(
        lambda snapshot: Plan(events={"qrels": qrels("q3")}), kind="t", idempotency_key="z"
    )
    with duckdb.connect(str(moved.layout.catalog), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM qrels").fetchall() == [(3,)]
    assert moved.refresh_catalog() is False


def test_plain_polars_pandas_and_duckdb_read_the_globs(filled):
    root = filled.workspace("w").layout.root
    glob = f"{root}/lake/*/qrels.parquet"
    assert len(pl.read_parquet(glob)) == 2
    assert duckdb.sql(f"SELECT count(*) FROM '{glob}'").fetchall() == [(2,)]
    frame = pd.concat(pd.read_parquet(path) for path in sorted(root.glob("lake/*/qrels.parquet")))
    assert frame["query_id"].tolist() == ["q1", "q2"]
    assert len(pl.read_parquet(f"{root}/lake/*/results.parquet")) == 2
    assert len(pl.read_parquet(f"{root}/marts/scores/*.parquet")) == 1
    assert pd.read_parquet(root / "marts" / "scores" / "r1.parquet")["value"].tolist() == [0.5]


def test_control_c_stops_a_query_as_it_stops_a_program(filled):
    stop = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        filled.sql("SELECT count(*) FROM range(100_000_000_000) a, range(100) b", "w")
    stop.join()
