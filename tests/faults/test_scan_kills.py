"""Scans killed with -9 lose no alert event, make no new id, and leave nothing half-written."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from crucible_batch.assemble.alerts import list_alerts
from crucible_batch.assemble.load import load_corpus
from crucible_batch.contracts import TABLES, Storage
from crucible_batch.store import Store
from crucible_batch.store.doctor import diagnose

SETTINGS = """\
[staleness]
max_document_age = "never"

[[thresholds]]
id = "churn"
metric = "doc_churn_ratio"
renotify_after = "2d"
warn = {op = ">", value = 0.10, clear = 0.07}
critical = {op = ">", value = 0.50}

[[webhooks]]
name = "ops"
url = "https://hooks.example.org/ops"
secret_env = "OPS_SECRET"

[[webhooks]]
name = "team"
url = "https://hooks.example.org/team"
secret_env = "TEAM_SECRET"
"""
CHURNED = (0, 4, 12, 0, 0, 0, 5, 6)
"""Documents of twenty that are new in the version of each night."""

KILLS_A_NIGHT = 5

FIRST = datetime(2026, 5, 1, tzinfo=UTC)
UNLIKE = ("created_at", "due_at", "_commit")
"""What may differ between two stores: when it was written, and where."""


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a corpus version a night, and nothing scanned."""
    folder = tmp_path_factory.mktemp("corpora")
    store = Store.create(folder / "store")
    names, fresh = [f"d{n}" for n in range(20)], 20
    for night, n_new in enumerate(CHURNED):
        names = [*names[n_new:], *(f"d{fresh + n}" for n in range(n_new))]
        fresh += n_new
        path = folder / f"v{night}.parquet"
        hashes = [name.encode().hex().rjust(64, "0") for name in names]
        pl.DataFrame({"doc_id": names, "content_hash": hashes, "hash_version": "v"}).write_parquet(
            path
        )
        load_corpus(store, [path], corpus_version=f"v{night}", observed_at=as_of(night))
    (store.root / "default" / "settings.toml").write_text(SETTINGS, encoding="utf-8")
    return store.root


def as_of(night: int) -> datetime:
    return FIRST + timedelta(days=night)


def start(root: Path, night: int) -> subprocess.Popen[str]:
    """Start the scan of a night in a process of its own."""
    code = "from crucible_batch.cli import main; main()"
    words = ["drift", "scan", "--root", root, "--as-of", as_of(night).isoformat()]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CRUCIBLE_TRACEBACK": "1"},
    )


def ended(process: subprocess.Popen[str]) -> str:
    """Wait for a process that nobody kills; returns what it printed."""
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out


def names_in(root: Path, folder: str) -> set[str]:
    return {path.name for path in (root / "default" / folder).iterdir()}


def kill_at_work(process: subprocess.Popen[str], root: Path, moment: float) -> bool:
    """Kill a scan some seconds after it began to write; returns whether it was still running."""
    before = names_in(root, "lake")
    while process.poll() is None:
        if names_in(root, ".staging") or names_in(root, "lake") != before:
            break
        time.sleep(0.0005)
    time.sleep(moment)
    running = process.poll() is None
    process.kill()
    process.communicate()
    return running


def rows(root: Path) -> dict[str, pl.DataFrame]:
    """The rows of every event table, by key, without what may differ."""
    snapshot = Store.open(root).workspace().snapshot()
    return {
        table.name: snapshot.read(table.name).sort(table.key).drop(UNLIKE, strict=False).collect()
        for table in TABLES.values()
        if table.storage is Storage.EVENT
    }


@pytest.mark.slow  # two minutes
def test_killed_scans_leave_the_alerts_and_notices_of_scans_left_in_peace(tmp_path, corpora):
    peaceful, killed = (shutil.copytree(corpora, tmp_path / name) for name in ("peace", "killed"))
    for night in range(len(CHURNED)):
        ended(start(peaceful, night))
    rng = random.Random(20_240_229)
    n_running = 0
    for night in range(len(CHURNED)):
        for _ in range(KILLS_A_NIGHT):
            n_running += kill_at_work(start(killed, night), killed, rng.uniform(0, 0.04))
        ended(start(killed, night))
    assert n_running > KILLS_A_NIGHT * len(CHURNED) / 2

    expected, found = rows(peaceful), rows(killed)
    for name, frame in expected.items():
        assert found[name].equals(frame), name
    kinds = expected["alert_events"].sort("occurred_at", "seq")["kind"].to_list()
    assert kinds.count("opened") == 2
    assert {"escalated", "resolved"} <= set(kinds)
    store = Store.open(killed)
    assert list_alerts(store.workspace().snapshot()).height == 1
    assert [f.what for f in diagnose(store.workspace()) if f.level == "error"] == []
    commits = names_in(killed, "lake")
    assert "nothing was written" in ended(start(killed, len(CHURNED) - 1))
    assert names_in(killed, "lake") == commits
