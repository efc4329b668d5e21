"""entity_counts.sql and entity_mentions.sql."""

from __future__ import annotations

import polars as pl

from crucible_batch.sql import query


def entities(**types: str) -> pl.DataFrame:
    schema = {"entity_id": pl.String(), "entity_type": pl.String()}
    return pl.DataFrame(list(types.items()), schema=schema, orient="row")


def mentions(*entity_ids: str) -> pl.DataFrame:
    return pl.DataFrame({"entity_id": entity_ids}, schema={"entity_id": pl.String()})


def mentioned(listed: pl.DataFrame, *entity_ids: str) -> pl.DataFrame:
    return query("entity_mentions", {"entities": listed, "mentions": mentions(*entity_ids)})


def test_entities_are_counted_per_type_in_order_of_the_type() -> None:
    listed = entities(a="tool", b="person", c="tool")
    assert query("entity_counts", {"entities": listed}).rows() == [("person", 1), ("tool", 2)]


def test_no_entities_have_no_types() -> None:
    found = query("entity_counts", {"entities": entities()})
    assert found.schema == {"entity_type": pl.String, "n": pl.Int64}
    assert found.is_empty()


def test_an_entity_is_listed_once_however_often_it_is_mentioned() -> None:
    found = mentioned(entities(b="t", a="t", c="t"), "a", "a", "c")
    assert found.rows() == [("a", True), ("b", False), ("c", True)]


def test_a_mention_of_an_unlisted_entity_counts_for_nothing() -> None:
    assert mentioned(entities(a="t"), "ghost").rows() == [("a", False)]


def test_without_entities_nothing_is_listed() -> None:
    assert mentioned(entities(), "ghost").schema == {
        "entity_id": pl.String,
        "mentioned": pl.Boolean,
    }
    assert mentioned(entities(), "ghost").is_empty()
