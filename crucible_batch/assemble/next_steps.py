"""What a person does next, by what a store holds: never a wall of commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from crucible_batch.assemble.alerts import list_alerts
from crucible_batch.store import Snapshot, Store

DEMO = ("crucible demo", "the whole job on an example, in seconds")


@dataclass(frozen=True)
class NextSteps:
    """Where a store stands.

    Attributes:
        state: What it holds, in a sentence.
        commands: A command and what it is for, the likeliest first.
    """

    state: str
    commands: Sequence[tuple[str, str]]


def next_steps(store: Store, workspace: str) -> NextSteps:
    """Say what a workspace holds and what comes next.

    Args:
        store: The store.
        workspace: Workspace in it; it need not be there yet.
    """
    if workspace not in store.workspaces():
        return _first(f"{store.root} has no workspace {workspace} yet")
    opened = store.workspace(workspace)
    snapshot = opened.snapshot()
    runs = snapshot.read("runs").sort("_commit", "run_id").select("run_id").collect()
    ids = runs["run_id"].to_list()
    n_items = snapshot.read("golden_items").select(pl.col("item_id").n_unique()).collect().item()
    if not n_items:
        return _first(f"{store.root} holds no golden set yet")
    if not ids:
        return NextSteps(
            f"{_count(n_items, 'golden item')}, no run yet",
            (
                ("crucible load run FILE", "what your pipeline answered"),
                ("crucible golden check", "is the set ready to be measured by"),
                ("crucible docs loading", "what a file of a run looks like"),
            ),
        )
    state = f"{_count(n_items, 'golden item')}, {_count(len(ids), 'run')}"
    return NextSteps(state, (*_alerts(snapshot), *_of_runs(snapshot, ids)))


def _first(state: str) -> NextSteps:
    commands = (
        ("crucible load golden FILE", "the questions, and what a right answer states"),
        ("crucible docs golden", "how to build a golden set"),
        DEMO,
    )
    return NextSteps(state, commands)


def _of_runs(snapshot: Snapshot, ids: Sequence[str]) -> list[tuple[str, str]]:
    """What to do with the runs there are."""
    newest = ids[-1]
    scored = snapshot.read("evaluations").select("run_id").collect()["run_id"].to_list()
    if len(ids) == 1:
        first = ("crucible load run FILE", "another run, to compare it with this one")
        score = (f"crucible score {newest}", "every metric of it")
        return [first, score] if newest in scored else [score, first]
    before = ids[-2]
    return [
        (f"crucible compare {before} {newest}", "is the newer one better"),
        (f"crucible report {newest} --baseline {before} -o report.html", "the same as a page"),
        (f"crucible gate --candidate {newest} --baseline {before}", "red or green, for CI"),
        ("crucible docs questions", "twenty questions for crucible sql"),
        ("crucible docs nightly", "all of it, every night"),
    ]


def _alerts(snapshot: Snapshot) -> list[tuple[str, str]]:
    n = list_alerts(snapshot).height
    return [("crucible alerts list", f"{_count(n, 'alert')} open")] if n else []


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
