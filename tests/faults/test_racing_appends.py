"""Four processes append overlapping batches: nothing is lost, nothing is there twice."""

from __future__ import annotations

import random

import polars as pl
import pytest

from crucible_batch.store import Store
from crucible_batch.store.doctor import diagnose


def offered(seed: int, batches: int) -> set[str]:
    rng = random.Random(seed)
    return {f"q{query:04d}" for _ in range(batches) for query in rng.sample(range(4000), 10)}


@pytest.mark.parametrize(
    "batches", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (60, 500))]
)
def test_racing_appends_lose_nothing_and_write_one_event_per_row(
    tmp_path, appender, polled, batches
):
    store = Store.create(tmp_path / "store")
    workspace = store.workspace("w", create=True)
    with polled(workspace.layout.lake):
        processes = [appender(store.root, f"p{seed}", seed, batches) for seed in range(4)]
        ends = [process.communicate(timeout=900) for process in processes]
    assert [error for _, error in ends] == [""] * 4
    said = [line.split() for out, _ in ends for line in out.splitlines()]
    assert len(said) == 4 * batches

    rows = store.table("qrels", "w").collect()
    wanted = set().union(*(offered(seed, batches) for seed in range(4)))
    assert set(rows["query_id"]) == wanted
    assert len(rows) == len(wanted) == sum(int(appended) for _, appended, _ in said)
    events = store.table("audit_log", "w").filter(pl.col("action") == "qrel.author").collect()
    ids = events["detail"].str.json_path_match("$.qrel_id")
    assert ids.sort().to_list() == rows["qrel_id"].sort().to_list()
    joined = rows.join(events.with_columns(qrel_id=ids), on=["qrel_id", "_commit"])
    assert len(joined) == len(rows)  # each event lies in the commit of its row
    assert [finding.level for finding in diagnose(workspace)] == ["ok"]


def test_processes_that_create_one_workspace_at_once_all_get_it(tmp_path, appender):
    store = Store.create(tmp_path / "store")
    processes = [appender(store.root, f"p{seed}", seed, 1) for seed in range(4)]
    assert [process.communicate(timeout=120)[1] for process in processes] == [""] * 4
    assert store.workspaces() == ("w",)
    assert store.workspace("w").snapshot().seq == 4
    assert list((store.root / ".staging").iterdir()) == []
