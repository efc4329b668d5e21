"""Compare candidates with one baseline."""

# Annotations are no text here: Prefect pickles a served flow for its process, and text could not be
# resolved there.
from pathlib import Path

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.futures import wait

from crucible_batch.assemble.compare import compare_runs as compare_pair
from crucible_batch.assemble.compare.text import artifact_rows, comparison_text
from crucible_batch.store import Store
from flows.retries import TWO_AT_ONCE, retried


@retried
def compare(root: Path, workspace: str, baseline: str, candidate: str) -> str:
    """Compare one pair and publish its table; returns the verdict in words."""
    done = compare_pair(Store.open(root), workspace, baseline, candidate)
    create_table_artifact(key="comparison", table=artifact_rows(done))
    return comparison_text(done)


@flow(name="compare-runs", task_runner=TWO_AT_ONCE, log_prints=True)
def compare_runs(
    root: Path, baseline: str, candidates: list[str], workspace: str = "default"
) -> dict[str, str]:
    """Compare each candidate with the baseline; all are tried before a failure is raised."""
    futures = {run: compare.submit(root, workspace, baseline, run) for run in candidates}
    wait(list(futures.values()))
    return {run: future.result() for run, future in futures.items()}
