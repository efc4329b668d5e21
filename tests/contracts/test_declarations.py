"""Laws of every declared table, so that a new one cannot forget them."""

from __future__ import annotations

import polars as pl
import pytest

from crucible_batch.contracts import ALL, TABLES, Kind, Role, Storage, get_table
from crucible_batch.contracts.table import UTC
from crucible_batch.contracts.validate import pandera_schema
from crucible_batch.errors import UnknownNameError

each_table = pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)


@each_table
def test_the_key_begins_with_the_workspace_and_names_columns(table):
    assert table.key[0] == "workspace_id"
    assert set(table.key) <= set(table.names)
    assert len(set(table.names)) == len(table.names)


@each_table
def test_every_column_has_a_published_type(table):
    published = {pl.String(), pl.Int64(), pl.Float64(), pl.Boolean(), UTC, pl.List(pl.String())}
    assert set(table.schema.values()) <= published


@each_table
def test_rules_name_a_column_and_are_lower_case_words(table):
    for rule in table.rules:
        assert rule.column in table.names
        assert rule.name == rule.name.lower()
        assert " " not in rule.name
        assert pl.DataFrame(schema=table.schema).select(rule.expr).schema.dtypes() == [pl.Boolean]


@each_table
def test_the_pandera_schema_has_the_declared_types_and_descriptions(table):
    schema = pandera_schema(table)
    assert list(schema.columns) == list(table.names)
    for column in table.columns:
        assert schema.columns[column.name].dtype.type == column.dtype
        assert schema.columns[column.name].description == column.description


@each_table
def test_every_column_says_what_it_is_in_a_phrase_without_a_full_stop(table):
    for column in table.columns:
        assert column.description
        assert column.description == column.description.strip()
        assert not column.description.endswith(".")


@each_table
def test_column_names_are_snake_case_and_not_reserved(table):
    for column in table.columns:
        assert column.name == column.name.lower()
        assert column.name.replace("_", "").isalnum()
        assert column.name != "at"


@each_table
def test_names_decide_types_as_the_contract_says(table):
    for column in table.columns:
        name = column.name
        whole = {
            "seq",
            "n",
            "revision",
            "sample_index",
            "ordinal",
            "point",
            "bin",
            "repeat",
            "grade",
        }
        if name.startswith("n_") or name in whole or name.endswith("_count"):
            assert column.kind is Kind.INT
        if name.endswith("_at") and name != "relevant_at":
            assert column.kind is Kind.TIME
        if name in {"abstained", "retired", "complete", "degenerate", "errored", "headline"}:
            assert column.kind is Kind.BOOL
        if name in {"labels", "payload", "detail", "target_key"}:
            assert column.kind is Kind.JSON


@each_table
def test_words_have_a_vocabulary_and_bounds_belong_to_numbers(table):
    for column in table.columns:
        assert (column.kind is Kind.WORD) <= bool(column.allowed)
        assert all(word == word.lower() for word in column.allowed)
        if column.low is not None or column.high is not None:
            assert column.kind in {Kind.INT, Kind.FLOAT}


def test_bulk_tables_have_a_subject_in_their_key():
    for table in ALL:
        if table.storage is Storage.BULK:
            assert table.subject in table.key
            assert table.role is Role.INPUT


def test_content_leaves_out_what_only_says_when_and_which_row():
    assert {"created_at", "qrel_id"}.isdisjoint(TABLES["qrels"].content)
    assert {"rationale", "grade", "doc_id"} <= set(TABLES["qrels"].content)


def test_an_unknown_table_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="No table is called 'result'") as caught:
        get_table("result")
    assert "Did you mean results" in str(caught.value)


def test_every_number_that_is_summed_is_bounded_so_that_no_sum_of_its_squares_overflows():
    only_orders = {("retrievals", "score")}
    handed_in = [(t.name, column) for t in ALL if t.role is Role.INPUT for column in t.columns]
    for table, column in handed_in:
        if column.kind is Kind.FLOAT and (table, column.name) not in only_orders:
            bounds = [abs(bound) for bound in (column.low, column.high) if bound is not None]
            assert len(bounds) == 2, (table, column.name)
            assert max(bounds) <= 1e15
