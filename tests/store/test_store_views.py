"""The wide views of an empty and of a growing store; what they say of runs is in test_views.py."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

from crucible_batch.contracts import ALL, TABLES, Storage
from crucible_batch.contracts.vocabulary import HEADLINE
from crucible_batch.store import MartFile, Plan, catalog
from crucible_batch.store.doctor import diagnose

VIEWS = [table for table in ALL if table.storage in {Storage.FOLD, Storage.VIEW}]
GROWING = [table for table in ALL if table.grows]


def ids(table):
    return table.name


def columns_of(path, view):
    """Name → type of a view's columns as DuckDB keeps them in the catalogue."""
    with duckdb.connect(str(path), read_only=True) as connection:
        rows = connection.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = $view",
            {"view": view},
        )
        return dict(rows.fetchall())


@pytest.mark.parametrize("view", VIEWS, ids=ids)
def test_a_view_has_the_columns_and_types_of_its_contract_before_there_is_a_row(
    store, workspace, view
):
    found = store.sql(f"FROM {view.name}", "w")
    assert found.height == 0
    assert list(found.schema.items()) == list(view.schema.items())


@pytest.mark.parametrize("view", VIEWS, ids=ids)
def test_a_view_reads_the_tables_it_says_it_reads(view):
    template = f"fold_{view.name}" if view.storage is Storage.FOLD else view.name
    text = catalog.fill(template, view=catalog.Names((view.name,))).split("CREATE", 1)[1]
    words = set(text.replace(";", " ").replace("(", " ").split())
    assert {name for name in TABLES if name in words} - {view.name} == set(view.over)


def test_a_table_that_has_no_file_yet_is_there_and_empty(store, workspace):
    for path in workspace.layout.root.glob("lake/*/judgment_overrides.parquet"):
        path.unlink()
    for path in workspace.layout.marts("run_metrics").glob("*"):
        path.unlink()
    assert store.sql("SELECT count(*) FROM judgment_overrides, run_metrics", "w").item() == 0


@pytest.mark.usefixtures("commented")
def test_every_column_of_every_contract_carries_its_description(store, workspace):
    catalog.rebuild(workspace.layout, TABLES)
    with duckdb.connect(str(workspace.layout.catalog), read_only=True) as connection:
        said = connection.execute(
            "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
        ).fetchall()
        views = dict(
            connection.execute(
                "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
            ).fetchall()
        )
    assert views == {table.name: table.description for table in ALL}
    about = {(table, column): comment for table, column, comment in said}
    for table in ALL:
        for column in table.columns:
            assert about[table.name, column.name] == column.description


def test_comments_are_seen_in_crucible_sql_too(store, workspace):
    query = """
        SELECT comment FROM duckdb_columns()
        WHERE table_name = 'v_alerts' AND column_name = 'rule_id'
    """
    assert store.sql(query, "w").item() == TABLES["v_alerts"].column("rule_id").description


def test_views_of_a_growing_mart_follow_its_first_metric(store, workspace):
    """DuckDB 1.4 refuses a view whose columns are others than when it was made."""
    catalog.rebuild(workspace.layout, TABLES)
    (table,) = GROWING
    assert "accuracy" not in columns_of(workspace.layout.catalog, table.name)
    row = pl.DataFrame(
        [["w", "e1", "r1", "i1", 0, None, None, None, False, None]],
        schema=table.schema,
        orient="row",
    )
    rows = row.with_columns(accuracy=pl.lit(1.0), brand_new=pl.lit(0.5))
    file = MartFile(table=table.name, name="r1", rows=rows)
    workspace.publish_marts(workspace.stage_marts([file]))
    assert "brand_new" in columns_of(workspace.layout.catalog, table.name)
    assert '"brand_new"' in workspace.layout.views.read_text()
    assert workspace.refresh_catalog() is False
    with duckdb.connect(str(workspace.layout.catalog), read_only=True) as connection:
        found = connection.execute("SELECT accuracy, brand_new FROM result_metrics").fetchall()
    assert found == [(1.0, 0.5)]


def test_nulls_are_sorted_and_times_are_told_as_in_a_plain_shell(store, workspace):
    query = "SELECT max(a) FROM (VALUES (1), (NULL)) AS t(a) GROUP BY a ORDER BY a"
    assert store.sql(query, "w").to_series().to_list() == [1, None]
    assert store.sql("SELECT current_setting('TimeZone')", "w").item() == "UTC"


def test_an_override_of_another_column_does_not_disturb_the_grades(store, workspace, qrels):
    override = pl.DataFrame(
        [
            {
                "workspace_id": "w",
                "override_id": "o1",
                "target_table": "assertion_verdicts",
                "target_column": "verdict",
                "target_key": '["r1","i1",0,"a1","human"]',
                "old": "missing",
                "new": "supported",
                "author": "ann",
                "reason": "it is there",
                "created_at": qrels("q1")["created_at"][0],
            }
        ],
        schema=TABLES["judgment_overrides"].schema,
    )
    workspace.commit(
        lambda snapshot: Plan(events={"qrels": qrels("q1"), "judgment_overrides": override}),
        kind="t",
        idempotency_key="k",
    )
    query = "SELECT grade, source, n_overridden FROM v_qrels_effective"
    assert store.sql(query, "w").rows() == [(3, "human", 0)]


def test_the_wide_views_hold_exactly_the_headline_metrics():
    metrics = set(HEADLINE)
    assert set(TABLES["v_run_metrics"].names) > metrics
    assert set(TABLES["v_result_metrics"].names) > metrics


def test_a_damaged_mart_stops_neither_doctor_nor_a_commit(store, workspace, qrels):
    damaged = workspace.layout.mart("result_metrics", "r1")
    damaged.write_bytes(b"no Parquet")
    said = " ".join(finding.what for finding in diagnose(workspace))
    assert "result_metrics" in said
    workspace.commit(
        lambda snapshot: Plan(events={"qrels": qrels("q1")}), kind="t", idempotency_key="k"
    )
    assert store.sql("SELECT count(*) FROM qrels", "w").item() == 1
