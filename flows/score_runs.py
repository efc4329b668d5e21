"""Score every run of a workspace that has no current evaluation."""

from __future__ import annotations

from pathlib import Path

import typer
from prefect import flow, task, unmapped
from prefect.cache_policies import NO_CACHE
from prefect.task_runners import ThreadPoolTaskRunner

from crucible_batch.assemble.baselines import finished_runs
from crucible_batch.assemble.evaluate import evaluate_run
from crucible_batch.store import Store
from flows.retries import TRIES, is_transient


@task(**TRIES, retry_condition_fn=is_transient, cache_policy=NO_CACHE)
def score_run(root: Path, workspace: str, run_id: str) -> bool:
    """Score one run; False if its evaluation is current."""
    return evaluate_run(Store.open(root), workspace, run_id).created


@flow(name="score-runs", task_runner=ThreadPoolTaskRunner(max_workers=2), log_prints=True)
def score_runs(root: Path, workspace: str = "default", runs: list[str] | None = None) -> list[str]:
    """Score runs; all of the workspace if none are named. Returns those scored now."""
    known = finished_runs(Store.open(root).workspace(workspace).snapshot())["run_id"].to_list()
    wanted = sorted(known) if runs is None else runs
    scored = score_run.map(unmapped(root), unmapped(workspace), wanted).result()
    fresh = [run for run, is_new in zip(wanted, scored, strict=True) if is_new]
    print(f"{len(fresh)} of {len(wanted)} runs scored now, the others are current")
    return fresh


if __name__ == "__main__":
    typer.run(score_runs.fn)
