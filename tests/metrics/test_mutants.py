"""Six classic mistakes, planted one at a time: the textbook comparison must see each of them."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from textbook_retrieval import Judged, Scored, mismatches

from crucible_batch.errors import ContractError
from crucible_batch.metrics import query_facts, ranking_facts, retrieval, retrieval_terms
from crucible_batch.metrics.ranking_facts import Unjudged

LEVEL = 2
CUT = ["precision_at_3", "recall_at_3", "average_precision_at_3", "ndcg_at_3", "judged_at_3"]
GAIN = ["ndcg_at_3", "ndcg_at_10", "ndcg", "ndcg_exp_at_3"]
GAIN_AT_K = [name for name in GAIN if "_at_" in name]
BINARY = [
    "precision_at_3",
    "recall_at_3",
    "mrr",
    "mrr_at_3",
    "hit_at_3",
    "average_precision",
    "r_precision",
    "bpref",
    "n_relevant_retrieved",
]
ALL = sorted({*CUT, *GAIN, *BINARY})


def batch() -> tuple[Scored, Judged]:
    """Forty rankings with judged, unjudged and missed documents of every grade."""
    rng = random.Random(5)
    docs = [f"d{n:02}" for n in range(16)]
    run: Scored = {}
    qrels: Judged = {}
    for n in range(40):
        retrieved = rng.sample(docs, rng.randrange(4, 12))
        run[f"q{n:02}"] = [(doc, float(rng.randrange(6))) for doc in retrieved]
        qrels[f"q{n:02}"] = {doc: rng.randrange(4) for doc in rng.sample(docs, 8)}
    return run, qrels


def fewer_at_the_cut(positions: str, k: Any) -> pl.Expr:
    return (pl.col(positions) - k).list.eval(pl.element() < 0).list.sum()


def one_more_at_the_cut(positions: str, k: Any) -> pl.Expr:
    return (pl.col(positions) - k).list.eval(pl.element() <= 1).list.sum()


def wrong_discount(gains: pl.Expr, positions: pl.Expr) -> pl.Expr:
    return (gains / positions.list.eval((pl.element() + 2).log(2))).list.sum()


def unjudged_as_relevant(*given: Any, **options: Any) -> list[pl.DataFrame]:
    best = Unjudged(3, {None: options["columns"]})
    return ranking_facts.bucket_facts(*given, **options | {"unjudged": best})[1:]


def threshold_one_too_low(*given: Any, **options: Any) -> list[pl.DataFrame]:
    return ranking_facts.bucket_facts(*given, **options | {"relevant_at": LEVEL - 1})


def ideal_of_the_retrieved(*given: Any, **options: Any) -> list[pl.DataFrame]:
    (right,) = ranking_facts.bucket_facts(*given, **options)
    return [right.with_columns(ideal=pl.col("found_grades").list.sort(descending=True))]


MUTANTS: dict[str, tuple[tuple[Any, ...], str, Any, list[str]]] = {
    "< for <= at the cut": ((retrieval, retrieval_terms), "in_top", fewer_at_the_cut, CUT),
    "k + 1": ((retrieval, retrieval_terms), "in_top", one_more_at_the_cut, CUT),
    # Metrics of the whole list are built on import, before a mutant can be planted in a formula.
    "wrong discount": ((retrieval_terms,), "discounted", wrong_discount, GAIN_AT_K),
    "unjudged as relevant": ((query_facts,), "bucket_facts", unjudged_as_relevant, BINARY),
    "threshold 1 for 2": ((query_facts,), "bucket_facts", threshold_one_too_low, BINARY),
    "ideal over retrieved only": (
        (query_facts,),
        "bucket_facts",
        ideal_of_the_retrieved,
        GAIN,
    ),
}


def test_without_a_mutant_the_textbook_agrees() -> None:
    assert mismatches(*batch(), ALL, LEVEL) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_dies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    modules, attribute, mutant, touched = MUTANTS[name]
    for module in modules:
        monkeypatch.setattr(module, attribute, mutant)
    seen = set()
    for metric in touched:
        try:
            wrong = mismatches(*batch(), [metric], LEVEL)
        except ContractError as error:  # a share above 1 dies in the engine already
            wrong = [str(error)]
        if wrong:
            seen.add(metric)
    assert seen == set(touched)
