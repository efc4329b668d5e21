"""`kill -9` at random moments leaves the old or the new table, never half of one."""

from __future__ import annotations

import random
import time

import duckdb
import polars as pl
import pytest

from crucible_batch.store import Store
from crucible_batch.store.doctor import diagnose, repair


@pytest.mark.parametrize("kills", [1, pytest.param(40, marks=pytest.mark.slow)])
def test_kills_leave_every_table_readable_and_the_next_command_works(
    tmp_path, appender, polled, kills
):
    store = Store.create(tmp_path / "store")
    workspace = store.workspace("w", create=True)
    rng = random.Random(7)
    counts = [0]
    with polled(workspace.layout.lake):
        for number in range(kills):
            process = appender(store.root, f"k{number}", number, 10_000)
            process.stdout.readline()  # it is at work
            time.sleep(rng.uniform(0, 0.15))
            process.kill()
            process.communicate()
            counts.append(_check(store))
    assert counts == sorted(counts)
    assert len(set(counts)) == kills + 1  # every process committed something before its end

    findings = diagnose(workspace)
    assert [finding.what for finding in findings if finding.level == "error"] == []
    repair(workspace)
    assert [finding.level for finding in diagnose(workspace)] == ["ok"]
    process = appender(store.root, "after", 99, 2)
    assert process.communicate(timeout=60)[1] == ""


def _check(store: Store) -> int:
    """Read every table; compare judgments with events, in Polars and by a plain glob."""
    snapshot = store.workspace("w").snapshot()
    for name, table in snapshot.tables.items():
        if table.storage in {"event", "bulk"}:
            snapshot.read(name).collect()
    rows = snapshot.read("qrels").collect()
    events = snapshot.read("audit_log").filter(pl.col("action") == "qrel.author").collect()
    assert len(rows) == rows["qrel_id"].n_unique() == len(events)
    lake = store.workspace("w").layout.lake
    globbed = duckdb.sql(f"SELECT count(*) FROM '{lake}/*/qrels.parquet'").fetchall()
    assert globbed == [(len(rows),)]
    assert len(snapshot.commits()) == snapshot.seq
    return len(rows)
