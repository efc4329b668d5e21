"""A lazy frame comes in pieces: all of them, or an error."""

from __future__ import annotations

import os
import threading

import polars as pl
import pytest
from polars.exceptions import PanicException, PolarsError

from crucible_batch import retrieval_scores
from crucible_batch.pieces import InPieces

ROWS = pl.DataFrame({"n": range(1000)})


@pytest.fixture
def cut_short(tmp_path):
    """A scan of a file that was cut short after its footer was read."""
    queries = [f"q{n // 10:04}" for n in range(40_000)]
    run = pl.DataFrame({"query_id": queries, "doc_id": "d", "score": 1.0})
    run = run.with_columns(doc_id=pl.format("d{}", pl.int_range(pl.len())))
    path = tmp_path / "run.parquet"
    run.write_parquet(path, row_group_size=2_000)
    scan = pl.scan_parquet(path)
    scan.collect_schema()
    os.truncate(path, path.stat().st_size // 2)
    return scan


@pytest.mark.parametrize("n_rows", [1, 7, 400, 1000, 5000])
def test_the_pieces_are_the_rows_in_their_order(n_rows):
    with InPieces(ROWS.lazy(), n_rows) as pieces:
        assert pl.concat(pieces)["n"].to_list() == list(range(1000))


def test_nothing_is_no_piece_with_rows():
    for _ in range(50):  # such a reader has often ended before anybody asks
        with InPieces(ROWS.clear().lazy(), 10) as pieces:
            assert sum(piece.height for piece in pieces) == 0


def test_an_iterator_that_has_ended_stays_ended():
    with InPieces(ROWS.lazy(), 400) as pieces:
        list(pieces)
        assert list(pieces) == []


def test_who_wants_no_more_waits_for_nothing():
    before = threading.active_count()
    with InPieces(ROWS.lazy(), 1) as pieces:
        assert next(pieces)["n"].item() == 0
    assert threading.active_count() == before
    assert list(pieces) == []


def test_an_error_of_a_row_is_raised():
    wrong = ROWS.with_columns(
        text=pl.when(pl.col("n") == 900).then(pl.lit("x")).otherwise(pl.lit("1"))
    )
    numbers = wrong.lazy().with_columns(pl.col("text").cast(pl.Int64))
    with InPieces(numbers, 10) as pieces, pytest.raises(PolarsError, match="conversion"):
        list(pieces)


def test_a_file_that_was_cut_short_is_an_error_and_not_fewer_rows(cut_short):
    with InPieces(cut_short, 2_000) as pieces, pytest.raises(PanicException):
        list(pieces)


def test_a_run_that_was_cut_short_has_no_scores(cut_short, monkeypatch):
    monkeypatch.setattr("crucible_batch.metrics.run_rows.BUCKET_ROWS", 2_000)
    qrels = pl.DataFrame({"query_id": ["q0000"], "doc_id": ["d0"], "grade": [2]})
    with pytest.raises(PanicException):
        retrieval_scores(cut_short, qrels, "ndcg@10")
