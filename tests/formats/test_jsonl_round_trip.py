"""Rows of any contract table, written as JSON Lines by hand, read back as the same rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.conform import complete
from crucible_batch.contracts.table import Column, Kind, Table
from crucible_batch.formats import jsonl
from crucible_batch.formats.verbs import CHILDREN, PARENT_KEYS, VERB_TABLES

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
).filter(lambda value: isinstance(value, dict | list))

VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.ID: TEXT,
    Kind.TEXT: TEXT,
    Kind.NONBLANK: TEXT,
    Kind.WORD: TEXT,
    Kind.JSON: JSON,
    Kind.INT: st.integers(-(2**63), 2**63 - 1),
    Kind.FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    Kind.BOOL: st.booleans(),
    Kind.TIME: st.datetimes(timezones=st.just(UTC)),
    Kind.WORDS: st.lists(TEXT, max_size=3),
}


def rows_of(table: Table, without: tuple[str, ...] = ()) -> st.SearchStrategy[dict[str, Any]]:
    """Rows with every needed column and any choice of the others, null among their values."""
    needed, free = {}, {}
    for column in table.columns:
        if column.name not in without:
            values = VALUES[column.kind]
            (free if column.optional else needed)[column.name] = (
                st.none() | values if column.nullable else values
            )
    return st.fixed_dictionaries(needed, optional=free)


def as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def as_cell(column: Column, value: Any) -> Any:
    if column.kind is Kind.JSON and value is not None:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return value


def frame_of(table: Table, rows: list[dict[str, Any]]) -> pl.DataFrame:
    columns = [
        pl.Series(c.name, [as_cell(c, row.get(c.name)) for row in rows], dtype=c.dtype)
        for c in table.columns
    ]
    return complete(table, pl.DataFrame(columns))


def write(folder, name: str, lines: list[dict[str, Any]], *, ascii_only: bool) -> Any:
    path = folder / name
    texts = [json.dumps(line, default=as_json, ensure_ascii=ascii_only) for line in lines]
    path.write_bytes(("\n".join(texts) + "\n").encode())
    return path


def read_back(load, path, verb: str) -> dict[str, pl.DataFrame]:
    found = load(path, verb)
    assert all(not found.problems(name) for name in found.tables)
    assert found.findings.n_replaced_surrogates == 0
    return {name: frame.select(TABLES[name].names) for name, frame in found.tables.items()}


FLAT = [(verb, table) for verb, tables in VERB_TABLES.items() for table in tables]


@pytest.mark.parametrize(("verb", "name"), FLAT, ids=str)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_flat_rows_read_back_as_they_were(tmp_path_factory, load, verb, name, data):
    table = TABLES[name]
    given_ids = ("assertion_id",) if name == "golden_assertions" else ()
    rows = data.draw(st.lists(rows_of(table, given_ids), min_size=1, max_size=5))
    if given_ids:
        rows = [{**row, "assertion_id": f"a{at}"} for at, row in enumerate(rows)]
    folder = tmp_path_factory.mktemp("flat")
    path = write(folder, f"{name}.jsonl", rows, ascii_only=data.draw(st.booleans()))
    assert read_back(load, path, verb)[name].equals(frame_of(table, rows))


@pytest.mark.parametrize(("verb", "main"), [("golden", "golden_items"), ("run", "results")])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_nested_rows_read_back_with_the_keys_of_their_line(
    tmp_path_factory, load, verb, main, data
):
    keys = PARENT_KEYS[main]
    lines = data.draw(st.lists(rows_of(TABLES[main]), min_size=1, max_size=4))
    expected: dict[str, list[dict[str, Any]]] = {main: [dict(line) for line in lines]}
    for key, child in CHILDREN[main].items():
        for line, parent in zip(lines, expected[main], strict=True):
            children = data.draw(st.none() | st.lists(rows_of(TABLES[child], keys), max_size=3))
            if children is None:
                continue
            for at, row in enumerate(children):
                if child == "golden_assertions":
                    row["assertion_id"] = f"a{at}"
                inherited = {k: parent[k] for k in keys if k in parent}
                expected.setdefault(child, []).append({**inherited, **row})
            line[key] = children
    # Lines of one table may come in several chunks; the rows are the same.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "CHUNK_LINES", data.draw(st.integers(1, 3)))
        folder = tmp_path_factory.mktemp("nested")
        found = read_back(load, write(folder, f"{main}.jsonl", lines, ascii_only=False), verb)
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        assert found[name].equals(frame_of(TABLES[name], rows)), name
