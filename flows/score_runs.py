"""Score every run of a workspace that has no current evaluation.

python -m flows.score_runs --root STORE
"""

# Annotations are no text here: Prefect pickles a served flow for its process, and text could not be
# resolved there.
from pathlib import Path
from typing import Annotated

import typer
from prefect import flow, unmapped

from crucible_batch.assemble.baselines import finished_runs
from crucible_batch.assemble.evaluate import evaluate_run
from crucible_batch.store import Store
from flows.retries import TWO_AT_ONCE, retried


@retried
def score_run(root: Path, workspace: str, run_id: str) -> bool:
    """Score one run; False if its evaluation is current."""
    return evaluate_run(Store.open(root), workspace, run_id).created


@flow(name="score-runs", task_runner=TWO_AT_ONCE, log_prints=True)
def score_runs(root: Path, workspace: str = "default", runs: list[str] | None = None) -> list[str]:
    """Score runs; if none are named, every run that is not running. Returns those scored now."""
    known = finished_runs(Store.open(root).workspace(workspace).snapshot())
    ended = sorted(known.filter(known["status"] != "running")["run_id"])
    wanted = ended if runs is None else runs
    scored = score_run.map(unmapped(root), unmapped(workspace), wanted).result()
    fresh = [run for run, is_new in zip(wanted, scored, strict=True) if is_new]
    print(f"{len(fresh)} of {len(wanted)} runs scored now, the others are current")
    return fresh


def main(
    root: Annotated[Path, typer.Option(help="Folder of the store.")],
    workspace: Annotated[str, typer.Option(help="Workspace within the store.")] = "default",
) -> None:
    """Run the flow once over all runs of a workspace."""
    score_runs(root, workspace)


if __name__ == "__main__":
    typer.run(main)
