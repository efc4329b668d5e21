"""The flow that scans does it once, and tells Prefect after the commit."""

from __future__ import annotations

from datetime import datetime

import pytest

from crucible_batch.assemble.example import OBSERVED_AT, example_dir
from crucible_batch.assemble.load import load_corpus
from crucible_batch.store import Store

NOON = "2026-02-10T12:00:00Z"


@pytest.fixture
def told(prefect_home, monkeypatch) -> list[dict]:
    """What Prefect is told; nothing is sent."""
    events: list[dict] = []
    monkeypatch.setattr("flows.drift_scan.emit_event", lambda **event: events.append(event))
    return events


@pytest.fixture
def store(tmp_path) -> Store:
    """The two corpus versions of the example."""
    store = Store.create(tmp_path / "s")
    for version, observed_at in OBSERVED_AT.items():
        load_corpus(
            store,
            [example_dir() / "corpus" / version / "tables"],
            corpus_version=version,
            observed_at=datetime.fromisoformat(observed_at),
        )
    return store


def test_a_scan_is_done_and_told_once(store, told, capsys):
    from flows.drift_scan import drift_scan

    root = store.root
    first = drift_scan.fn(root, as_of=NOON)
    said = capsys.readouterr().out
    assert said.startswith("corpus ")
    assert f"scan_id: {first}" in said
    (event,) = told
    assert event["resource"]["crucible.scan_id"] == first
    n_rules = store.table("drift_evaluations").collect().height
    assert sum(event["payload"].values()) == n_rules > 0
    assert drift_scan.fn(root, as_of=NOON) == first
    assert "nothing was written (no-op)" in capsys.readouterr().out
    assert len(told) == 1


def test_without_a_complete_version_there_is_no_scan(tmp_path, told, capsys):
    from flows.drift_scan import drift_scan

    Store.create(tmp_path / "s").workspace("default", create=True)
    assert drift_scan.fn(tmp_path / "s", as_of=NOON) is None
    assert "no complete corpus version" in capsys.readouterr().out
    assert told == []
