"""What moved the items that moved most, document by document, in a store."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from bench import Bench, item, result

from crucible_batch.assemble.compare import Comparison
from crucible_batch.contracts import TABLES
from crucible_batch.metrics import catalog
from crucible_batch.metrics.contributions import term


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> tuple[Bench, Comparison]:
    """q1 finds its document later and loses another, q2 answers differently, q3 does not move."""
    bench = Bench(tmp_path_factory.mktemp("documents"))
    bench.golden(
        item("q1", must=1, required=("a",)), item("q2", must=1), item("q3", required=("a",))
    )
    grades = {"q1": {"a": 3, "b": 2, "c": 0}, "q2": {"a": 2}, "q3": {"a": 3}}
    bench.qrels(*((q, doc, g) for q, of in grades.items() for doc, g in of.items()))
    same = [result("q3", "a", "b")]
    bench.run(
        "old",
        result("q1", "a", "b", "x", verdict="supported"),
        result("q2", "a", "y", verdict="supported"),
        *same,
    )
    bench.run(
        "new",
        result("q1", "c", "a", "x", verdict="supported"),
        result("q2", "a", "y", verdict="missing"),
        *same,
    )
    return bench, bench.compare("old", "new")


def of(done: Comparison, metric: str, item_id: str) -> list[tuple[object, ...]]:
    rows = done.documents.filter(pl.col("metric") == metric, pl.col("item_id") == item_id)
    return rows.select("doc_id", "rank_baseline", "rank_candidate", "grade").rows()


def test_documents_that_entered_left_or_moved_are_listed_with_their_part(compared):
    _, done = compared
    assert of(done, "ndcg_at_10", "q1") == [("a", 1, 2, 3), ("b", 2, None, 2), ("c", None, 1, 0)]
    ideal = 3 + 2 / math.log2(3)
    parts = done.documents.filter(metric="ndcg_at_10", item_id="q1")["contribution"]
    wanted = [(3 / math.log2(3) - 3) / ideal, -2 / math.log2(3) / ideal, 0.0]
    assert parts.to_list() == pytest.approx(wanted, abs=1e-15)


def test_of_mrr_the_deciding_document_holds_the_whole_difference(compared):
    _, done = compared
    parts = done.documents.filter(metric="mrr_at_10", item_id="q1")
    assert dict(parts.select("doc_id", "contribution").rows()) == {"a": -0.5, "b": 0.0, "c": 0.0}


def test_of_a_metric_of_answers_both_lists_are_shown_without_contributions(compared):
    _, done = compared
    assert of(done, "accuracy", "q2") == [("a", 1, 1, 2), ("y", 2, 2, None)]
    assert done.documents.filter(metric="accuracy")["contribution"].null_count() == 2


def test_contributions_sum_to_every_delta_of_the_items(compared):
    _, done = compared
    metrics = {m.name: m for m in catalog.result_metrics()}
    sums = [name for name, metric in metrics.items() if term(metric) is not None]
    deltas = done.items.filter((pl.col("delta") != 0) & pl.col("metric").is_in(sums))
    assert deltas.height > 10
    for metric, item_id, delta in deltas.select("metric", "item_id", "delta").rows():
        parts = done.documents.filter(metric=metric, item_id=item_id)["contribution"]
        assert abs(math.fsum(parts) - delta) <= 1e-12, (metric, item_id)


def test_an_item_that_does_not_move_is_not_explained(compared):
    _, done = compared
    assert "q3" not in set(done.documents["item_id"])


def test_the_table_keeps_its_contract_and_stands_in_the_marts(compared):
    bench, done = compared
    table = TABLES["comparison_documents"]
    stored = pl.read_parquet(done.paths["comparison_documents"])
    assert stored.equals(done.documents)
    assert stored.sort(table.key).equals(stored)
    path = Path(done.paths["comparison_documents"]).relative_to(bench.root)
    assert path.as_posix() == "marts/comparison_documents/old~new.parquet"


def test_a_run_against_itself_has_nothing_to_explain(compared):
    bench, _ = compared
    assert bench.compare("old", "old").documents.is_empty()
