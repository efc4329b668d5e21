"""People against each lane of llm judges, and people against each other, over judgments."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from crucible_batch.assemble.agreement.pairs import HUMAN, PairAgreement, compare_raters
from crucible_batch.metrics.grades import resolve_grades

GRADES = range(4)
KEY = ("query_id", "doc_id")


def grade_agreement(qrels: pl.DataFrame, *, relevant_at: int) -> tuple[PairAgreement, ...]:
    """Hold every llm lane against people, and every two people against each other.

    Args:
        qrels: query_id, doc_id, chunk_id, grade, source, judge. A document's grade in a lane is the
            highest of the document and its chunks; chunks without a document are left out.
        relevant_at: Smallest grade that is a yes, for the base rate.

    Returns:
        The judges by name, each against the highest grade that people gave; then the pairs of
        people, who say how much agreement can be asked of a judge.
    """
    people = _lanes(qrels.filter(pl.col("source") == "human"))
    judges = _lanes(qrels.filter(pl.col("source") == "llm"))
    together = rated(qrels.filter(pl.col("source") == "human"))
    pairs = [(HUMAN, together, name, lane) for name, lane in judges.items()]
    pairs += [(a, people[a], b, people[b]) for a, b in combinations(people, 2)]
    return tuple(
        compare_raters(ours, theirs, names=(reference, judge), scale=GRADES, yes_from=relevant_at)
        for reference, ours, judge, theirs in pairs
    )


def rated(qrels: pl.DataFrame) -> pl.DataFrame:
    """query_id, doc_id, rating: the highest grade of every document, sorted."""
    return resolve_grades(qrels).select(*KEY, rating="grade")


def _lanes(qrels: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {
        name: rated(qrels.filter(pl.col("judge") == name))
        for name in qrels["judge"].unique().sort()
    }
