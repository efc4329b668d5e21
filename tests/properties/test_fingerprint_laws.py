"""Fingerprints are functions of the values alone, and of all of them."""

from __future__ import annotations

import hashlib
import json
import struct
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.contracts import TABLES, Column, Kind, Role, Storage, Table
from crucible_batch.store import content_fingerprint

TABLE = Table(
    name="all_kinds",
    description="one column of every published type",
    key=("workspace_id", "a", "b"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        Column(name="workspace_id", kind=Kind.ID, description="-"),
        Column(name="a", kind=Kind.ID, description="-", nullable=True),
        Column(name="b", kind=Kind.INT, description="-"),
        Column(name="x", kind=Kind.FLOAT, description="-", nullable=True),
        Column(name="ok", kind=Kind.BOOL, description="-", nullable=True),
        Column(name="seen_at", kind=Kind.TIME, description="-", nullable=True),
        Column(name="tags", kind=Kind.WORDS, description="-", nullable=True),
        Column(name="created_at", kind=Kind.TIME, description="-"),
    ),
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
times = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
row = st.fixed_dictionaries(
    {
        "workspace_id": st.just("w"),
        "a": st.none() | texts,
        "b": st.integers(-(2**63), 2**63 - 1),
        "x": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "ok": st.none() | st.booleans(),
        "seen_at": st.none() | times,
        "tags": st.none() | st.lists(st.none() | texts, max_size=3),
        "created_at": times,
    }
)
rows = st.lists(row, max_size=8, unique_by=lambda r: (r["a"], r["b"]))


def frame(values):
    return pl.DataFrame(values, schema=TABLE.schema)


def micros(value):
    delta = value - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


FIXED = {
    Kind.INT: ("<q", int),
    Kind.FLOAT: ("<d", lambda cell: cell + 0.0),
    Kind.BOOL: ("<B", int),
    Kind.TIME: ("<q", micros),
}


def valid(cells):
    return bytes(cell is not None for cell in cells)


def sizes(lengths):
    return b"".join(struct.pack("<I", length) for length in lengths)


def text_digests(cells):
    encoded = [(cell or "").encode() for cell in cells]
    return digests(valid(cells), sizes(map(len, encoded)), b"".join(encoded))


def digests(*streams):
    return [hashlib.sha256(stream).hexdigest() for stream in streams]


def column_digests(kind, cells):
    if kind is Kind.ID:
        return text_digests(cells)
    if kind is Kind.WORDS:
        own = digests(valid(cells), sizes(len(cell or []) for cell in cells), b"")
        items = [item for cell in cells for item in cell or []]
        return [*own, text_digests(items)] if cells else own
    form, as_number = FIXED[kind]
    numbers = [struct.pack(form, 0 if cell is None else as_number(cell)) for cell in cells]
    return digests(valid(cells), b"", b"".join(numbers))


def by_hand(values):
    """The definition, spelled out row by row with struct and hashlib."""
    ordered = sorted(values, key=lambda r: (r["a"] is not None, (r["a"] or "").encode(), r["b"]))
    body = [
        [name, column_digests(TABLE.column(name).kind, [r[name] for r in ordered])]
        for name in TABLE.content
    ]
    text = json.dumps([len(ordered), body], separators=(",", ":"))
    return hashlib.sha256(b"crucible.rows.1\n" + text.encode()).hexdigest()


@given(rows)
def test_the_fingerprint_is_what_the_definition_says(values):
    assert content_fingerprint(frame(values), TABLE) == by_hand(values)


@given(rows, st.randoms(), st.integers(0, 8))
def test_order_and_split_do_not_matter(values, rng, cut):
    shuffled = rng.sample(values, len(values))
    expected = content_fingerprint(frame(values), TABLE)
    assert content_fingerprint(frame(shuffled), TABLE) == expected
    pieces = [frame(shuffled[:cut]), frame(shuffled[cut:])]
    assert content_fingerprint(pieces, TABLE) == expected


@given(rows.filter(bool), st.data())
def test_every_content_value_matters(values, data):
    index = data.draw(st.integers(0, len(values) - 1))
    name = data.draw(st.sampled_from(["x", "ok", "seen_at", "tags"]))
    other = data.draw(row)[name]
    changed = [dict(r) for r in values]
    changed[index][name] = other
    same = changed[index][name] == values[index][name]
    equal = content_fingerprint(frame(changed), TABLE) == content_fingerprint(frame(values), TABLE)
    assert equal == same


@given(rows.filter(bool), times)
def test_when_a_row_was_written_is_not_content(values, moment):
    changed = [{**r, "created_at": moment} for r in values]
    assert content_fingerprint(frame(changed), TABLE) == content_fingerprint(frame(values), TABLE)


def test_minus_zero_is_zero_and_null_is_not():
    def of(x):
        one = {"workspace_id": "w", "b": 1, "x": x, "created_at": datetime(2026, 1, 1, tzinfo=UTC)}
        return content_fingerprint(frame([one]), TABLE)

    assert of(-0.0) == of(0.0)
    assert of(None) != of(0.0)


@pytest.mark.parametrize(("left", "right"), [(["ab"], ["a", "b"]), ([""], []), ([], None)])
def test_lists_that_join_to_the_same_text_differ(left, right):
    def of(tags):
        one = {"workspace_id": "w", "b": 1, "tags": tags}
        one["created_at"] = datetime(2026, 1, 1, tzinfo=UTC)
        return content_fingerprint(frame([one]), TABLE)

    assert of(left) != of(right)


def test_a_commit_number_is_not_content():
    table = TABLES["chunks"]
    rows = pl.DataFrame([{"workspace_id": "w", "chunk_id": "c", "doc_id": "d"}])
    expected = content_fingerprint(rows, table)
    assert content_fingerprint(rows.with_columns(_commit=pl.lit(7)), table) == expected
