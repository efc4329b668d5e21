"""Builders: files in a folder of their own, and what a reader makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.conform import META, complete
from crucible_batch.formats.chunk import Findings
from crucible_batch.formats.read import read
from crucible_batch.formats.sources import Format, find
from crucible_batch.formats.trec import Lane
from crucible_batch.formats.verbs import Verb


@dataclass
class Loaded:
    """Everything a reading gave, each table as one frame with all contract columns."""

    tables: dict[str, pl.DataFrame]
    heights: dict[str, list[int]]
    findings: Findings

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.tables[table]

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        return self.tables[table].select(columns).rows()

    def reasons(self, table: str) -> list[list[str]]:
        return self.tables[table]["_reasons"].to_list()

    def problems(self, table: str) -> list[str]:
        return [text for texts in self.reasons(table) for text in texts]


def load(
    paths: Sequence[Path | str] | Path | str,
    verb: str,
    *,
    as_format: str | None = None,
    lane: Lane | None = None,
) -> Loaded:
    """Read `paths` to the end, checking that every chunk keeps what a chunk promises."""
    given = [paths] if isinstance(paths, Path | str) else paths
    sources, _ = find(given, Verb(verb), Format(as_format) if as_format else None)
    reading = read(sources, Verb(verb), lane=lane)
    parts: dict[str, list[pl.DataFrame]] = {}
    heights: dict[str, list[int]] = {}
    for chunk in reading.chunks:
        table = TABLES[chunk.table]
        schema = {**table.schema, **META}
        assert set(META) <= set(chunk.frame.columns) <= set(schema)
        assert all(chunk.frame.schema[name] == schema[name] for name in chunk.frame.columns)
        assert chunk.frame["_reasons"].null_count() == 0
        assert chunk.frame["_source_row"].null_count() == 0
        broken = chunk.frame.filter(pl.col("_reasons").list.len() > 0)
        assert broken["_row"].null_count() == 0
        parts.setdefault(chunk.table, []).append(complete(table, chunk.frame))
        heights.setdefault(chunk.table, []).append(chunk.frame.height)
    tables = {name: pl.concat(frames) for name, frames in parts.items()}
    return Loaded(tables, heights, reading.findings)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file: bytes and text as they are, other values as one JSON text per line."""

    def write(name: str, *lines: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if len(lines) == 1 and isinstance(lines[0], bytes):
            path.write_bytes(lines[0])
            return path
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("".join(text + "\n" for text in texts), encoding="utf-8", newline="")
        return path

    return write


@pytest.fixture(name="load", scope="session")
def load_fixture() -> Callable[..., Loaded]:
    """The function `load`, for tests that live beside this file."""
    return load
