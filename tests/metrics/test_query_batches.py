"""A run that comes in pieces is cut at queries, and is scored as if it had come at once."""

from __future__ import annotations

import itertools
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.io.plugins import register_io_source

from crucible_batch.errors import ContractError
from crucible_batch.metrics import run_rows
from crucible_batch.metrics.query_batches import Scattered, joined_up
from crucible_batch.metrics.ranking import hashes, taken
from crucible_batch.metrics.retrieval_scores import retrieval_scores

METRICS = ["ndcg@2", "mrr", "average_precision", "judged@3", "n_retrieved"]
QUERIES = st.sampled_from(["q1", "q2", "q3", "q4"])
DOCS = st.sampled_from(["a", "b", "c", "d", "a document whose id is longer than twelve bytes"])


def piece(queries: str) -> pl.DataFrame:
    """A row for every letter, which is its query; orders fall."""
    n_rows = len(queries)
    columns = {"query_id": list(queries), "doc": [f"d{n}" for n in range(n_rows)]}
    order = pl.Series("order", -np.arange(n_rows, dtype=np.float64))
    return pl.DataFrame(columns, schema={"query_id": pl.String, "doc": pl.String}).with_columns(
        order
    )


def table(rows: list[tuple[str, str, float]]) -> pl.DataFrame:
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def in_pieces(n_rows: int) -> mock._patch[int]:
    """Reads scans so many rows at a time."""
    return mock.patch.object(run_rows, "BUCKET_ROWS", n_rows)


class TestJoinedUp:
    @pytest.mark.parametrize(
        "pieces",
        [
            ["aab", "bcc"],
            ["a", "a", "b", "b", "c", "c"],
            ["aabbcc"],
            ["", "aabb", "", "cc", ""],
            ["aa", "bb", "cc"],
            ["aab", "b", "cc"],
        ],
    )
    def test_every_query_is_whole_in_one_batch(self, pieces: list[str]) -> None:
        batches = list(joined_up(map(piece, pieces)))
        assert [query for batch in batches for query in batch.queries] == ["a", "b", "c"]
        assert [n for batch in batches for n in batch.lengths] == [2, 2, 2]
        assert all(batch.rows.height == batch.lengths.sum() for batch in batches)

    @pytest.mark.parametrize("pieces", [[], [""], ["", ""]])
    def test_no_rows_are_no_batches(self, pieces: list[str]) -> None:
        assert list(joined_up(map(piece, pieces))) == []

    @pytest.mark.parametrize("pieces", [["aba"], ["ab", "ca"], ["a", "b", "a"], ["ab", "a"]])
    def test_a_query_whose_rows_stand_apart_is_told(self, pieces: list[str]) -> None:
        with pytest.raises(Scattered):
            list(joined_up(map(piece, pieces)))

    def test_a_batch_is_handed_on_before_the_next_piece_but_one_is_read(self) -> None:
        read = []

        def pieces():
            for queries in ("aab", "bbc", "ccd"):
                read.append(queries)
                yield piece(queries)

        batches = joined_up(pieces())
        assert next(batches).queries.to_list() == ["a"]
        assert read == ["aab"]


class TestScans:
    @settings(deadline=None, max_examples=60)
    @given(
        rows=st.lists(st.tuples(QUERIES, DOCS, st.sampled_from([0.0, 1.0, 2.5])), max_size=14),
        judged=st.dictionaries(st.tuples(QUERIES, DOCS), st.integers(-1, 3), min_size=1),
        together=st.booleans(),
        n_rows=st.integers(1, 6),
    )
    def test_pieces_of_any_size_give_the_scores_of_the_whole(
        self, rows, judged, together, n_rows
    ) -> None:
        run = table(sorted(rows, key=lambda row: row[0]) if together else rows)
        qrels = pl.DataFrame(
            [(*key, grade) for key, grade in judged.items()],
            schema=["query_id", "doc_id", "grade"],
            orient="row",
        )
        with in_pieces(n_rows):
            scanned = retrieval_scores(run.lazy(), qrels, METRICS)
        assert scanned.equals(retrieval_scores(run, qrels, METRICS))

    RUN = table([("q1", "a", 3.0), ("q1", "b", 2.0), ("q2", "a", 2.0), ("q3", "b", 1.0)])
    QRELS = pl.DataFrame({"query_id": ["q1", "q3"], "doc_id": ["b", "b"], "grade": [3, 2]})

    @pytest.mark.parametrize("value", [None, float("nan")])
    def test_a_wrong_value_is_named_by_its_row_in_the_whole_run(self, value: float | None) -> None:
        scores = pl.Series("score", [3.0, 2.0, 2.0, value])
        run = self.RUN.with_columns(scores).lazy()
        with in_pieces(2), pytest.raises(ContractError, match="row 4"):
            retrieval_scores(run, self.QRELS, METRICS)

    def test_a_run_without_scores_is_ordered_by_rank(self) -> None:
        run = self.RUN.with_columns(score=pl.lit(None, pl.Float64), rank=pl.Series([2, 1, 1, 1]))
        with in_pieces(2):
            scores = retrieval_scores(run.lazy(), self.QRELS, "mrr")
        assert scores["value"].to_list() == [1.0, None, 1.0]

    def test_a_repeat_is_refused_wherever_it_stands(self) -> None:
        run = pl.concat([self.RUN, self.RUN[-1:]]).lazy()
        with in_pieces(2), pytest.raises(ContractError, match="1 duplicate"):
            retrieval_scores(run, self.QRELS, METRICS, duplicates="refuse")

    def test_a_column_of_the_wrong_type_is_refused(self) -> None:
        run = self.RUN.with_columns(score=pl.lit("high")).lazy()
        with pytest.raises(ContractError, match=r"run\.score has type String"):
            retrieval_scores(run, self.QRELS, METRICS)

    def test_judgments_at_fault_are_named_while_a_run_is_read(self) -> None:
        qrels = self.QRELS.with_columns(source=pl.lit("nobody"))
        with in_pieces(2), pytest.raises(ContractError, match="2 rows with a source outside"):
            retrieval_scores(self.RUN.lazy(), qrels, METRICS)

    def test_of_two_inputs_at_fault_the_run_is_named(self) -> None:
        qrels = self.QRELS.with_columns(source=pl.lit("nobody"))
        run = self.RUN.with_columns(score=pl.Series([3.0, 2.0, 2.0, None]))
        for holder in (run, run.lazy()):
            with in_pieces(1), pytest.raises(ContractError, match=r"run\.score must not be null"):
                retrieval_scores(holder, qrels, METRICS)

    def test_a_run_that_can_be_read_only_once_is_told_not_scored_as_empty(self) -> None:
        apart = pl.concat([self.RUN, self.RUN[:1].with_columns(doc_id=pl.lit("c"))])
        pieces = iter([apart])

        def once(columns, predicate, n_rows, batch_size):
            yield from (piece.select(columns) if columns else piece for piece in pieces)

        run = register_io_source(once, schema=apart.schema)
        with pytest.raises(ContractError, match="0 rows when it is read again"):
            retrieval_scores(run, self.QRELS, METRICS)

    def test_a_parquet_file_of_many_row_groups_is_scored_as_one_table(self, tmp_path) -> None:
        rng = np.random.default_rng(5)
        lengths = rng.integers(1, 40, 200)
        query = pl.Series("query_id", np.repeat(np.arange(200), lengths)).cast(pl.String)
        n_rows = len(query)
        run = pl.DataFrame(
            [
                ("q" + query.str.zfill(3)).alias("query_id"),
                pl.Series("doc_id", rng.integers(0, 60, n_rows)).cast(pl.String),
                pl.Series("score", rng.integers(0, 9, n_rows).astype(np.float64)),
            ]
        )
        qrels = run.sample(fraction=0.3, seed=1).unique(["query_id", "doc_id"])
        qrels = qrels.select("query_id", "doc_id", grade=pl.col("score").cast(pl.Int64) % 4)
        path = tmp_path / "run.parquet"
        run.write_parquet(path, row_group_size=300)
        with in_pieces(500):
            scanned = retrieval_scores(pl.scan_parquet(path), qrels, METRICS)
        assert scanned.equals(retrieval_scores(run, qrels, METRICS))


class TestChunks:
    CUTS = st.lists(st.integers(0, 12), max_size=3)

    @staticmethod
    def cut(texts: list[str], cuts: list[int]) -> pl.Series:
        whole = pl.Series("doc", texts, dtype=pl.String)
        edges = [0, *sorted(min(cut, len(texts)) for cut in cuts), len(texts)]
        parts = [whole[a:b] for a, b in itertools.pairwise(edges)]
        return pl.concat(parts, rechunk=False)

    @given(texts=st.lists(DOCS, min_size=1, max_size=12), cuts=CUTS, data=st.data())
    def test_values_are_taken_from_chunks_as_from_one(self, texts, cuts, data) -> None:
        places = data.draw(st.lists(st.integers(0, len(texts) - 1), unique=True).map(sorted))
        found = taken(self.cut(texts, cuts), np.array(places, dtype=np.int64))
        assert found.to_list() == [texts[place] for place in places]

    @given(texts=st.lists(DOCS, min_size=1, max_size=12), cuts=CUTS, kind=st.sampled_from("uiI"))
    def test_hashes_depend_on_the_pair_alone(self, texts, cuts, kind) -> None:
        group = np.arange(len(texts)) // 3
        whole = hashes(group.astype(np.uint32), pl.Series("other", texts, dtype=pl.String))
        types = {"u": np.uint32, "i": np.int32, "I": np.int64}
        cut = hashes(group.astype(types[kind]), self.cut(texts, cuts))
        assert np.array_equal(whole, cut)
        pairs = dict(zip(zip(group.tolist(), texts, strict=True), whole.tolist(), strict=True))
        assert len(set(pairs.values())) == len(pairs)
