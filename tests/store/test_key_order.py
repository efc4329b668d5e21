"""Rows of a mart stand in key order: the quick check against a loop over the rows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.contracts import TABLES
from crucible_batch.errors import ContractError
from crucible_batch.store.key_order import check_order
from crucible_batch.store.staging import ROW_GROUP

NAMES = ("workspace_id", "item_id", "sample_index")
TABLE = replace(TABLES["scores"], key=NAMES)

texts = st.sampled_from([None, "a", "ab", "b", "z" * 40])
keys = st.lists(st.tuples(st.just("w"), texts, st.sampled_from([None, 0, 1])), max_size=6)


def frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    schema = dict(zip(NAMES, (pl.String, pl.String, pl.Int64), strict=True))
    return pl.DataFrame(rows, schema=schema, orient="row")


def is_after(row: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    """Key by key, null first."""
    for value, earlier in zip(row, before, strict=True):
        if value != earlier:
            return earlier is None or (value is not None and value > earlier)
    return False


@given(keys)
def test_rows_pass_only_if_each_stands_after_the_one_before(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("order") / "rows.parquet"
    frame(rows).write_parquet(path)
    wrong = [
        (before, row) for before, row in itertools.pairwise(rows)
        if not is_after(row, before)
    ]  # fmt: skip
    if not wrong:
        check_order(TABLE, path)
        return
    with pytest.raises(ContractError) as caught:
        check_order(TABLE, path)
    before, row = (dict(zip(NAMES, named, strict=True)) for named in wrong[0])
    assert caught.value.problems[0] in {str(row), f"{row} after {before}"}
    assert ("there twice" in str(caught.value)) == (row == before)


@pytest.mark.parametrize("swapped", [ROW_GROUP - 1, ROW_GROUP, ROW_GROUP + 1])
def test_the_ends_of_row_groups_are_compared_too(tmp_path, swapped):
    places = list(range(2 * ROW_GROUP))
    places[swapped - 1], places[swapped] = places[swapped], places[swapped - 1]
    rows = pl.DataFrame(
        {"workspace_id": "w", "item_id": "i", "sample_index": places},
        schema_overrides={"sample_index": pl.Int64},
    )
    path = tmp_path / "rows.parquet"
    rows.write_parquet(path, row_group_size=ROW_GROUP)
    with pytest.raises(ContractError, match="not in key order"):
        check_order(TABLE, path)
