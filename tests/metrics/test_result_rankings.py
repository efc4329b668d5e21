from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from crucible_batch.metrics import catalog
from crucible_batch.metrics.companions import Beside, beside, companions, summarise
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.ranking_frame import Rankings
from crucible_batch.metrics.result_rankings import result_rankings
from crucible_batch.metrics.retrieval import named
from crucible_batch.metrics.retrieval_scores import retrieval_scores
from crucible_batch.metrics.score import score, score_table

KEY = ("item_id", "sample_index")
RETRIEVAL = [m for m in catalog.result_metrics() if m.grain is RANKING]


class Run:
    """A small run: what each result retrieved, and what is known of its item."""

    def __init__(self, *, samples_n: int = 1, reported: bool = True) -> None:
        self.samples_n, self.reported = samples_n, reported
        self.expected: list[dict[str, Any]] = []
        self.rows: list[tuple[Any, ...]] = []
        self.grades: list[tuple[str, str, int, str]] = []
        self.counts: list[tuple[str, int, int]] = []
        self.citations: list[tuple[str, str, str]] = []

    def item(
        self,
        item_id: str,
        *retrieved: Iterable[Any],
        grades: dict[str, int] | None = None,
        llm: Iterable[str] = (),
        n_unplaced: int = 0,
        required: Iterable[str] = (),
        **state: Any,
    ) -> Run:
        """Add an item; `retrieved` holds one list of documents (or (document, score)) a sample."""
        for sample in range(self.samples_n):
            dull = {"has_result": True, "errored": False, "answerable": True, "retrieval_ran": True}
            self.expected.append({"item_id": item_id, "sample_index": sample} | dull | state)
            for rank, doc in enumerate(retrieved[sample] if retrieved else [], start=1):
                name, value = doc if isinstance(doc, tuple) else (doc, None)
                self.rows.append((item_id, sample, 2 * rank, name, value, None))
        for doc, grade in (grades or {}).items():
            self.grades.append((item_id, doc, grade, "llm" if doc in llm else "human"))
        if grades or n_unplaced:
            n_placed = len(grades or {})
            self.counts.append((item_id, n_placed + n_unplaced, n_placed))
        self.citations += [(item_id, doc, "required") for doc in required]
        return self

    def rankings(self, metrics: list[Metric], **options: Any) -> Rankings:
        text, number = pl.String, pl.Int64
        tables = [
            pl.DataFrame(self.expected).sort(KEY),
            _table(
                self.rows,
                item_id=text,
                sample_index=number,
                rank=number,
                doc_id=text,
                score=pl.Float64,
                chunk_id=text,
            ),
            _table(self.grades, query_id=text, doc_id=text, grade=number, source=text),
            _table(self.counts, query_id=text, n_qrels=number, n_placed=number),
            _table(self.citations, item_id=text, doc_id=text, kind=text),
        ]
        return result_rankings(
            *tables,
            metrics=metrics,
            relevant_at=2,
            retrieval_reported=self.reported,
            **options,
        )

    def scores(self, *names: str) -> pl.DataFrame:
        metrics = [catalog.find(n) for n in names] if names else list(RETRIEVAL)
        asked = [m for m in metrics if isinstance(m, Metric)]
        return score({"ranking": self.rankings(asked).frame}, asked, KEY)

    def one(self, name: str) -> tuple[float | None, str | None]:
        found = self.scores(name)
        assert found.height == 1
        return found["value"][0], found["null_reason"][0]


def _table(rows: list[tuple[Any, ...]], **schema: Any) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_positions_count_by_rank_after_repeats_are_dropped() -> None:
    run = Run().item("i", ["x", "x", "a"], grades={"a": 3})
    assert run.one("mrr") == (0.5, None)
    assert run.one("n_retrieved") == (2.0, None)


def test_every_sample_is_scored_against_the_judgments_of_its_item() -> None:
    run = Run(samples_n=2).item("i", ["a"], ["x", "a"], grades={"a": 2}, required=["a"])
    assert run.scores("mrr")["value"].to_list() == [1.0, 0.5]
    assert run.scores("required_doc_recall")["value"].to_list() == [1.0, 1.0]


def test_required_documents_are_found_in_the_first_ten() -> None:
    docs = [f"x{i}" for i in range(9)]
    run = Run().item("i", [*docs, "a", "b"], required=["a", "b"])
    assert run.one("retrieval_hit_rate") == (1.0, None)
    assert run.one("required_doc_recall") == (0.5, None)


def test_a_required_document_below_the_cut_is_no_hit() -> None:
    run = Run().item("i", [f"x{i}" for i in range(10)] + ["a"], required=["a"])
    assert run.one("retrieval_hit_rate") == (0.0, None)


def test_retrieval_that_returned_nothing_is_measured_and_bad() -> None:
    run = Run().item("i", [], grades={"a": 3}, required=["a"])
    for name in ("recall_at_10", "ndcg_at_10", "mrr", "retrieval_hit_rate", "precision_at_5"):
        assert run.one(name) == (0.0, None)
    assert run.one("judged_at_10") == (None, "nothing_retrieved")


@pytest.mark.parametrize(
    ("facts", "metric", "reason"),
    [
        ({"answerable": False}, "recall_at_10", "unanswerable"),
        ({"answerable": False, "errored": True}, "recall_at_10", "unanswerable"),
        ({"grades": {"a": 1}}, "recall_at_10", "no_relevant_judged"),
        ({"grades": {"a": 1}, "has_result": False}, "mrr", "no_relevant_judged"),
        ({"grades": {"a": 0}}, "ndcg_at_10", "no_relevant_judged"),
        ({}, "retrieval_hit_rate", "no_required_citations"),
        ({"grades": {"a": 2}, "has_result": False}, "recall_at_10", "no_result"),
        ({"grades": {"a": 2}, "errored": True}, "recall_at_10", "errored"),
        ({"has_result": False}, "recall_at_10", "no_result"),
        ({"grades": {"a": 2}, "retrieval_ran": False}, "recall_at_10", "contexts_provided"),
        ({"retrieval_ran": False}, "n_retrieved", "contexts_provided"),
        ({}, "recall_at_10", "no_qrels"),
        ({}, "ndcg_at_10", "no_qrels"),
        ({}, "precision_at_10", "no_qrels"),
        ({}, "n_relevant", "no_qrels"),
        ({"n_unplaced": 2}, "recall_at_10", "unplaced"),
        ({"n_unplaced": 2, "answerable": False}, "recall_at_10", "unplaced"),
    ],
)
def test_a_missing_value_says_why(facts: dict[str, Any], metric: str, reason: str) -> None:
    assert Run().item("i", ["a"], **facts).one(metric) == (None, reason)


def test_grade_one_is_no_relevant_document_but_a_gain() -> None:
    run = Run().item("i", ["a"], grades={"a": 1})
    assert run.one("ndcg_at_10") == (1.0, None)
    assert run.one("precision_at_10") == (0.0, None)


def test_a_run_that_does_not_report_retrieval_has_no_retrieval_metric() -> None:
    run = Run(reported=False).item("i", [], grades={"a": 2}, required=["a"])
    reasons = set(run.scores()["null_reason"])
    assert reasons == {"not_reported", None}
    assert run.one("n_relevant") == (1.0, None)


def test_chunks_are_ranked_and_their_documents_required() -> None:
    expected = pl.DataFrame(
        {
            "item_id": ["i"],
            "sample_index": [0],
            "has_result": [True],
            "errored": [False],
            "answerable": [True],
            "retrieval_ran": [True],
        }
    )
    retrievals = pl.DataFrame(
        {
            "item_id": ["i"] * 3,
            "sample_index": [0] * 3,
            "rank": [1, 2, 3],
            "doc_id": ["A", "A", "B"],
            "chunk_id": ["A#1", "A#2", "B#1"],
            "score": [3.0, 2.0, 1.0],
        }
    )
    grades = pl.DataFrame(
        {"query_id": ["i"], "doc_id": ["A"], "chunk_id": ["A#2"], "grade": [3], "source": ["llm"]}
    )
    judged = pl.DataFrame({"query_id": ["i"], "n_qrels": [4], "n_placed": [1]})
    citations = pl.DataFrame({"item_id": ["i"], "doc_id": ["B"], "kind": ["required"]})
    metrics = [named("mrr"), named("n_retrieved")]
    required = [m for m in RETRIEVAL if m.name == "required_doc_recall"]
    found = result_rankings(
        expected,
        retrievals,
        grades,
        judged,
        citations,
        metrics=[*metrics, *required],
        relevant_at=2,
        retrieval_reported=True,
        granularity="chunk",
    )
    scores = score({"ranking": found.frame}, [*metrics, *required], KEY)
    assert scores["value"].to_list() == [0.5, 3.0, 1.0]


def test_a_run_by_rank_scores_as_retrieval_scores_does() -> None:
    rng = random.Random(3)
    run, rows, qrels = Run(), [], []
    for i in range(40):
        docs = rng.sample([f"d{n}" for n in range(30)], rng.randrange(25))
        grades = {f"d{n}": rng.randrange(4) for n in rng.sample(range(30), 8)}
        run.item(f"i{i:02}", docs, grades=grades)
        rows += [(f"i{i:02}", doc, rank) for rank, doc in enumerate(docs, start=1)]
        qrels += [(f"i{i:02}", doc, grade) for doc, grade in grades.items()]
    names = [m.name for m in RETRIEVAL if not m.name.startswith("re") or "recall_at" in m.name]
    reference = retrieval_scores(
        pl.DataFrame(rows, schema=["query_id", "doc_id", "rank"], orient="row"),
        pl.DataFrame(qrels, schema=["query_id", "doc_id", "grade"], orient="row"),
        names,
    )
    found = run.scores(*names)
    assert len(names) > 20
    assert found["value"].equals(reference["value"])
    assert found["null_reason"].equals(reference["null_reason"])


def rows_beside(run: Run, metrics: Sequence[Metric]) -> dict[str, tuple[Beside, np.ndarray]]:
    """Companions and scores of every metric, for the results that carry it."""
    rankings = run.rankings(metrics, companions=True)
    table = score_table({"ranking": rankings.frame}, metrics, KEY)
    found = companions(rankings, metrics, KEY)
    every = np.arange(table.index.height)
    return {
        metric.name: (
            beside(found, metric, table.values[:, place], every),
            table.values[:, place][table.codes[:, place] == 0],
        )
        for place, metric in enumerate(metrics)
    }


def told(run: Run, *names: str) -> dict[str, dict[str, Any]]:
    """Companions of the one result that carries each metric."""
    metrics = [m for n in names if isinstance(m := catalog.find(n), Metric)]
    return {
        name: {what: None if column is None else column[0] for what, column in vars(row).items()}
        for name, (row, values) in rows_beside(run, metrics).items()
        if len(values)
    }


def test_companions_count_what_a_metric_read_and_who_judged_it() -> None:
    docs = ["a", "x", "b", "c", "y", "d"]
    run = Run().item("i", docs, grades={"a": 3, "b": 0, "c": 2, "d": 1}, llm=["b", "c"])
    row = told(run, "recall_at_5")["recall_at_5"]
    assert (row["n_read"], row["n_judged"], row["n_by_llm"]) == (5, 3, 2)


def test_a_tie_across_the_cut_is_told() -> None:
    docs = [(f"d{i}", 1.0 if i in {4, 5} else float(10 - i)) for i in range(12)]
    rows = told(Run().item("i", docs, grades={"d0": 3}), "hit_at_5", "hit_at_10", "mrr")
    assert rows["hit_at_5"]["is_tied"]
    assert not rows["hit_at_10"]["is_tied"]
    assert rows["mrr"]["is_tied"] is None


def test_dropped_repeats_are_told() -> None:
    run = Run().item("i", ["a", "a", "b", "a"], grades={"a": 3})
    assert told(run, "mrr")["mrr"]["n_dropped"] == 2


def test_bounds_count_the_unjudged_within_the_cut_as_zero_and_as_top() -> None:
    run = Run().item("i", ["x", "a", "y", "z", "b", "w"], grades={"a": 3, "b": 0})
    rows = told(run, "precision_at_5", "recall_at_5", "mrr", "ndcg_at_5", "judged_at_5")
    assert (rows["precision_at_5"]["low"], rows["precision_at_5"]["high"]) == (0.2, 0.8)
    assert (rows["recall_at_5"]["low"], rows["recall_at_5"]["high"]) == (1.0, 1.0)
    assert (rows["mrr"]["low"], rows["mrr"]["high"]) == (0.5, 1.0)
    assert rows["ndcg_at_5"]["high"] == 1.0


def test_a_metric_of_citations_has_no_judged_share_and_no_bounds() -> None:
    run = Run().item("i", ["a"], grades={"a": 3}, required=["a"])
    row = told(run, "retrieval_hit_rate", "mrr")["retrieval_hit_rate"]
    assert (row["n_judged"], row["low"], row["high"], row["n_dropped"]) == (None, None, None, 0)


def test_results_without_the_metric_have_no_companions() -> None:
    assert told(Run().item("i", ["a"]), "recall_at_5") == {}


def test_bounds_always_hold_the_value() -> None:
    rng = random.Random(11)
    run = Run(samples_n=2)
    for i in range(30):
        docs = [rng.sample([f"d{n}" for n in range(20)], rng.randrange(20)) for _ in (0, 1)]
        run.item(
            f"i{i}", *docs, grades={f"d{n}": rng.randrange(4) for n in rng.sample(range(20), 6)}
        )
    metrics = [m for m in RETRIEVAL if not m.name.startswith(("retrieval_hit", "required"))]
    found = rows_beside(run, metrics)
    bounded = {name: rows for name, (rows, _) in found.items() if rows.low is not None}
    assert sum(len(rows.n_read) for rows in bounded.values()) > 500
    for name, rows in bounded.items():
        values = found[name][1]
        assert ((rows.low <= values) & (values <= rows.high)).all()
    assert all(name.startswith("n_") for name in found.keys() - bounded.keys())


def test_companions_of_a_slice_are_sums_and_means() -> None:
    run = Run().item("i", ["a", "x"], grades={"a": 3}, llm=["a"])
    run.item("j", ["b", "b", "y", "c"], grades={"b": 0, "c": 2})
    metrics = [named("precision@5")]
    [(rows, _)] = rows_beside(run, metrics).values()
    assert summarise(rows) == {
        "judged_share": 3 / 5,
        "llm_only_share": 1 / 3,
        "n_tied_at_cut": 0,
        "n_duplicates": 1,
        "unjudged_low": 0.2,
        "unjudged_high": 0.4,
    }
