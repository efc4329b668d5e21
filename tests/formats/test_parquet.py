from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.ids import assertion_id
from crucible_batch.errors import ContractError
from crucible_batch.formats import parquet

RESULTS = pl.DataFrame({"item_id": ["a", "b"], "sample_index": [0, 0], "answer": ["x", None]})
RETRIEVALS = pl.DataFrame({"item_id": ["a"], "rank": [1], "doc_id": ["d"]})


@pytest.fixture
def save(tmp_path):
    def save(name, frame, **options):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(path, **options)
        return path

    return save


@pytest.mark.parametrize(
    "name", ["results.parquet", "results-0007.parquet", "results/part.parquet", "anything.parquet"]
)
def test_a_table_is_known_by_file_name_folder_or_columns(save, load, name):
    found = load(save(name, RESULTS), "run")
    assert found.rows("results", "item_id", "answer", "_source_row") == [
        ("a", "x", 1),
        ("b", None, 2),
    ]


def test_a_folder_whose_name_is_another_table_of_the_verb_misleads_nobody(save, load):
    assert load(save("runs/r1.parquet", RESULTS), "run")["results"].height == 2


def test_a_folder_of_tables_is_one_input(save, load, tmp_path):
    save("results.parquet", RESULTS)
    save("retrievals.parquet", RETRIEVALS)
    found = load(tmp_path, "run")
    assert found.findings.n_rows == {"results": 2, "retrievals": 1}
    assert found.findings.reported == {"results", "retrievals"}


def test_columns_that_fit_no_table_are_an_error_that_lists_the_candidates(save, load):
    with pytest.raises(ContractError, match="more than one table, or none") as caught:
        load(save("x.parquet", pl.DataFrame({"foo": [1]})), "corpus")
    assert "documents, entities, mentions" in caught.value.fix


def test_columns_that_fit_two_tables_are_an_error(save, load):
    with pytest.raises(ContractError, match="more than one table"):
        load(save("x.parquet", pl.DataFrame({"chunk_id": ["c"]})), "corpus")


def test_the_commit_number_of_a_lake_file_is_dropped(save, load):
    found = load(save("results.parquet", RESULTS.with_columns(_commit=pl.lit(4))), "run")
    assert "_commit" not in found["results"].columns


def test_many_row_groups_come_in_bounded_chunks_with_running_row_numbers(save, load, monkeypatch):
    monkeypatch.setattr(parquet, "CHUNK_ROWS", 30)
    frame = pl.DataFrame({"item_id": [f"i{n}" for n in range(100)], "answer": "x"})
    found = load(save("results.parquet", frame, row_group_size=25), "run")
    assert max(found.heights["results"]) <= 30
    assert found["results"]["_source_row"].to_list() == list(range(1, 101))
    assert found["results"]["item_id"].to_list() == frame["item_id"].to_list()


def test_rows_of_long_texts_come_in_smaller_chunks(save, load, monkeypatch):
    monkeypatch.setattr(parquet, "CHUNK_BYTES", 50_000)
    texts = [f"{n}" * 1000 for n in range(10, 110)]
    frame = pl.DataFrame({"item_id": texts, "answer": texts}).with_columns(
        item_id=pl.col("item_id").str.slice(0, 2)
    )
    found = load(save("results.parquet", frame), "run")
    assert max(found.heights["results"]) <= 40


def test_a_value_that_does_not_fit_is_a_problem_of_its_row(save, load):
    found = load(save("retrievals.parquet", RETRIEVALS.with_columns(rank=pl.lit(1.5))), "run")
    assert found.problems("retrievals") == ["rank: not an integer: 1.5"]


@pytest.mark.parametrize("content", [b"not parquet at all", b"PAR1", b"PAR1" + b"x" * 100])
def test_a_file_that_is_no_parquet_is_an_error_that_names_it(write, load, content):
    with pytest.raises(ContractError, match=r"results\.parquet is not a Parquet file"):
        load(write("results.parquet", content), "run")


@pytest.mark.parametrize("kept", [0.3, 0.7, 0.99])
def test_a_truncated_parquet_file_is_an_error_that_names_it(save, load, kept):
    frame = pl.DataFrame({"item_id": [f"i{n}" for n in range(5000)], "answer": "x"})
    path = save("results.parquet", frame)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    with pytest.raises(ContractError, match=r"results\.parquet"):
        load(path, "run")


def test_a_damaged_page_is_an_error_that_names_the_file(save, load):
    frame = pl.DataFrame({"item_id": [f"i{n * 7919}" for n in range(5000)]})
    path = save("results.parquet", frame)
    data = bytearray(path.read_bytes())
    data[40:2000] = b"\xff" * 1960
    path.write_bytes(bytes(data))
    with pytest.raises(ContractError, match=r"results\.parquet"):
        load(path, "run")


def test_a_file_without_rows_is_an_error_that_names_it(save, load):
    with pytest.raises(ContractError, match="no rows of results") as caught:
        load(save("results.parquet", RESULTS.clear()), "run")
    assert "results.parquet" in str(caught.value)


def test_a_child_table_without_rows_is_reported_and_empty(save, load, tmp_path):
    save("results.parquet", RESULTS)
    save("retrievals.parquet", RETRIEVALS.clear())
    found = load(tmp_path, "run")
    assert found.findings.reported == {"results", "retrievals"}
    assert "retrievals" not in found.tables


def test_a_part_without_rows_beside_parts_with_rows_is_fine(save, load, tmp_path):
    save("results-0.parquet", RESULTS.clear())
    save("results-1.parquet", RESULTS)
    assert load(tmp_path, "run")["results"].height == 2


def test_a_file_without_rows_still_has_to_keep_the_contract(save, load, tmp_path):
    save("results.parquet", RESULTS)
    save("checks.parquet", pl.DataFrame({"item_id": ["a"], "chekc_id": ["c"]}).clear())
    with pytest.raises(ContractError, match="breaks the checks contract"):
        load(tmp_path, "run")


def test_two_columns_of_one_name_are_refused(tmp_path, load):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table([["a"], ["b"]], names=["item_id", "item_id"])
    pq.write_table(table, tmp_path / "results.parquet")
    with pytest.raises(ContractError, match="columns of one name"):
        load(tmp_path / "results.parquet", "run")


def test_assertions_without_ids_get_stable_ones(save, load):
    frame = pl.DataFrame({"item_id": ["a", "a"], "level": ["must", "should"], "text": ["x", "x"]})
    found = load(save("golden_assertions.parquet", frame), "golden")
    ids = [assertion_id("must", "x"), assertion_id("should", "x")]
    assert found["golden_assertions"]["assertion_id"].to_list() == ids


def test_given_ids_of_assertions_stay(save, load):
    frame = pl.DataFrame(
        {"item_id": "a", "assertion_id": ["mine", None], "level": "must", "text": ["x", "y"]}
    )
    found = load(save("golden_assertions.parquet", frame), "golden")
    ids = ["mine", assertion_id("must", "y")]
    assert found["golden_assertions"]["assertion_id"].to_list() == ids


def test_types_of_other_writers_come_out_as_contract_types(save, load):
    frame = pl.DataFrame(
        {
            "item_id": pl.Series(["a", "b"], dtype=pl.Categorical),
            "sample_index": pl.Series([0, 1], dtype=pl.Int32),
            "confidence": pl.Series([0.5, None], dtype=pl.Float32),
            "answered_at": pl.Series([datetime(2026, 1, 1, tzinfo=UTC)] * 2).dt.cast_time_unit(
                "ns"
            ),
        }
    )
    found = load(save("results.parquet", frame), "run")
    assert found["results"].select(TABLES["results"].names).schema == TABLES["results"].schema
    assert found.rows("results", "item_id", "confidence") == [("a", 0.5), ("b", None)]


def raw_text(*texts: bytes):
    """An Arrow text column with the bytes as they are."""
    import pyarrow as pa

    return pa.array(texts, pa.binary()).view(pa.string())


def save_arrow(tmp_path, **columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "golden_items.parquet"
    pq.write_table(pa.table({"answerable": [True] * len(columns["item_id"]), **columns}), path)
    return path


def test_a_text_that_is_not_utf_8_is_a_problem_of_its_row(tmp_path, load):
    questions = raw_text(b"good", b"bad \xff", "é".encode())
    found = load(save_arrow(tmp_path, item_id=["a", "b", "c"], question=questions), "golden")
    assert found.rows("golden_items", "question") == [("good",), (None,), ("é",)]
    assert found.reasons("golden_items") == [[], ["question: not UTF-8: bad \ufffd"], []]
    assert json.loads(found["golden_items"]["_row"][1])["question"] == "bad \ufffd"


def test_lone_surrogates_in_parquet_are_replaced_and_counted(tmp_path, load):
    questions = raw_text(b"x\xed\xa0\xb5y", b"z")
    found = load(save_arrow(tmp_path, item_id=["a", "b"], question=questions), "golden")
    assert found.rows("golden_items", "question") == [("x\ufffdy",), ("z",)]
    assert found.findings.n_replaced_surrogates == 1
    assert not found.problems("golden_items")


def test_lists_of_texts_are_checked_too(tmp_path, load):
    import pyarrow as pa

    words = raw_text(b"a", b"\xff", b"\xed\xa0\x80")
    tags = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 3], pa.int32()), words)
    path = save_arrow(tmp_path, item_id=list("abcd"), question=list("qrst"), tags=tags)
    found = load(path, "golden")
    assert found.rows("golden_items", "tags") == [(["a"],), ([],), (["\ufffd"],), ([],)]
    assert found.problems("golden_items") == ['tags: not UTF-8: ["\ufffd"]']
    assert found.findings.n_replaced_surrogates == 1


def test_dictionary_encoded_texts_are_checked_too(tmp_path, load):
    import pyarrow as pa

    questions = pa.DictionaryArray.from_arrays(
        pa.array([1, 0], pa.int32()), raw_text(b"\xff", b"a")
    )
    found = load(save_arrow(tmp_path, item_id=["a", "b"], question=questions), "golden")
    assert found.rows("golden_items", "question") == [("a",), (None,)]


def test_an_unknown_time_zone_is_an_error_that_names_the_file(tmp_path, load):
    import pyarrow as pa

    times = pa.array([1], pa.timestamp("us", "Nowhere/City"))
    path = save_arrow(tmp_path, item_id=["a"], question=["q"], created_at=times)
    with pytest.raises(ContractError, match=r"golden_items\.parquet") as caught:
        load(path, "golden")
    assert "Nowhere/City" in caught.value.problems[0]


def test_a_decimal_too_wide_for_any_number_is_an_error(tmp_path, load):
    from decimal import Decimal

    import pyarrow as pa

    wide = pa.array([Decimal(1)], pa.decimal256(60, 2))
    with pytest.raises(ContractError, match="cannot be read") as caught:
        load(save_arrow(tmp_path, item_id=["a"], question=["q"], ground_truth=wide), "golden")
    assert caught.value.problems == ("column 'ground_truth' is decimal256(60, 2)",)


def test_a_time_with_an_offset_becomes_utc(tmp_path, load):
    import pyarrow as pa

    times = pa.array([0], pa.timestamp("ms", "+02:00"))
    path = save_arrow(tmp_path, item_id=["a"], question=["q"], created_at=times)
    assert load(path, "golden").rows("golden_items", "created_at") == [
        (datetime(1970, 1, 1, tzinfo=UTC),)
    ]


def test_a_file_name_that_fits_another_table_than_its_columns_misleads_nobody(save, load):
    assert load(save("runs-7.parquet", RESULTS), "run")["results"].height == 2


def test_a_mended_quarantine_file_is_read_without_its_old_reasons(save, load):
    frame = RESULTS.with_columns(
        _source_file=pl.lit("old"),
        _source_row=pl.lit(9),
        _reasons=pl.lit(["x: y: z"]),
        _row=pl.lit("{}"),
    )
    found = load(save("results.parquet", frame), "run")
    assert found.reasons("results") == [[], []]
    assert found["results"]["_source_row"].to_list() == [1, 2]
