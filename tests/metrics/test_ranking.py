"""Rankings and the places of documents in them, against a textbook loop."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.metrics.ranking import Pairs, first_rows, ranked

GROUPS = st.integers(0, 3)
DOCS = st.sampled_from(["a", "b", "c", "d", "é", "a document whose id is longer than twelve bytes"])
PAIRS = st.lists(st.tuples(GROUPS, DOCS), unique=True)


def frame(rows, *names):
    types = {"group": pl.UInt32, "doc": pl.String, "document": pl.String, "order": pl.Float64}
    schema = {name: types[name] for name in names}
    return pl.DataFrame(rows, schema=schema, orient="row")


def textbook(rows):
    """(group, doc) in rank order, every pair once."""
    by_id = sorted(rows, key=lambda row: row[1].encode(), reverse=True)
    ordered = sorted(by_id, key=lambda row: (row[0], -row[2]))
    return list(dict.fromkeys((group, doc) for group, doc, _ in ordered))


def every_hash_is_the_same(monkeypatch):
    monkeypatch.setattr(Pairs, "hashes", lambda pairs: np.zeros(len(pairs), dtype=np.uint64))


@pytest.fixture(params=["hashes differ", "all hashes are equal"])
def _hashes(request, monkeypatch):
    if request.param == "all hashes are equal":
        every_hash_is_the_same(monkeypatch)


@pytest.mark.usefixtures("_hashes")
class TestWhateverTheHash:
    @settings(max_examples=60)
    @given(
        rows=st.lists(st.tuples(GROUPS, DOCS, st.sampled_from([0.0, 1.0, 2.5]))),
        tables=st.lists(PAIRS, max_size=3),
    )
    def test_rankings_and_places_are_those_of_a_loop(self, rows, tables):
        right = textbook(rows)
        given_rows = frame(sorted(rows, key=lambda r: r[0]), "group", "doc", "order")
        out = ranked(given_rows, *(Pairs.of(frame(table, "group", "doc")) for table in tables))
        assert out.rows.select("group", "doc").rows() == right
        place = {pair: row for row, pair in enumerate(right)}
        for table, found in zip(tables, out.found, strict=True):
            assert found.tolist() == [place.get(pair, -1) for pair in table]

    @settings(max_examples=60)
    @given(depth=st.integers(1, 4), data=st.data())
    def test_rankings_of_one_length_are_those_of_a_loop(self, depth, data):
        ranking_of = st.lists(
            st.tuples(DOCS, st.sampled_from([0.0, 1.0])), min_size=depth, max_size=depth
        )
        rankings = data.draw(st.lists(ranking_of, max_size=4))
        rows = [(group, *row) for group, listed in enumerate(rankings) for row in listed]
        out = ranked(frame(rows, "group", "doc", "order"))
        assert out.rows.select("group", "doc").rows() == textbook(rows)

    @settings(max_examples=60)
    @given(rows=st.lists(st.tuples(GROUPS, DOCS)), asked=PAIRS)
    def test_the_first_row_of_a_repeated_value_is_found(self, rows, asked):
        found = first_rows(
            frame(rows, "group", "document"), "document", Pairs.of(frame(asked, "group", "doc"))
        )
        assert found.tolist() == [rows.index(pair) if pair in rows else -1 for pair in asked]
