from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest

from crucible_batch.sql import query

FACETS = ("question_type", "popularity", "dynamism", "shape")


def slices_of(*items: dict[str, Any]) -> list[tuple[str, str, str]]:
    schema = {name: pl.String() for name in ("item_id", *FACETS)}
    rows = [{"answerable": True, "tags": []} | item for item in items]
    data = {name: [row.get(name) for row in rows] for name in (*schema, "answerable", "tags")}
    frame = pl.DataFrame(
        data, schema={**schema, "answerable": pl.Boolean, "tags": pl.List(pl.String)}
    )
    return query("slices", {"items": frame}).select("slice_by", "slice", "item_id").rows()


def test_an_item_is_in_every_slice_of_its_facets() -> None:
    found = slices_of({"item_id": "a", "shape": "lookup", "answerable": False, "tags": ["t", "u"]})
    assert found == [
        ("all", "all", "a"),
        ("answerable", "false", "a"),
        ("dynamism", "(none)", "a"),
        ("popularity", "(none)", "a"),
        ("question_type", "(none)", "a"),
        ("shape", "lookup", "a"),
        ("tag", "t", "a"),
        ("tag", "u", "a"),
    ]


def test_a_tag_that_is_listed_twice_is_one_slice() -> None:
    found = slices_of({"item_id": "a", "tags": ["t", "t"]})
    assert [row for row in found if row[0] == "tag"] == [("tag", "t", "a")]


@pytest.mark.parametrize("tag", ["(none)", "it's", "all", "näïve"])
def test_any_text_may_be_a_tag(tag: str) -> None:
    assert ("tag", tag, "a") in slices_of({"item_id": "a", "tags": [tag]})


def test_no_items_have_no_slices() -> None:
    assert slices_of() == []


def test_names_of_python_variables_are_no_relations() -> None:
    items = pl.DataFrame({"item_id": ["a"]})
    with pytest.raises(duckdb.CatalogException, match="items"):
        query("slices", {"other": items})
