"""What the wide views say of real runs is what the tables and the scoring say."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from crucible_batch.assemble.evaluate import Options, evaluate_run
from crucible_batch.assemble.overrides import override_judgment
from crucible_batch.contracts.vocabulary import HEADLINE
from crucible_batch.metrics import catalog
from crucible_batch.metrics.grades import resolve_grades
from crucible_batch.store import Store

VIEWS = (
    "v_result_metrics",
    "v_run_metrics",
    "v_comparisons",
    "v_nightly",
    "v_alerts",
    "v_qrels_effective",
)


@pytest.fixture
def demo(demo_store: Path) -> Store:
    return Store.open(demo_store)


@pytest.fixture
def own(demo_store: Path, tmp_path: Path) -> Store:
    """A copy of the demo's store that a test may write to."""
    shutil.copytree(demo_store, tmp_path / "own")
    return Store.open(tmp_path / "own")


def counts(connection) -> list[int]:
    return [connection.execute(f"SELECT count(*) FROM {view}").fetchall()[0][0] for view in VIEWS]


def test_the_headline_metrics_of_the_views_are_those_that_declare_themselves_so():
    declared = {metric.name for metric in catalog.ALL if metric.headline}
    assert set(HEADLINE) == declared
    assert declared <= {metric.name for metric in catalog.result_metrics()}


def test_a_result_has_its_metrics_question_and_state(demo):
    key = ["run_id", "item_id", "sample_index"]
    wide = demo.table("v_result_metrics").sort(key).collect()
    mart = demo.table("result_metrics").sort(key).collect()
    same = [*key, "truthfulness_label", "error_class", *HEADLINE]
    assert_frame_equal(wide.select(same), mart.select(same))
    results = demo.table("results").sort(key).collect()
    assert wide["answer"].equals(results["answer"])
    abstained = results["abstained"].fill_null(value=False)
    assert wide["state"].eq("abstained").equals(abstained)
    assert set(wide["state"]) == {"answered", "abstained"}


def test_a_result_that_is_not_there_stays_in_the_count(own):
    for path in own.root.glob("default/lake/*/results.parquet"):
        rows = pl.read_parquet(path)
        path.unlink()
        rows.filter(pl.col("item_id") != "alert-identity").write_parquet(path)
    found = own.sql("SELECT state, count(*) AS n FROM v_result_metrics GROUP BY ALL")
    assert dict(found.iter_rows())["no_result"] == 4
    assert sum(found["n"]) == 304


def test_a_run_has_one_row_per_slice_with_the_denominators_of_the_mart(demo):
    wide = demo.table("v_run_metrics").collect()
    mart = demo.table("run_metrics").collect()
    key = ["run_id", "slice_by", "slice"]
    assert wide.height == mart.select(key).unique().height
    for name in HEADLINE:
        expected = mart.filter(pl.col("metric") == name).select(
            *key,
            pl.col("mean").alias(name),
            pl.col("n_scored").alias(f"n_{name}"),
            pl.col("coverage").alias(f"coverage_{name}"),
        )
        found = wide.select(*key, name, f"n_{name}", f"coverage_{name}")
        assert_frame_equal(found, expected, check_row_order=False)


def test_comparisons_carry_titles_labels_and_every_row_of_the_mart(demo):
    found = demo.sql(
        "SELECT title, baseline_label, delta, n_pairs, verdict FROM v_comparisons"
        " WHERE metric = 'accuracy' AND slice_by = 'all'"
    )
    (row,) = found.rows()
    assert (row[0], row[1], row[3], row[4]) == ("Accuracy", "lexical-plain", 76, "improved")
    assert round(row[2], 3) == 0.138
    both = demo.sql(
        "SELECT (SELECT count(*) FROM v_comparisons), (SELECT count(*) FROM comparisons)"
    ).row(0)
    assert both[0] == both[1]


def test_a_night_says_which_rules_of_its_gate_failed(demo):
    (night,) = demo.table("v_nightly").collect().to_dicts()
    assert night["gate_outcome"] == "pass"
    assert night["failed_rules"] == []
    assert night["warned_rules"] == ["citations", "unanswerable questions"]
    assert (night["corpus_version"], night["n_breaches"], night["n_unknown"]) == ("v2", 1, 0)


def test_an_alert_says_the_number_behind_it(demo):
    (alert,) = demo.table("v_alerts").collect().to_dicts()
    assert (alert["rule_id"], alert["is_open"], alert["last_kind"]) == (
        "document_age",
        True,
        "opened",
    )
    assert alert["value"] > alert["threshold"]


def test_effective_grades_are_those_a_run_is_scored_with(own):
    before = own.table("qrels").collect()
    judged = before.filter(pl.col("source") == "provenance").row(0, named=True)
    where = {name: judged[name] for name in ("query_id", "target", "source", "judge")}
    for new in ("2", "1"):  # the newer one counts
        override_judgment(own, "default", "qrels", "grade", where, new, author="ann", reason="so")
    found = own.table("v_qrels_effective").sort("query_id", "doc_id").collect()
    is_judged = pl.col("qrel_id") == judged["qrel_id"]
    rows = before.with_columns(grade=pl.when(is_judged).then(1).otherwise("grade"))
    expected = resolve_grades(rows.select("query_id", "doc_id", "grade", "source", "judge"))
    assert_frame_equal(found.select("query_id", "doc_id", "grade", "source"), expected)
    assert found["n_overridden"].sum() == 1
    assert found["n_judgments"].sum() == before.height


def test_a_variant_is_in_no_view(own):
    with duckdb.connect(str(own.workspace().layout.catalog), read_only=True) as connection:
        connection.execute(f"SET VARIABLE crucible_root = '{own.root}/default'")
        before = counts(connection)
        evaluate_run(own, "default", "lexical-plain", options=Options(qrel_source="llm"))
        assert counts(connection) == before


def test_the_views_work_after_a_move_and_as_of_a_commit(own):
    with duckdb.connect(str(own.workspace().layout.catalog), read_only=True) as connection:
        connection.execute(f"SET VARIABLE crucible_root = '{own.root}/default'")
        assert min(counts(connection)) > 0
        first = own.sql("SELECT min(_commit) FROM evaluations").item()
        connection.execute(f"SET VARIABLE crucible_pin = {first}")
        pinned = [own.sql(f"SELECT count(*) FROM {view}", pin=first).item() for view in VIEWS]
        assert counts(connection) == pinned
        runs = connection.execute("SELECT DISTINCT run_id FROM v_run_metrics").fetchall()
        assert runs == [("lexical-plain",)]


def test_views_sql_alone_is_enough(demo_store):
    with duckdb.connect() as connection:
        connection.execute((demo_store / "default" / "views.sql").read_text())
        assert min(counts(connection)) > 0


def test_an_attached_catalogue_needs_no_use(demo_store):
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{demo_store}/default/catalog.duckdb' AS c (READ_ONLY)")
        assert connection.execute("SELECT count(*) FROM c.v_alerts").fetchall() == [(1,)]
