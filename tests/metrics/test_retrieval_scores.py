from __future__ import annotations

import itertools
import logging
import random
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crucible_batch.errors import ContractError, UnknownNameError, UsageError
from crucible_batch.metrics.ranking_frame import stretches
from crucible_batch.metrics.retrieval_scores import retrieval_scores

RUN = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "q1", "q2", "q3"],
        "doc_id": ["a", "b", "c", "x", "z"],
        "score": [3.0, 2.0, 1.0, 1.0, 1.0],
    }
)
QRELS = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "q1", "q2", "q4"],
        "doc_id": ["a", "b", "c", "y", "w"],
        "grade": [1, 2, 3, 3, 2],
    }
)
METRICS = ["ndcg@3", "precision@3", "mrr"]


def one(run: Any, qrels: Any, metric: str, **options: Any) -> float | None:
    return retrieval_scores(run, qrels, metric, **options)["value"].item()


def ranking(*docs: str, **columns: list[Any]) -> pl.DataFrame:
    scores = [float(-i) for i in range(len(docs))]
    return pl.DataFrame({"query_id": ["q"] * len(docs), "doc_id": docs, "score": scores} | columns)


def judged(**grades: int) -> pl.DataFrame:
    rows = [("q", doc, grade) for doc, grade in grades.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "grade"], orient="row")


@pytest.mark.parametrize(
    ("metric", "level", "expected"),
    [
        ("ndcg@3", 2, 0.7899980042460358),
        ("ndcg_exp@3", 2, 0.6806060567602009),
        ("precision@3", 2, 2 / 3),
        ("mrr", 2, 0.5),
        ("average_precision", 2, 0.5833333333333333),
        ("precision@3", 1, 1.0),
        ("mrr", 1, 1.0),
    ],
)
def test_graded_documents_have_the_documented_values(
    metric: str, level: int, expected: float
) -> None:
    found = one(ranking("a", "b", "c"), judged(a=1, b=2, c=3), metric, relevant_at=level)
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_ideal_is_taken_over_all_judged_documents() -> None:
    assert one(ranking("a"), judged(a=3, b=3), "ndcg@3") == pytest.approx(0.6131471927654584)


def test_the_ideal_is_cut_at_k_as_well() -> None:
    five = judged(a=1, b=1, c=1, d=1, e=1)
    assert one(ranking("a", "b"), five, "ndcg@2") == 1.0
    assert one(ranking("a", "b"), five, "ndcg") == pytest.approx(0.553146470008)


def test_a_repeated_document_counts_once_and_the_ranking_closes_up() -> None:
    run, qrels = ranking("A", "A", "X", "B"), judged(A=1, B=1)
    assert one(run, qrels, "recall@3", relevant_at=1) == 1.0
    assert one(run, qrels, "precision@3", relevant_at=1) == 2 / 3
    assert one(run, qrels, "n_retrieved") == 3.0


def test_chunks_collapse_to_documents() -> None:
    run = ranking("A", "A", "B", chunk_id=["A#1", "A#7", "B#2"])
    qrels = judged(A=3, B=2)
    assert one(run, qrels, "ndcg@3") == 1.0
    assert one(run, qrels, "precision@3") == 2 / 3
    assert one(run, qrels, "ndcg@3", duplicates="refuse") == 1.0


def test_a_repeated_chunk_is_refused_when_asked() -> None:
    run = ranking("A", "A", chunk_id=["A#1", "A#1"])
    with pytest.raises(ContractError, match=r"1 duplicate \(query_id, doc_id, chunk_id\)"):
        retrieval_scores(run, judged(A=3), "mrr", duplicates="refuse")


def test_chunk_granularity_ranks_and_judges_chunks_only() -> None:
    run = ranking("A", "A", "B", chunk_id=["A#1", "A#7", None])
    qrels = pl.DataFrame(
        {
            "query_id": ["q", "q", "q"],
            "doc_id": ["A", "A", "B"],
            "chunk_id": ["A#7", None, None],
            "grade": [3, 3, 3],
        }
    )
    assert one(run, qrels, "mrr", granularity="chunk") == 0.5
    assert one(run, qrels, "n_retrieved", granularity="chunk") == 3.0
    assert one(run, qrels, "n_relevant", granularity="chunk") == 1.0


def test_document_judgments_say_nothing_about_chunks() -> None:
    run = ranking("A", chunk_id=["A#1"])
    qrels = judged(A=3).with_columns(chunk_id=pl.lit(None, dtype=pl.String))
    scores = retrieval_scores(run, qrels, "mrr", granularity="chunk")
    assert scores.row(0) == ("q", "mrr", None, "no_qrels")


def test_ties_go_by_id_descending_for_every_row_order() -> None:
    rows = [("q", doc, 1.0) for doc in "abc"]
    for order in itertools.permutations(rows):
        run = pl.DataFrame(order, schema=["query_id", "doc_id", "score"], orient="row")
        assert one(run, judged(a=1), "mrr", relevant_at=1) == 1 / 3


def test_negative_and_positive_zero_are_a_tie() -> None:
    run = ranking("a", "b").with_columns(score=pl.Series([0.0, -0.0]))
    assert one(run, judged(a=2), "mrr") == 0.5
    flipped = ranking("b", "a").with_columns(score=pl.Series([-0.0, 0.0]))
    assert one(flipped, judged(a=2), "mrr") == 0.5


def test_ids_tie_bytewise_not_by_alphabet() -> None:
    run = ranking("Z", "a", "é").with_columns(score=pl.lit(1.0))
    assert one(run, judged(Z=2), "mrr") == 1 / 3
    assert one(run, judged(a=2), "mrr") == 0.5


def test_scores_are_compared_in_float64() -> None:
    run = ranking("a", "b").with_columns(score=pl.Series([1.000000001, 1.0]))
    assert one(run, judged(a=1), "mrr", relevant_at=1) == 1.0


def test_the_order_of_rows_changes_nothing() -> None:
    rng = random.Random(7)
    rows = [(f"q{q}", f"d{d}", float(rng.randrange(5))) for q in range(20) for d in range(30)]
    qrels = pl.DataFrame(
        [(f"q{q}", f"d{d}", rng.randrange(4)) for q in range(20) for d in range(0, 40, 3)],
        schema=["query_id", "doc_id", "grade"],
        orient="row",
    )
    names = ["ndcg@10", "ndcg", "average_precision", "bpref", "mrr"]
    schema = ["query_id", "doc_id", "score"]
    reference = retrieval_scores(pl.DataFrame(rows, schema=schema, orient="row"), qrels, names)
    for _ in range(5):
        rng.shuffle(rows)
        run = pl.DataFrame(rows, schema=schema, orient="row")
        shuffled = retrieval_scores(run, qrels.sample(fraction=1, shuffle=True), names)
        assert shuffled.equals(reference)


def test_ranks_order_a_run_without_scores_and_gaps_are_harmless() -> None:
    run = ranking("b", "a").drop("score").with_columns(rank=pl.Series([7, 2]))
    assert one(run, judged(a=2), "mrr") == 1.0


def test_scores_win_over_ranks_unless_ranks_are_asked_for() -> None:
    run = ranking("a", "b", rank=[2, 1])
    assert one(run, judged(a=2), "mrr") == 1.0
    assert one(run, judged(a=2), "mrr", order="rank") == 0.5


def test_a_score_column_of_nulls_is_no_score() -> None:
    run = ranking("a", "b", rank=[2, 1]).with_columns(score=pl.lit(None, dtype=pl.Float64))
    assert one(run, judged(a=2), "mrr") == 0.5


def test_rows_cover_the_queries_of_both_sides() -> None:
    scores = retrieval_scores(RUN, QRELS, ["mrr", "n_retrieved", "n_relevant"])
    rows = {(q, m): (v, reason) for q, m, v, reason in scores.iter_rows()}
    assert rows["q2", "mrr"] == (0.0, None)
    assert rows["q3", "mrr"] == (None, "no_qrels")
    assert rows["q4", "mrr"] == (0.0, None)
    assert rows["q3", "n_retrieved"] == (1.0, None)
    assert rows["q3", "n_relevant"] == (None, "no_qrels")
    assert rows["q4", "n_retrieved"] == (0.0, None)


def test_rows_are_sorted_by_query_and_then_as_asked() -> None:
    scores = retrieval_scores(RUN, QRELS, ["mrr", "hit@1"])
    assert scores["query_id"].to_list() == [q for q in ("q1", "q2", "q3", "q4") for _ in (0, 1)]
    assert scores["metric"].to_list() == ["mrr", "hit_at_1"] * 4
    assert scores.schema == {
        "query_id": pl.String,
        "metric": pl.String,
        "value": pl.Float64,
        "null_reason": pl.String,
    }


def test_judged_is_null_when_nothing_was_retrieved() -> None:
    empty = retrieval_scores(RUN, QRELS, "judged@3").filter(pl.col("query_id") == "q4")
    assert empty.row(0) == ("q4", "judged_at_3", None, "nothing_retrieved")


def test_trec_compat_turns_the_undefined_into_zero_and_leaves_out_the_unjudged() -> None:
    qrels = pl.concat([QRELS, pl.DataFrame({"query_id": ["q5"], "doc_id": ["a"], "grade": [0]})])
    scores = retrieval_scores(RUN, qrels, "recall@3", trec_compat=True)
    assert scores["query_id"].to_list() == ["q1", "q2", "q4", "q5"]
    assert scores["value"].to_list() == [1.0, 0.0, 0.0, 0.0]
    assert scores["null_reason"].null_count() == 4


def test_a_query_with_empty_judgments_leaves_the_others_alone() -> None:
    run = {"q1": {"a": 1.0}, "q2": {"x": 1.0}, "q3": {"b": 1.0}}
    qrels: dict[str, dict[str, int]] = {"q1": {"a": 1}, "q2": {}, "q3": {"b": 1}}
    for _ in range(2):
        scores = retrieval_scores(run, qrels, "ndcg@10", relevant_at=1)
        assert scores["value"].to_list() == [1.0, None, 1.0]


def test_no_value_is_negative_zero() -> None:
    values = retrieval_scores(RUN, QRELS, ["ndcg@1", "ndcg", "bpref", "average_precision"])["value"]
    assert not any(str(value) == "-0.0" for value in values)


def test_a_huge_grade_does_not_overflow_the_exponential_gain() -> None:
    run, qrels = ranking("a", "b"), judged(a=1, b=5000)
    assert one(run, qrels, "ndcg_exp@2") == pytest.approx(0.6309297535714575)


def test_an_empty_run_scores_zero() -> None:
    assert one(RUN.clear(), judged(a=2), "ndcg@10") == 0.0


def test_empty_inputs_give_an_empty_table() -> None:
    scores = retrieval_scores(RUN.clear(), QRELS.clear(), "ndcg@10")
    assert scores.is_empty()
    assert scores.columns == ["query_id", "metric", "value", "null_reason"]


HOLDERS = {
    "lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "arrow": lambda frame: frame.to_arrow(),
    "batch": lambda frame: frame.to_arrow().combine_chunks().to_batches()[0],
    "reader": lambda frame: frame.to_arrow().to_reader(),
    "duckdb": lambda frame: duckdb.connect().from_arrow(frame.to_arrow()),
    "categorical": lambda frame: frame.with_columns(
        pl.col("query_id", "doc_id").cast(pl.Categorical)
    ),
    "integer_scores": lambda frame: frame.with_columns(pl.col(pl.Float64).cast(pl.Int32)),
    "large_strings": lambda frame: frame.to_arrow().cast(
        pa.schema(
            pa.field(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type)
            for f in frame.to_arrow().schema
        )
    ),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_accepted_input_gives_the_same_scores(holder: str) -> None:
    reference = retrieval_scores(RUN, QRELS, METRICS)
    hold = HOLDERS[holder]
    assert retrieval_scores(hold(RUN), hold(QRELS), METRICS).equals(reference)


@pytest.mark.parametrize(
    "options",
    [{"ignore_identical_ids": True}, {"granularity": "chunk"}, {"order": "rank"}],
    ids=lambda options: next(iter(options)),
)
@pytest.mark.parametrize("scattered", [False, True])
def test_query_ids_that_are_categories_score_as_text_does(
    scattered: bool, options: dict[str, Any]
) -> None:
    run = RUN.with_columns(chunk_id="doc_id", rank=pl.int_range(1, pl.len() + 1))
    # One id that is its query's own, and a query whose rows stand apart.
    own = run.with_columns(doc_id=pl.when(pl.col("rank") == 1).then("query_id").otherwise("doc_id"))
    text = own.sample(fraction=1, shuffle=True, seed=3) if scattered else own
    qrels = QRELS.with_columns(chunk_id="doc_id")
    # Repeats with other grades, as of two judges: the highest counts.
    qrels = pl.concat([qrels, qrels.with_columns(pl.col("grade") - 1)])
    coded, graded = (
        frame.with_columns(pl.col("query_id").cast(pl.Categorical)) for frame in (text, qrels)
    )
    expected = retrieval_scores(text, qrels, METRICS, **options)
    assert retrieval_scores(coded, graded, METRICS, **options).equals(expected)
    assert retrieval_scores(text, graded, METRICS, **options).equals(expected)


@pytest.mark.parametrize("extra", [{}, {"chunk_id": "c"}], ids=["documents", "chunks"])
def test_a_repeat_is_named_by_the_text_of_its_category(extra: dict[str, str]) -> None:
    run = ranking("a", "a").with_columns(
        pl.col("query_id").cast(pl.Categorical), **{k: pl.lit(v) for k, v in extra.items()}
    )
    with pytest.raises(ContractError, match=r"1 duplicate(.|\n)*'q', 'a'"):
        retrieval_scores(run, judged(a=1), "mrr", duplicates="refuse")


def test_pytrec_evals_dict_of_dicts_is_accepted() -> None:
    run: dict[str, dict[str, float]] = {}
    for query, doc, score in RUN.iter_rows():
        run.setdefault(query, {})[doc] = score
    qrels: dict[str, dict[str, int]] = {}
    for query, doc, grade in QRELS.iter_rows():
        qrels.setdefault(query, {})[doc] = grade
    reference = retrieval_scores(RUN, QRELS, METRICS)
    assert retrieval_scores(run, qrels, METRICS).equals(reference)


@pytest.mark.parametrize("wrong", [{"q": [("a", 1.0)]}, {"query_id": ["q"]}, [1, 2], "run.parquet"])
def test_anything_else_is_refused_with_what_would_do(wrong: object) -> None:
    with pytest.raises(ContractError, match="run is a"):
        retrieval_scores(wrong, QRELS, "mrr")


def test_a_query_id_in_the_pandas_index_is_pointed_out() -> None:
    frame = RUN.to_pandas().set_index("query_id")
    with pytest.raises(ContractError, match="reset_index"):
        retrieval_scores(frame, QRELS, "mrr")


def test_a_missing_column_suggests_the_nearest_one() -> None:
    with pytest.raises(ContractError, match=r"no column doc_id(.|\n)*docid"):
        retrieval_scores(RUN.rename({"doc_id": "docid"}), QRELS, "mrr")


def test_a_pandas_nan_is_a_null_score() -> None:
    frame = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [float("nan")]})
    with pytest.raises(ContractError, match=r"run.score must not be null(.|\n)*row 1"):
        retrieval_scores(frame, QRELS, "mrr")


def test_numbers_and_texts_are_different_ids() -> None:
    assert one(ranking("7"), judged(**{"007": 2}), "mrr") == 0.0


def test_integer_ids_are_read_as_text() -> None:
    run = ranking("7").with_columns(pl.col("doc_id").cast(pl.Int64))
    assert one(run, judged(**{"7": 2}), "mrr") == 1.0


def test_float_ids_are_refused() -> None:
    with pytest.raises(ContractError, match="it must be text"):
        retrieval_scores(ranking("7").with_columns(doc_id=pl.lit(7.0)), judged(a=1), "mrr")


def test_whole_numbers_in_a_float_column_are_grades() -> None:
    qrels = judged(a=2).with_columns(pl.col("grade").cast(pl.Float64))
    assert one(ranking("a"), qrels, "mrr") == 1.0


@pytest.mark.parametrize(
    ("spelled", "canonical"),
    [
        ("ndcg@10", "ndcg_at_10"),
        ("ndcgAt10", "ndcg_at_10"),
        ("ndcg_exp@3", "ndcg_exp_at_3"),
        ("averagePrecision", "average_precision"),
        ("rPrecision", "r_precision"),
        ("recallAtK", "recall_at_10"),
        ("average_precision@100", "average_precision_at_100"),
    ],
)
def test_names_are_accepted_in_every_spelling(spelled: str, canonical: str) -> None:
    assert retrieval_scores(RUN, QRELS, spelled)["metric"][0] == canonical


def test_an_unknown_metric_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="ndcg@10"):
        retrieval_scores(RUN, QRELS, "ncdg@10")


@pytest.mark.parametrize("name", ["ndcg@0", "recall@-1", "hit_at_0", "precision@2.5"])
def test_a_cut_off_below_one_is_refused_before_any_work(name: str) -> None:
    with pytest.raises(ValueError, match="k must be >= 1"):
        retrieval_scores(object(), object(), name)


@pytest.mark.parametrize(
    "option", [{"order": "up"}, {"duplicates": "last"}, {"granularity": "page"}, {"relevant_at": 0}]
)
def test_an_unknown_option_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        retrieval_scores(RUN, QRELS, "mrr", **option)


def test_no_shared_query_is_said_aloud(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        retrieval_scores(ranking("a"), QRELS, "mrr")
    assert "share no query_id" in caplog.text


def test_one_bucket_or_many_give_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["ndcg@3", "mrr", "bpref", "judged@2", "n_retrieved"]
    reference = retrieval_scores(RUN, QRELS, names)
    monkeypatch.setattr("crucible_batch.metrics.query_batches.BUCKET_ROWS", 1)
    assert retrieval_scores(RUN, QRELS, names).equals(reference)


def test_a_cut_off_beyond_what_a_column_holds_is_refused_and_not_taken_for_zero() -> None:
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    judged = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "grade": [2]})
    largest = retrieval_scores(run, judged, [f"ndcg@{10**9}", f"precision@{10**9}"])
    assert largest["value"].to_list() == [1.0, 1e-9]
    with pytest.raises(UsageError, match="k must be <= 1,000,000,000"):
        retrieval_scores(run, judged, [f"ndcg@{10**22}"])


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_stretches_are_the_same_however_many_threads_look(monkeypatch, n_threads):
    monkeypatch.setattr("crucible_batch.metrics.ranking_frame.BUCKET_ROWS", 1)
    monkeypatch.setattr("polars.thread_pool_size", lambda: n_threads)
    ids = pl.Series(["a", "a", "a", "b", "b", "a", "c", "c", "c", "c", "c", "d"])
    assert stretches(ids).to_dict(as_series=False) == {
        "len": [3, 2, 1, 5, 1],
        "value": ["a", "b", "a", "c", "d"],
    }
    assert stretches(ids[:0]).height == 0
