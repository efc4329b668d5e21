"""Every retrieval metric against a plain loop, and the laws rankings obey."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from textbook_retrieval import FAMILIES, Judged, Scored, mismatches, qrels_table, run_table

from crucible_batch.metrics.retrieval import UNCUT, WITH_CUT
from crucible_batch.metrics.retrieval_scores import retrieval_scores

CUTS = (1, 3, 20)
NAMES = [*(f"{family}_at_{k}" for family in WITH_CUT for k in CUTS), *(m.name for m in UNCUT)]
SHARES = [name for name in NAMES if not name.startswith("n_")]
DOCS = [f"d{i}" for i in range(12)]

laws = settings(deadline=None, max_examples=25)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[Scored, Judged]:
    """Scored documents without repeats, often tied, and judgments, for a few queries."""
    run, qrels = {}, {}
    for n in range(draw(st.integers(1, 6))):
        scores = draw(st.dictionaries(st.sampled_from(DOCS), st.integers(0, 4)))
        run[f"q{n}"] = [(doc, float(score)) for doc, score in scores.items()]
        qrels[f"q{n}"] = draw(
            st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 4), min_size=1)
        )
    return run, qrels


def test_every_family_has_a_textbook_loop() -> None:
    assert set(FAMILIES) == {*WITH_CUT, *(metric.name for metric in UNCUT)}


@settings(deadline=None, max_examples=60)
@given(case=rankings(), level=st.integers(1, 3))
def test_every_value_equals_the_textbook_loop(case: tuple[Scored, Judged], level: int) -> None:
    assert mismatches(*case, NAMES, level) == []


@laws
@given(case=rankings())
def test_shares_stay_between_zero_and_one(case: tuple[Scored, Judged]) -> None:
    run, qrels = case
    values = retrieval_scores(run_table(run), qrels_table(qrels), SHARES)["value"].drop_nulls()
    assert values.is_between(0.0, 1.0).all()
    assert not values.is_nan().any()


@laws
@given(case=rankings(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_no_bit(case: tuple[Scored, Judged], seed: int) -> None:
    run, qrels = run_table(case[0]), qrels_table(case[1])
    shuffled = retrieval_scores(
        run.sample(fraction=1, shuffle=True, seed=seed),
        qrels.sample(fraction=1, shuffle=True, seed=seed),
        NAMES,
    )
    assert shuffled.equals(retrieval_scores(run, qrels, NAMES))


@laws
@given(case=rankings(), extra=st.lists(st.sampled_from(["x1", "x2", "x3"]), unique=True))
def test_documents_below_the_cut_change_nothing_at_it(
    case: tuple[Scored, Judged], extra: list[str]
) -> None:
    k = 2
    run = {name: docs for name, docs in case[0].items() if len(docs) >= k}
    longer = {name: docs + [(doc, -1.0) for doc in extra] for name, docs in run.items()}
    qrels = qrels_table({name: case[1][name] for name in run})
    names = [f"{family}_at_{k}" for family in WITH_CUT]
    before = retrieval_scores(run_table(run), qrels, names)
    assert retrieval_scores(run_table(longer), qrels, names).equals(before)


@laws
@given(case=rankings(), seed=st.integers(0, 2**32 - 1))
def test_a_later_repeat_of_a_document_changes_no_value(
    case: tuple[Scored, Judged], seed: int
) -> None:
    run, qrels = run_table(case[0]), qrels_table(case[1])
    repeats = run.sample(fraction=0.5, seed=seed).with_columns(pl.col("score") - 0.5)
    longer = retrieval_scores(pl.concat([repeats, run]), qrels, NAMES)
    assert longer.equals(retrieval_scores(run, qrels, NAMES))


@laws
@given(grades=st.lists(st.integers(1, 6), min_size=1, max_size=40))
def test_a_perfect_ranking_is_exactly_one(grades: list[int]) -> None:
    best = {f"d{i:03}": grade for i, grade in enumerate(sorted(grades, reverse=True))}
    run = {"q": [(doc, float(-i)) for i, doc in enumerate(best)]}
    names = ["ndcg", "ndcg@5", "ndcg_exp@7", "average_precision", "r_precision", "bpref", "mrr"]
    scores = retrieval_scores(run_table(run), qrels_table({"q": best}), names, relevant_at=1)
    assert scores["value"].to_list() == [1.0] * len(names)


@laws
@given(
    grades=st.lists(st.integers(0, 4), min_size=2, max_size=12),
    missed=st.lists(st.integers(0, 4), max_size=3),
    data=st.data(),
)
def test_moving_a_better_document_up_never_hurts(
    grades: list[int], missed: list[int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, len(grades) - 1))
    worse, better = sorted(grades[place - 1 : place + 1])
    tail = {f"m{i}": grade for i, grade in enumerate(missed)}
    run: Scored = {}
    qrels: Judged = {}
    for name, pair in (("before", [worse, better]), ("after", [better, worse])):
        order = [*grades[: place - 1], *pair, *grades[place + 1 :]]
        run[name] = [(f"d{i:02}", float(-i)) for i in range(len(order))]
        qrels[name] = {f"d{i:02}": grade for i, grade in enumerate(order)} | tail
    names = ["ndcg@3", "ndcg", "average_precision", "mrr", "recall@3", "precision@3", "hit@1"]
    scores = retrieval_scores(run_table(run), qrels_table(qrels), names)
    after, before = (part["value"].to_list() for part in scores.partition_by("query_id"))
    pairs = zip(before, after, strict=True)
    assert all(b is None if a is None else a >= b - 1e-12 for b, a in pairs)
