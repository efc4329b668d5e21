from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.conform import META, complete, conform
from crucible_batch.errors import ContractError

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
RESULTS, RETRIEVALS, ITEMS = (TABLES[name] for name in ("results", "retrievals", "golden_items"))


def ranked(**columns):
    """One retrieval row with some columns replaced."""
    frame = pl.DataFrame({"item_id": ["q"], "rank": [1], "doc_id": ["d"]})
    return frame.with_columns(**columns)


def conformed(frame, table=RETRIEVALS):
    return conform(table, frame, source="in.parquet")


@pytest.mark.parametrize(
    "rank",
    [
        pl.lit(3, pl.Int8),
        pl.lit(3, pl.UInt64),
        pl.lit(3.0, pl.Float32),
        pl.lit(3, pl.Int128),
        pl.lit(Decimal(3), pl.Decimal(10, 2)),
    ],
)
def test_whole_numbers_of_any_width_become_int64(rank):
    frame = conformed(ranked(rank=rank))
    assert frame.schema["rank"] == pl.Int64
    assert frame["rank"].to_list() == [3]
    assert frame["_reasons"].to_list() == [[]]


@pytest.mark.parametrize(
    ("value", "check"),
    [
        (pl.lit(1.5), "not an integer: 1.5"),
        (pl.lit(float("nan")), "not an integer: NaN"),
        (pl.lit(float("inf")), "not an integer: inf"),
        (pl.lit(2**63, pl.UInt64), f"too large: {2**63}"),
        (pl.lit(1e16), "not an integer: 1e+16"),
    ],
)
def test_a_value_that_does_not_fit_becomes_null_with_a_reason_and_the_row(value, check):
    row = conformed(ranked(rank=value)).row(0, named=True)
    assert row["rank"] is None
    assert row["_reasons"] == [f"rank: {check}"]
    assert json.loads(row["_row"])["doc_id"] == "d"


def test_an_integer_that_a_float_cannot_hold_is_told():
    row = conformed(ranked(score=pl.lit(2**53 + 1))).row(0, named=True)
    assert row["_reasons"] == [f"score: too large: {2**53 + 1}"]
    assert conformed(ranked(score=pl.lit(2**53)))["score"].to_list() == [2.0**53]


def test_times_of_any_unit_and_zone_become_utc_microseconds():
    when = pl.Series([MIDNIGHT]).cast(pl.Datetime("ns", "UTC"))
    berlin = when.dt.convert_time_zone("Europe/Berlin")
    frame = conformed(ranked(doc_updated_at=berlin))
    assert frame["doc_updated_at"].to_list() == [MIDNIGHT]


def test_dictionaries_and_null_columns_take_the_contract_type():
    frame = conformed(ranked(doc_id=pl.lit("d").cast(pl.Categorical), chunk_id=pl.lit(None)))
    assert (frame.schema["doc_id"], frame.schema["chunk_id"]) == (pl.String, pl.String)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"doc_id": pl.lit(7)}, "doc_id"),
        ({"score": pl.lit("0.8")}, "score"),
        ({"superseded": pl.lit(1)}, "superseded"),
        ({"doc_updated_at": pl.lit(MIDNIGHT.replace(tzinfo=None))}, "a timestamp with a time zone"),
        ({"doc_updated_at": pl.lit("2026-01-01")}, "doc_updated_at"),
        ({"rank": pl.lit("1")}, "rank"),
        ({"rank": pl.lit(True)}, "rank"),
    ],
)
def test_a_column_of_another_type_refuses_the_file(columns, said):
    with pytest.raises(ContractError, match=r"in\.parquet") as caught:
        conformed(ranked(**columns))
    assert said in str(caught.value)
    assert "Fix:" in str(caught.value)


def test_missing_and_unknown_columns_are_all_named_with_the_nearest():
    frame = pl.DataFrame({"item": ["q"], "docid": ["d"], "_commit": [1]})
    with pytest.raises(ContractError) as caught:
        conformed(frame)
    said = str(caught.value)
    assert "unknown column 'docid'; did you mean doc_id?" in said
    assert "column 'rank' is missing (position, from 1; gaps are harmless)" in said
    assert "column 'item_id' is missing" in said
    assert "_commit" not in said


def test_rows_are_numbered_from_where_the_chunk_begins():
    frame = conform(RETRIEVALS, ranked(), source="x", first_row=501)
    assert frame["_source_row"].to_list() == [501]
    assert frame["_source_file"].to_list() == ["x"]
    assert frame.schema["_reasons"] == META["_reasons"]


def test_complete_adds_columns_and_defaults_only_where_values_are_absent():
    frame = conform(
        ITEMS,
        pl.DataFrame(
            {
                "item_id": ["a", "b"],
                "question": ["?", "?"],
                "answerable": [True, True],
                "retired": [True, None],
            }
        ),
        source="x",
    )
    full = complete(ITEMS, frame)
    assert full.columns == [*ITEMS.names, *META]
    assert full["retired"].to_list() == [True, False]
    assert full["tags"].to_list() == [[], []]
    assert full["contexts"].null_count() == 2
    assert full["revision"].null_count() == 2


def test_an_empty_frame_keeps_its_columns():
    frame = conformed(ranked().clear())
    assert frame.height == 0
    assert complete(RETRIEVALS, frame).columns == [*RETRIEVALS.names, *META]


def test_results_need_only_their_item():
    frame = complete(RESULTS, conformed(pl.DataFrame({"item_id": ["q"]}), RESULTS))
    assert frame["sample_index"].to_list() == [0]
    assert frame["confidence"].to_list() == [None]
