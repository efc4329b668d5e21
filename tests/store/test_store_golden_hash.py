from __future__ import annotations

import hashlib
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crucible_batch.contracts.ids import assertion_id
from crucible_batch.errors import ContractError, UsageError
from crucible_batch.store import (
    golden_set_hash,
    hash_of_items,
    item_hash,
    item_hashes,
)

ITEMS = pl.DataFrame(
    [
        {
            "item_id": "q2",
            "question": "Who wrote Zürich's charter?",
            "answerable": False,
            "question_type": "false_premise",
            "tags": ["b", "a", "b"],
        },
        {
            "item_id": "Q1",
            "question": 'What is the "limit"?',
            "ground_truth": "10 €",
            "answerable": True,
            "popularity": "head",
            "dynamism": "static",
            "shape": "lookup",
            "cluster_id": "c1",
        },
        {
            "item_id": "q10",
            "question": "Given this, how many?",
            "answerable": True,
            "contexts": ["second", "first"],
        },
    ],
    schema_overrides={"contexts": pl.List(pl.String)},
)
ASSERTIONS = pl.DataFrame(
    [
        {"item_id": "Q1", "assertion_id": "a2", "level": "should", "text": "in euros"},
        {
            "item_id": "Q1",
            "assertion_id": "a1",
            "level": "must",
            "text": "ten",
            "concept_id": "limit",
        },
    ]
)
CONCEPTS = pl.DataFrame([{"item_id": "q10", "entity_id": "e1", "relevance": "required"}])
CITATIONS = pl.DataFrame(
    [
        {"item_id": "Q1", "doc_id": "d1", "chunk_id": "d1#2", "kind": "required"},
        {"item_id": "Q1", "doc_id": "d1", "chunk_id": None, "kind": "required"},
    ]
)

# Written by hand from the byte definition, not by the code under test.
Q1 = (
    '{"answerable":true,"assertions":[["a1","must","ten","limit"],["a2","should","in euros",null]],'
    '"citations":[["d1",null,"required"],["d1","d1#2","required"]],"cluster_id":"c1","concepts":[],'
    '"contexts":null,"dynamism":"static","ground_truth":"10 €","popularity":"head",'
    '"question":"What is the \\"limit\\"?","question_type":null,"shape":"lookup","tags":[]}'
)
Q10 = (
    '{"answerable":true,"assertions":[],"citations":[],"cluster_id":null,'
    '"concepts":[["e1","required"]],"contexts":["second","first"],"dynamism":null,'
    '"ground_truth":null,"popularity":null,"question":"Given this, how many?",'
    '"question_type":null,"shape":null,"tags":[]}'
)
Q2 = (
    '{"answerable":false,"assertions":[],"citations":[],"cluster_id":null,"concepts":[],'
    '"contexts":null,"dynamism":null,"ground_truth":null,"popularity":null,'
    '"question":"Who wrote Z\u00fcrich\'s charter?","question_type":"false_premise","shape":null,'
    '"tags":["a","b"]}'
)
# By printf and sha256sum.
SET = "sha256:daae5757f4b3346196a6489cf74a4822cbb33c35ca8e4d27ccd0b323aa717230"


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def of(items=ITEMS, assertions=ASSERTIONS, concepts=CONCEPTS, citations=CITATIONS):
    return golden_set_hash(items, assertions, concepts, citations)


def test_a_set_of_three_items_hashes_to_the_bytes_of_the_definition():
    lines = f"Q1\t{sha(Q1)}\nq10\t{sha(Q10)}\nq2\t{sha(Q2)}\n"  # ids bytewise
    assert of() == "sha256:" + sha(lines) == SET


def test_the_hash_of_an_item_is_that_of_its_json():
    hashes = dict(
        item_hashes(ITEMS, ASSERTIONS, CONCEPTS, CITATIONS)
        .select("item_id", "item_hash")
        .iter_rows()
    )
    assert hashes == {"Q1": sha(Q1), "q10": sha(Q10), "q2": sha(Q2)}


def test_row_order_does_not_matter():
    assert of(ITEMS.reverse(), ASSERTIONS.reverse(), CONCEPTS, CITATIONS.reverse()) == of()


def test_composed_and_decomposed_text_are_the_same():
    decomposed = ITEMS.with_columns(pl.col("question").str.replace("ü", "u\u0308"))
    assert not decomposed.equals(ITEMS)
    assert of(decomposed) == of()


@pytest.mark.parametrize(
    "change",
    [
        {"question": pl.lit("x")},
        {"ground_truth": pl.lit("x")},
        {"cluster_id": pl.lit("x")},
        {"tags": pl.lit(["x"])},
        {"contexts": pl.col("contexts").list.reverse()},
        {"answerable": ~pl.col("answerable")},
    ],
)
def test_every_field_of_an_item_matters(change):
    assert of(ITEMS.with_columns(**change)) != of()


def test_who_wrote_an_item_and_when_does_not_matter():
    assert of(ITEMS.with_columns(author=pl.lit("ann"), promoted_from=pl.lit("f1"))) == of()


def test_an_items_state_is_its_highest_revision():
    old = ITEMS.with_columns(revision=pl.lit(1), question=pl.lit("old?"))
    new = ITEMS.with_columns(revision=pl.lit(2))
    children = [f.with_columns(revision=pl.lit(2)) for f in (ASSERTIONS, CONCEPTS, CITATIONS)]
    stale = ASSERTIONS.with_columns(revision=pl.lit(1), text=pl.lit("old"))
    children[0] = pl.concat([children[0], stale], how="diagonal")
    assert of(pl.concat([new, old], how="diagonal"), *children) == of()


def test_a_retired_item_is_out_and_a_later_revision_brings_it_back():
    first = ITEMS.with_columns(revision=pl.lit(1), retired=pl.lit(value=False))
    retired = first.filter(item_id="q2").with_columns(
        revision=pl.lit(2), retired=pl.lit(value=True)
    )
    back = retired.with_columns(revision=pl.lit(3), retired=pl.lit(value=False))
    without = of(ITEMS.filter(pl.col("item_id") != "q2"))
    assert of(pl.concat([first, retired])) == without
    assert of(pl.concat([first, retired, back])) == of()


def test_pandas_arrow_and_lazy_frames_are_taken_too():
    assert of(*(f.lazy() for f in (ITEMS, ASSERTIONS, CONCEPTS, CITATIONS))) == of()
    assert of(*(f.to_arrow() for f in (ITEMS, ASSERTIONS, CONCEPTS, CITATIONS))) == of()
    pandas = [pa.table(f.to_arrow()).to_pandas() for f in (ITEMS, ASSERTIONS, CONCEPTS, CITATIONS)]
    assert of(*pandas) == of()


def test_an_assertion_without_id_gets_the_hash_of_its_text():
    nameless = pl.DataFrame([{"item_id": "Q1", "level": "must", "text": "ten"}])
    named = nameless.with_columns(assertion_id=pl.lit(assertion_id("must", "ten")))
    assert of(assertions=nameless) == of(assertions=named)
    expected = sha(json.dumps(["must", "ten"], separators=(",", ":")))
    assert assertion_id("must", "ten") == "a-" + expected[:12]


def test_an_empty_set_is_the_hash_of_nothing():
    assert of(ITEMS.head(0)) == "sha256:" + sha("")
    assert hash_of_items(item_hashes(ITEMS)) == golden_set_hash(ITEMS)


def test_a_missing_column_is_named():
    with pytest.raises(UsageError, match="golden_items has no column answerable"):
        of(ITEMS.drop("answerable"))


@pytest.mark.parametrize("column", ["workspace_id", "golden_set"])
def test_items_of_several_sets_or_workspaces_are_refused(column):
    with pytest.raises(UsageError, match=f"2 values of {column}"):
        of(ITEMS.with_columns(pl.Series(column, ["a", "b", "a"])))


def test_one_item_can_be_hashed_from_plain_rows():
    assert item_hash({"question": "Given this, how many?", "answerable": True}) != sha(Q10)
    row = {"question": "Given this, how many?", "answerable": True, "contexts": ["second", "first"]}
    assert item_hash(row, concepts=[{"entity_id": "e1", "relevance": "required"}]) == sha(Q10)


@pytest.mark.parametrize(
    ("place", "frame", "said"),
    [
        (0, pl.concat([ITEMS, ITEMS.head(1)]), "twice: item_id 'q2', revision 1"),
        (0, ITEMS.with_columns(answerable=None), "answerable is null in row 1"),
        (0, ITEMS.with_columns(question=None), "question is null in row 1"),
        (0, ITEMS.with_columns(item_id=None), "item_id is null in row 1"),
        (1, pl.concat([ASSERTIONS, ASSERTIONS]), "twice: item_id 'Q1', revision 1, assertion_id"),
        (1, ASSERTIONS.with_columns(text=None), "text is null in row 1"),
        (2, pl.concat([CONCEPTS, CONCEPTS]), "twice: item_id 'q10', revision 1, entity_id 'e1'"),
        (3, pl.concat([CITATIONS, CITATIONS.head(1)]), "twice: item_id"),
    ],
)
def test_rows_that_no_loaded_set_could_hold_are_refused(place, frame, said):
    frames = [ITEMS, ASSERTIONS, CONCEPTS, CITATIONS]
    frames[place] = frame
    with pytest.raises(ContractError, match="cannot be hashed") as caught:
        golden_set_hash(*frames)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "items",
    [5, "items", object(), ["a", 1], pd.DataFrame([["q", "q"]], columns=["item_id", "item_id"])],
)
def test_what_is_no_table_is_refused(items):
    with pytest.raises((ContractError, UsageError), match="golden_items"):
        golden_set_hash(items)


def test_a_column_of_another_type_is_refused_by_name():
    with pytest.raises(ContractError, match=r"golden_items\.answerable has type String"):
        golden_set_hash(ITEMS.with_columns(answerable=pl.lit("perhaps")))


def test_no_items_at_all_have_no_hash():
    with pytest.raises(UsageError, match="No golden items"):
        golden_set_hash(None)
