"""A store to load into; every load made through it is checked to count every row."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from gate_bench import Gates, scored_runs

from crucible_batch.assemble.load import (
    LoadReport,
    TableReport,
    load_corpus,
    load_golden,
    load_qrels,
    load_run,
)
from crucible_batch.contracts import TABLES, Storage
from crucible_batch.store import Store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Loads:
    """A store in a folder of its own, its inputs, and the verbs of load."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store.create(folder / "store", now=lambda: NOON)

    def lines(self, name: str, *rows: Any) -> Path:
        """Write a text file: text as it is, other values as one JSON text per line."""
        texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        return self.raw(name, "".join(text + "\n" for text in texts).encode())

    def raw(self, name: str, content: bytes) -> Path:
        """Write bytes."""
        path = self.folder / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def parquet(self, name: str, rows: Sequence[dict[str, Any]] | pl.DataFrame) -> Path:
        """Write Parquet; rows get the types of the table that the name begins with."""
        path = self.folder / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(rows, pl.DataFrame):
            schema = TABLES[re.split(r"[.-]", name, maxsplit=1)[0]].schema
            keys = {key for row in rows for key in row}
            rows = pl.DataFrame(rows, schema={n: t for n, t in schema.items() if n in keys})
        rows.write_parquet(path)
        return path

    def golden(self, *paths: Path, **options: Any) -> LoadReport:
        report = load_golden(self.store, paths, **options)
        return self._checked(report, retires=bool(options.get("retire_missing")))

    def qrels(self, *paths: Path, **options: Any) -> LoadReport:
        return self._checked(load_qrels(self.store, paths, **options))

    def run(self, *paths: Path, **options: Any) -> LoadReport:
        return self._checked(load_run(self.store, paths, **options))

    def corpus(self, *paths: Path, **options: Any) -> LoadReport:
        return self._checked(load_corpus(self.store, paths, **options))

    def _checked(self, report: LoadReport, *, retires: bool = False) -> LoadReport:
        """Every row is accepted, quarantined or already there, in the report, in the commit, on
        disk and in the lake."""
        for table in report.tables:
            parts = table.n_accepted + table.n_quarantined + table.n_already_there
            assert table.n_in == parts, table
            assert min(table.n_accepted, table.n_quarantined, table.n_already_there) >= 0, table
        if report.dry_run:
            assert report.quarantine == ()
            return report
        on_disk = [pl.read_parquet(path, glob=False).height for path in report.quarantine]
        assert sum(on_disk) == report.n_quarantined
        if report.created:
            self._check_commit(report, retires=retires)
        return report

    def _check_commit(self, report: LoadReport, *, retires: bool) -> None:
        commit = self.rows("commits", workspace=report.workspace)[-1]
        assert commit["seq"] == report.commit
        for name in ("in", "accepted", "quarantined", "already_there"):
            column = "n_rows_in" if name == "in" else f"n_{name}"
            assert commit[column] == sum(getattr(t, f"n_{name}") for t in report.tables), name
        for table in report.tables:
            new = self.store.table(table.table, report.workspace).filter(
                pl.col("_commit") == report.commit
            )
            n_own = new.collect().height - table.n_accepted  # rows that the load itself added
            adds = {"runs", "run_events", "config_snapshots", "corpus_versions"}
            assert n_own == 0 or (n_own > 0 and (retires or table.table in adds)), table

    def rows(self, table: str, *columns: str, workspace: str = "default") -> list[Any]:
        """The stored rows sorted by key: as dicts, as tuples of columns, or as single values."""
        spec = TABLES[table]
        frame = self.store.table(table, workspace).sort(spec.key).collect()
        if not columns:
            return frame.drop("_commit").to_dicts()
        return frame[columns[0]].to_list() if len(columns) == 1 else frame.select(columns).rows()

    def everything(self, workspace: str = "default") -> dict[str, pl.DataFrame]:
        """Every lake table but `commits`, sorted by key, without commit numbers."""
        return {
            table.name: self.store.table(table.name, workspace)
            .drop("_commit")
            .sort(table.key)
            .collect()
            for table in TABLES.values()
            if table.storage in {Storage.EVENT, Storage.BULK} and table.name != "commits"
        }


@pytest.fixture
def loads(tmp_path: Path) -> Loads:
    return Loads(tmp_path)


@pytest.fixture
def new_loads(tmp_path: Path):
    """Make further stores, each with inputs of its own."""
    return lambda name: Loads(tmp_path / name)


def counted(report: LoadReport, table: str) -> tuple[int, int, int, int]:
    """(in, accepted, quarantined, already there) of one table."""
    found: TableReport = next(part for part in report.tables if part.table == table)
    return found.n_in, found.n_accepted, found.n_quarantined, found.n_already_there


@pytest.fixture(name="counted", scope="session")
def counted_fixture():
    return counted


@pytest.fixture(scope="session")
def item():
    """Build one line of golden items."""

    def build(number: int, **more: Any) -> dict[str, Any]:
        return {
            "item_id": f"q{number}",
            "question": f"Question {number}?",
            "answerable": True,
            **more,
        }

    return build


@pytest.fixture(scope="session")
def result():
    """Build one line of results."""

    def build(number: int, **more: Any) -> dict[str, Any]:
        return {"item_id": f"q{number}", "answer": f"Answer {number}.", **more}

    return build


@pytest.fixture(scope="session")
def golden_template(tmp_path_factory: pytest.TempPathFactory, item) -> Path:
    """A store that holds golden items q1 to q4, made once; never written to again."""
    loads = Loads(tmp_path_factory.mktemp("template"))
    assertions = [
        {"assertion_id": "must", "level": "must", "text": "It is so."},
        {"assertion_id": "should", "level": "should", "text": "It is often so."},
    ]
    loads.golden(
        loads.lines(
            "golden.jsonl",
            item(1, assertions=assertions),
            item(2, citations=[{"doc_id": "d1", "kind": "required"}]),
            item(3, answerable=False),
            item(4, contexts=["Given."]),
        )
    )
    return loads.store.root


@pytest.fixture
def with_golden(tmp_path: Path, golden_template: Path, monkeypatch: pytest.MonkeyPatch) -> Loads:
    """A store that holds golden items q1 to q4; q4 gives its contexts, q1 has two assertions."""
    shutil.copytree(golden_template, tmp_path / "store")
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    return Loads(tmp_path)


@pytest.fixture(scope="session")
def gate_store(tmp_path_factory) -> Path:
    """Forty items; `good` has 36 right, `same` as well, `bad` 20."""
    return scored_runs(tmp_path_factory.mktemp("gate"))


@pytest.fixture
def gates(tmp_path, gate_store, monkeypatch) -> Gates:
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    return Gates(tmp_path, gate_store)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """A store with an empty workspace, made once; never written to again."""
    store = Store.create(tmp_path_factory.mktemp("template") / "store")
    store.workspace("default", create=True)
    return store.root


@pytest.fixture
def watched(empty_store, tmp_path, new_loads, monkeypatch):
    """A store with an empty workspace, without the costs of its catalogue."""
    shutil.copytree(empty_store, tmp_path / "own" / "store")
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    return new_loads("own")
