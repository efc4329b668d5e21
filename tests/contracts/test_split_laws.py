"""The split of random rows equals a plain Python reading of CONTRACTS.md, row by row."""

from __future__ import annotations

import math
import re
import unicodedata

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandera.errors import SchemaErrors

from crucible_batch.contracts import TABLES, validate
from crucible_batch.contracts.conform import complete, conform
from crucible_batch.contracts.validate import split, split_duplicates

ids = st.one_of(
    st.sampled_from(["a", "b", "007", "", " ", "a\x00", "x\x7f", "é" * 256, "é" * 257, "\u3000"]),
    st.none(),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=4),
)
whole = st.one_of(st.none(), st.integers(-2, 5), st.just(2**62))
edges = [0.0, -0.0, 1.0, 0.5, 1.0000000000000002, -1e-300, 1e15, 1.1e15]
numbers = st.one_of(st.none(), st.floats(), st.sampled_from(edges))
flags = st.one_of(st.none(), st.booleans())
texts = st.one_of(st.none(), st.sampled_from(["", "nan", "x" * 2**20, "x" * (2**20 + 1)]))


def is_id(value):
    if value is None or not value.strip() or len(value) > 256:
        return False
    return not any(unicodedata.category(c) == "Cc" for c in value)


def is_share(value):
    return value is None or (math.isfinite(value) and 0 <= value <= 1)


def is_amount(value):
    return value is None or 0 <= value <= 1e15


def is_text(value):
    return value is None or len(value.encode()) <= 2**20


RESULT = st.fixed_dictionaries(
    {
        "workspace_id": st.sampled_from(["w", "w", "w", "-w", None]),
        "run_id": st.just("r"),
        "item_id": ids,
        "sample_index": whole,
        "answer": texts,
        "retrieval_ran": flags,
        "confidence": numbers,
        "error_kind": ids,
        "latency_ms": numbers,
        "prompt_tokens": whole,
    }
)


def is_good_result(row):
    return (
        row["workspace_id"] == "w"
        and is_id(row["item_id"])
        and (row["sample_index"] is None or 0 <= row["sample_index"] < 10_000)  # absent: 0
        and is_text(row["answer"])
        and row["retrieval_ran"] is not None
        and is_share(row["confidence"])
        and (row["error_kind"] is None or is_id(row["error_kind"]))
        and is_amount(row["latency_ms"])
        and (row["prompt_tokens"] is None or row["prompt_tokens"] >= 0)
    )


def rows_of(table, rows):
    schema = {name: table.schema[name] for name in rows[0]} if rows else table.schema
    frame = pl.DataFrame(rows, schema=schema, strict=True)
    return complete(table, conform(table, frame, source="in"))


@settings(max_examples=25, deadline=None)
@given(st.lists(RESULT, min_size=1, max_size=12))
def test_results_are_split_as_a_plain_reading_of_the_contract_says(rows):
    parts = split(TABLES["results"], rows_of(TABLES["results"], rows))
    good = [number for number, row in enumerate(rows, start=1) if is_good_result(row)]
    assert parts.accepted["_source_row"].to_list() == good
    assert parts.accepted.height + parts.quarantined.height == len(rows)
    assert all(parts.quarantined["_reasons"].list.len())
    assert parts.quarantined["_row"].null_count() == 0


QREL = st.fixed_dictionaries(
    {
        "workspace_id": st.just("w"),
        "query_id": st.sampled_from(["q", ""]),
        "target": st.sampled_from(["c", "doc:d", "d"]),
        "source": st.sampled_from(["human", "llm", "provenance", "LLM", None]),
        "judge": st.just("j"),
        "doc_id": st.sampled_from(["d", None]),
        "chunk_id": st.sampled_from(["c", None]),
        "grade": st.sampled_from([0, 3, 4, -1, None]),
        "judge_model": st.sampled_from(["m", None]),
        "prompt_version": st.sampled_from(["p", None]),
    }
)


def is_good_qrel(row):
    llm = row["source"] == "llm"
    return (
        row["query_id"] == "q"
        and row["source"] in {"human", "llm", "provenance"}
        and row["grade"] in {0, 3}
        and (row["chunk_id"] or row["doc_id"]) is not None
        and row["target"] == (row["chunk_id"] or f"doc:{row['doc_id']}")
        and (row["judge_model"] is not None) == llm
        and (row["prompt_version"] is not None) == llm
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(QREL, min_size=1, max_size=12))
def test_judgments_are_split_as_a_plain_reading_of_the_contract_says(rows):
    table = TABLES["qrels"]
    parts = split(table, rows_of(table, rows), later=("qrel_id", "created_at"))
    good = [number for number, row in enumerate(rows, start=1) if is_good_qrel(row)]
    assert parts.accepted["_source_row"].to_list() == good
    assert all(parts.quarantined["_reasons"].list.len())


NAMES = ["faithfulness", "plugin.a.b", "plugin.a", "accuracy", "plugin.a.b.c", "plugin..x"]
SCORE = st.fixed_dictionaries(
    {
        "workspace_id": st.just("w"),
        "run_id": st.just("r"),
        "item_id": st.just("q"),
        "metric": st.sampled_from(NAMES),
        "value": numbers,
    }
)


def is_good_score(row):
    if row["value"] is None or not abs(row["value"]) <= 1e15:  # NaN is not either
        return False
    if row["metric"] == "faithfulness":
        return 0 <= row["value"] <= 1
    return re.fullmatch(r"plugin\.\w+\.\w+", row["metric"]) is not None


@settings(max_examples=25, deadline=None)
@given(st.lists(SCORE, min_size=1, max_size=12))
def test_scores_are_split_as_a_plain_reading_of_the_contract_says(rows):
    parts = split(TABLES["external_scores"], rows_of(TABLES["external_scores"], rows))
    good = [number for number, row in enumerate(rows, start=1) if is_good_score(row)]
    assert parts.accepted["_source_row"].to_list() == good


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), max_size=10))
def test_repeated_keys_are_resolved_as_a_plain_reading_of_the_contract_says(pairs):
    table = TABLES["results"]
    rows = [
        {"workspace_id": "w", "run_id": "r", "item_id": i, "sample_index": 0, "answer": a}
        for i, a in pairs
    ]
    parts = split_duplicates(table, rows_of(table, rows))
    contents = {item: {a for i, a in pairs if i == item} for item, _ in pairs}
    clear = [item for item, answers in contents.items() if len(answers) == 1]
    clash = [pair for pair in pairs if pair[0] not in clear]
    assert parts.accepted["item_id"].to_list() == clear
    assert parts.quarantined.height == len(clash)
    assert parts.n_already_there == len(pairs) - len(clash) - len(clear)


@pytest.mark.parametrize(
    ("table", "rows"), [("results", RESULT), ("qrels", QREL), ("external_scores", SCORE)]
)
@settings(max_examples=25)
@given(data=st.data())
def test_the_pass_over_good_tables_never_hides_what_pandera_finds(table, rows, data):
    # One row: whether anything is wrong then differs from example to example.
    frame = rows_of(TABLES[table], [data.draw(rows)])
    later = frozenset({"qrel_id", "created_at"})
    quick = validate._is_clean(TABLES[table], frame, later)
    try:
        validate.pandera_schema(TABLES[table], later).validate(
            frame.select(TABLES[table].names), lazy=True
        )
    except SchemaErrors:
        assert not quick
    else:
        assert quick


def test_a_good_table_is_not_handed_to_pandera(monkeypatch):
    def refuse(*_):
        raise AssertionError("handed over")

    monkeypatch.setattr(validate, "pandera_schema", refuse)
    rows = [{"workspace_id": "w", "run_id": "r", "item_id": "q", "sample_index": 0}]
    frame = rows_of(TABLES["results"], rows).with_columns(retrieval_ran=pl.lit(value=True))
    assert split(TABLES["results"], frame).accepted.height == 1
