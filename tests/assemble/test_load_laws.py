"""What holds for any run: counts, and that files, order and format do not matter."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import count
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from crucible_batch.contracts import TABLES

pytestmark = pytest.mark.slow  # loads many stores per example

FEW = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ITEMS = ["q1", "q2", "q3", "q4", "unknown"]
SAMPLES_N = 2
HEADER = {"run": {"run_id": "r", "samples_n": SAMPLES_N, "started_at": "2026-01-01T00:00:00Z"}}

SURE = {"item_id": "q3", "sample_index": 0, "answer": "sure", "confidence": None}
"""A result that is always good: a load of which every result is bad is refused."""

ranking = st.lists(
    st.fixed_dictionaries(
        {"doc_id": st.sampled_from(["d1", "d2", ""]), "score": st.sampled_from([0.5, 1, None])}
    ),
    max_size=3,
)
line = st.fixed_dictionaries(
    {
        "item_id": st.sampled_from(ITEMS),
        "sample_index": st.sampled_from([0, 1, 1, 2]),
        "answer": st.sampled_from(["yes", "no", None]),
        "confidence": st.sampled_from([0.25, None, None, 2]),
    },
    optional={"retrievals": ranking},
)


@pytest.fixture
def fresh(tmp_path: Path, golden_template: Path, monkeypatch, with_golden):
    """Make one more store with golden items, any number of times."""
    numbers = count()

    def make():
        folder = tmp_path / f"store-{next(numbers)}"
        shutil.copytree(golden_template, folder / "store")
        return type(with_golden)(folder)

    return make


def is_good(row):
    return (
        row["item_id"] != "unknown"
        and row["sample_index"] < SAMPLES_N
        and row["confidence"] in {0.25, None}
    )


def is_whole(rankings):
    """No row under a result is bad, and no rank is given to two documents or scores."""
    placed = {(n, row["doc_id"], row["score"]) for rows in rankings for n, row in enumerate(rows)}
    return all(doc for _, doc, _ in placed) and len({n for n, *_ in placed}) == len(placed)


def expected(rows):
    """(accepted, quarantined, already there) of results, by a plain reading of the contract."""
    good = [
        (r["item_id"], r["sample_index"], r["answer"], r["confidence"]) for r in rows if is_good(r)
    ]
    contents = {key: {row for row in good if row[:2] == key} for key in {g[:2] for g in good}}
    under = {key: [r["retrievals"] for r in rows if is_good(r) and r.get("retrievals")
                   and (r["item_id"], r["sample_index"]) == key] for key in contents}  # fmt: skip
    clear = {key for key, rows in contents.items() if len(rows) == 1 and is_whole(under[key])}
    n_clash = sum(row[:2] not in clear for row in good)
    n_bad = len(rows) - len(good) + n_clash
    return clear, n_bad, len(rows) - n_bad - len(clear)


@FEW
@given(st.lists(line, min_size=1, max_size=10))
def test_every_row_is_accepted_quarantined_or_already_there(fresh, counted, rows):
    loads = fresh()
    good = {"item_id": "q1", "sample_index": 0, "answer": "sure", "confidence": None}
    rows = [row for row in rows if (row["item_id"], row["sample_index"]) != ("q1", 0)] + [good]
    clear, n_bad, n_there = expected(rows)
    report = loads.run(loads.lines("r.jsonl", HEADER, *rows))
    assert counted(report, "results") == (len(rows), len(clear), n_bad, n_there)
    assert set(loads.rows("results", "item_id", "sample_index")) == clear
    ranked = [(row, child) for row in rows for child in row.get("retrievals", [])]
    if ranked:
        found = counted(report, "retrievals")
        assert found[0] == len(ranked)
        keys = Counter(loads.rows("retrievals", "item_id", "sample_index"))
        assert set(keys) <= clear
        assert found[1] == sum(keys.values())


def distinct(rows):
    """Rows that a run could have written: each key once."""
    return list({(row["item_id"], row["sample_index"]): row for row in rows}.values())


@FEW
@given(st.lists(line, min_size=2, max_size=8).map(distinct), st.data())
def test_order_and_split_over_files_do_not_matter(fresh, rows, data):
    rows = distinct([*rows, SURE])
    one, other = fresh(), fresh()
    first = one.run(one.lines("all.jsonl", HEADER, *rows))
    mixed = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(rows) - 1))
    paths = [other.lines("b.jsonl", HEADER, *mixed[cut:])]
    paths += [other.lines("a.jsonl", *mixed[:cut])] if cut else []
    second = other.run(*paths)
    assert [vars(table) for table in first.tables] == [vars(table) for table in second.tables]
    left, right = one.everything(), other.everything()
    for name, frame in left.items():
        assert_frame_equal(frame, right[name])
    again = one.run(*paths)
    assert not again.created


@FEW
@given(st.lists(line, min_size=1, max_size=8).map(distinct))
def test_jsonl_and_parquet_of_one_content_give_the_same_tables(fresh, rows):
    rows = distinct([*filter(is_good, rows), SURE])
    nested, flat = fresh(), fresh()
    nested.run(nested.lines("r.jsonl", HEADER, *rows))
    children = [
        {
            "item_id": row["item_id"],
            "sample_index": row["sample_index"],
            "rank": rank,
            **child,
        }
        for row in rows
        for rank, child in enumerate(row.get("retrievals", []), start=1)
    ]
    plain = [{k: v for k, v in row.items() if k != "retrievals"} for row in rows]
    run = {"run_id": "r", "samples_n": SAMPLES_N}
    started = pl.lit("2026-01-01T00:00:00Z").str.to_datetime(time_zone="UTC")
    paths = [
        flat.parquet("runs.parquet", pl.DataFrame([run]).with_columns(started_at=started)),
        flat.parquet("results.parquet", plain),
    ]
    if any("retrievals" in row for row in rows):
        ranked = pl.DataFrame(children, schema=_columns("retrievals", children))
        paths.append(flat.parquet("retrievals.parquet", ranked))
    flat.run(*paths)
    left, right = nested.everything(), flat.everything()
    for name, frame in left.items():
        assert_frame_equal(frame, right[name])


def _columns(table, rows):
    needed = {"item_id", "sample_index", "rank", "doc_id", "score"}
    return {name: kind for name, kind in TABLES[table].schema.items() if name in needed}


def test_a_line_as_text_and_as_object_are_the_same(fresh):
    row = {"item_id": "q1", "answer": "é\u2028\U0001f600"}
    plain, escaped = fresh(), fresh()
    plain.run(plain.lines("r.jsonl", json.dumps(row, ensure_ascii=False)), run="r")
    escaped.run(escaped.lines("r.jsonl", json.dumps(row)), run="r")
    assert_frame_equal(plain.everything()["results"], escaped.everything()["results"])
