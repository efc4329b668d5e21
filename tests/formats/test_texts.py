"""Texts of documents from JSON Lines and Parquet."""

from __future__ import annotations

import gzip
import json

import polars as pl
import pytest

from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats.texts import read_texts

ROWS = [{"doc_id": "d1", "text": "One.", "title": "T"}, {"doc_id": "d2", "text": ""}]


def test_json_lines_and_parquet_are_read_alike(tmp_path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    pl.DataFrame(ROWS).write_parquet(tmp_path / "c.parquet")
    for name in ("a.jsonl", "b.jsonl.gz", "c.parquet"):
        assert read_texts([tmp_path / name]) == {"d1": "One.", "d2": ""}
    assert read_texts([tmp_path]) == {"d1": "One.", "d2": ""}  # the same text twice is no conflict


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"doc_id": "d1"}, r"row 3: doc_id 'd1' with text None"),
        ({"text": "T"}, r"row 3: doc_id None with text 'T'"),
        ({"doc_id": 1, "text": "T"}, r"row 3: doc_id 1"),
        ({"doc_id": "d1", "text": "Two."}, r"row 3: document 'd1' has another text before"),
        ([], r"row 3: not a JSON object"),
    ],
)
def test_a_row_that_is_no_text_of_a_document_is_told_with_its_place(tmp_path, row, said) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in [*ROWS, row]))
    with pytest.raises(ContractError, match=said):
        read_texts([path])


def test_a_parquet_file_without_the_columns_is_refused(tmp_path) -> None:
    pl.DataFrame({"id": ["d1"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(ContractError, match="row 1"):
        read_texts([tmp_path / "a.parquet"])


def test_a_path_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_texts([tmp_path / "none.jsonl"])
