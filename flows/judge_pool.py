"""Grade what runs retrieved and nobody has graded yet, within a budget.

python -m flows.judge_pool --root STORE --max-calls 500
"""

# Annotations are no text here: Prefect pickles a served flow for its process, and text could not be
# resolved there.
from pathlib import Path
from typing import Annotated

import typer
from prefect import flow

from crucible_batch.assemble.baselines import finished_runs
from crucible_batch.assemble.judge import JudgeOptions, judge_qrels, judged_lines
from crucible_batch.store import Store


@flow(name="judge-pool", log_prints=True)
def judge_pool(
    root: Path,
    workspace: str = "default",
    runs: list[str] | None = None,
    depth: int | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
) -> dict[str, int]:
    """Top up the pool; the judge and its endpoint are those of the settings.

    Verdicts are kept as they arrive and the judge retries by itself, so Prefect retries nothing: a
    flow run that died is run again and asks only what is missing.

    Args:
        root: Folder of the store.
        workspace: Workspace within the store.
        runs: Runs whose rankings are the pool; if none are named, the one that finished last.
        depth: Documents of each ranking; the largest cut-off if absent.
        max_calls: Most questions to ask.
        max_cost: Most US dollars to spend.

    Returns:
        Rows in the pool, and how many were judged now, malformed, and failed.
    """
    store = Store.open(root)
    if runs is None:
        known = finished_runs(store.workspace(workspace).snapshot())
        whole = known.filter(~known["status"].is_in(["running", "failed"]))
        runs = whole["run_id"].to_list()[:1]
    options = JudgeOptions(max_calls=max_calls, max_cost=max_cost)
    done = judge_qrels(store, workspace, runs, depth=depth, options=options)
    for line in judged_lines(done, dry_run=False):
        print(line)
    return {
        "pool": done.n_pool,
        "judged": done.n_ok,
        "malformed": done.n_malformed,
        "failed": done.n_failed,
    }


def main(
    root: Annotated[Path, typer.Option(help="Folder of the store.")],
    workspace: Annotated[str, typer.Option(help="Workspace within the store.")] = "default",
    max_calls: Annotated[int | None, typer.Option(help="Most questions to ask.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="Most US dollars to spend.")] = None,
) -> None:
    """Run the flow once, over the run that finished last."""
    judge_pool(root, workspace, max_calls=max_calls, max_cost=max_cost)


if __name__ == "__main__":
    typer.run(main)
