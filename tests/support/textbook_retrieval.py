"""Retrieval metrics as a textbook writes them: plain loops over one query, no tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

import polars as pl

from crucible_batch.metrics.retrieval_scores import retrieval_scores

Scored = dict[str, list[tuple[str, float]]]
"""Query to its scored documents."""

Judged = dict[str, dict[str, int]]
"""Query to its judged documents."""

WHOLE = 10**6
"""A cut-off below every ranking."""


@dataclass(frozen=True)
class Query:
    """One ranking and its judgments.

    `grades` are those of the retrieved documents in rank order, None for an unjudged one.
    """

    grades: list[int | None]
    judged: list[int]
    level: int

    @property
    def hits(self) -> list[bool]:
        return [grade is not None and grade >= self.level for grade in self.grades]

    @property
    def n_relevant(self) -> int:
        return sum(grade >= self.level for grade in self.judged)


def query(docs: list[tuple[str, float]], judged: dict[str, int], level: int) -> Query:
    """Order by score, then id, both descending; a grade below 0 is no judgment."""
    order = sorted(docs, key=lambda row: (row[1], row[0].encode()), reverse=True)
    grades = {doc: grade for doc, grade in judged.items() if grade >= 0}
    return Query([grades.get(doc) for doc, _ in order], list(grades.values()), level)


def gain_over_ideal(q: Query, k: int, gain: Callable[[int], float]) -> float | None:
    best = sorted((grade for grade in q.judged if grade > 0), reverse=True)[:k]
    if not best:
        return None
    dcg = sum(gain(grade or 0) / log2(i + 2) for i, grade in enumerate(q.grades[:k]))
    return dcg / sum(gain(grade) / log2(i + 2) for i, grade in enumerate(best))


def slow_judged(q: Query, k: int) -> float | None:
    top = q.grades[:k]
    return sum(grade is not None for grade in top) / len(top) if top else None


def slow_mrr(q: Query, k: int) -> float:
    for position, is_hit in enumerate(q.hits[:k], start=1):
        if is_hit:
            return 1 / position
    return 0.0


def slow_average_precision(q: Query, k: int) -> float:
    total = 0.0
    for position, is_hit in enumerate(q.hits[:k], start=1):
        if is_hit:
            total += sum(q.hits[:position]) / position
    return total / q.n_relevant


def slow_bpref(q: Query, k: int) -> float:
    nonrelevant = [grade is not None and grade < q.level for grade in q.grades]
    pairs = min(q.n_relevant, sum(grade < q.level for grade in q.judged))
    total = 0.0
    for place, is_hit in enumerate(q.hits):
        above = sum(nonrelevant[:place])
        if is_hit:
            total += 1 - min(above, q.n_relevant) / pairs if above else 1
    return total / q.n_relevant


ANYTIME: dict[str, Callable[[Query, int], float | None]] = {
    "ndcg": lambda q, k: gain_over_ideal(q, k, lambda grade: grade),
    "ndcg_exp": lambda q, k: gain_over_ideal(q, k, lambda grade: 2.0**grade - 1),
    "precision": lambda q, k: sum(q.hits[:k]) / k,
    "judged": slow_judged,
    "n_retrieved": lambda q, k: float(len(q.grades)),
    "n_relevant": lambda q, k: float(q.n_relevant),
    "n_relevant_retrieved": lambda q, k: float(sum(q.hits)),
}
"""Families that a query without relevant documents may carry."""

WITH_RELEVANT: dict[str, Callable[[Query, int], float | None]] = {
    "recall": lambda q, k: sum(q.hits[:k]) / q.n_relevant,
    "hit": lambda q, k: float(any(q.hits[:k])),
    "mrr": slow_mrr,
    "average_precision": slow_average_precision,
    "r_precision": lambda q, k: sum(q.hits[: q.n_relevant]) / q.n_relevant,
    "bpref": slow_bpref,
}
"""Families that need a relevant document."""

FAMILIES = ANYTIME | WITH_RELEVANT
"""One plain loop per family. A new family without one fails by name."""


def textbook(metric: str, q: Query) -> float | None:
    """The right value of a canonical metric name; None where it is not defined."""
    family, _, cut = metric.partition("_at_")
    if family in WITH_RELEVANT and q.n_relevant == 0:
        return None
    return FAMILIES[family](q, int(cut or WHOLE))


def run_table(run: Scored) -> pl.DataFrame:
    rows = [(name, doc, value) for name, docs in run.items() for doc, value in docs]
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def qrels_table(qrels: Judged) -> pl.DataFrame:
    rows = [(name, doc, value) for name, docs in qrels.items() for doc, value in docs.items()]
    schema = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def mismatches(run: Scored, qrels: Judged, names: list[str], level: int) -> list[str]:
    """Where `retrieval_scores` and the textbook differ, one line each."""
    scores = retrieval_scores(run_table(run), qrels_table(qrels), names, relevant_at=level)
    found = []
    for name, metric, value, reason in scores.iter_rows():
        expected = textbook(metric, query(run.get(name, []), qrels[name], level))
        if expected is None or value is None:
            agree = expected is None and value is None and reason is not None
        else:
            agree = abs(value - expected) <= 1e-12
        if not agree:
            found.append(f"{name} {metric}: {value} ({reason}), the textbook has {expected}")
    return found
