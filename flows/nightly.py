"""The nightly job: load, score, compare with the baseline, snapshot the corpus, report.

Ids and paths go between tasks, never frames. Every step finds what is done already, so a flow run
that died is simply run again. `crucible nightly` runs the same steps without a server.

    python -m flows.nightly                         the example, in a temporary store
    python -m flows.nightly --root STORE --config nightly.toml --as-of 2026-05-01
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from prefect import flow, task, unmapped
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run
from prefect.task_runners import ThreadPoolTaskRunner

from crucible_batch.assemble.compare.text import artifact_rows, comparison_text
from crucible_batch.assemble.example import AS_OF, example_dir
from crucible_batch.assemble.nightly import Night, load_config, parse_as_of, steps
from crucible_batch.store import Store
from flows.retries import TRIES, is_transient


def _night(root: Path, config: Path, as_of: str) -> Night:
    settings, folder = load_config(config)
    return Night(store=Store.create(root), config=settings, folder=folder, as_of=parse_as_of(as_of))


@task(**TRIES, retry_condition_fn=is_transient, cache_policy=NO_CACHE)
def load_input(root: Path, config: Path, as_of: str, number: int) -> str:
    """Load one input; says where its rows went."""
    report = steps.load_input(_night(root, config, as_of), number)
    accepted = sum(table.n_accepted for table in report.tables)
    return f"{report.kind}: {accepted:,} rows accepted, {report.n_quarantined:,} quarantined"


@task(**TRIES, retry_condition_fn=is_transient, cache_policy=NO_CACHE)
def score_run(root: Path, config: Path, as_of: str, run_id: str) -> bool:
    """Score one run; False if its evaluation is current."""
    return steps.score(_night(root, config, as_of), run_id)


@task(**TRIES, retry_condition_fn=is_transient, cache_policy=NO_CACHE)
def compare(root: Path, config: Path, as_of: str, baseline: str, candidate: str) -> str:
    """Compare the candidate with the baseline; publishes the table; returns the verdict."""
    done = steps.compare(_night(root, config, as_of), baseline, candidate)
    create_table_artifact(key="comparison", table=artifact_rows(done))
    return comparison_text(done)


@task(**TRIES, retry_condition_fn=is_transient, cache_policy=NO_CACHE)
def snapshot_corpus(root: Path, config: Path, as_of: str) -> str | None:
    """Fingerprint the newest complete corpus version."""
    return steps.snapshot_corpus_of(_night(root, config, as_of))


@task(**TRIES, retry_condition_fn=is_transient, cache_policy=NO_CACHE)
def report(root: Path, config: Path, as_of: str, baseline: str, candidate: str) -> Path:
    """Write the page of the night and publish it as Markdown."""
    night = _night(root, config, as_of)
    create_markdown_artifact(
        key="report", markdown=steps.report_markdown(night, baseline, candidate)
    )
    return steps.write_reports(night, baseline, candidate)


@task(**TRIES, retry_condition_fn=is_transient, cache_policy=NO_CACHE)
def record(root: Path, config: Path, as_of: str, baseline: str, candidate: str) -> None:
    """Write the row of the night, its last step."""
    steps.record(_night(root, config, as_of), baseline, candidate)


@flow(name="nightly", task_runner=ThreadPoolTaskRunner(max_workers=2), log_prints=True)
def nightly(root: Path, config: Path, as_of: str | None = None) -> dict[str, Any]:
    """Do a night, once: a second run of it is a no-op that says so.

    Args:
        root: Folder of the store; made if it is not there.
        config: The nightly.toml.
        as_of: A date (its end) or an instant with a zone; the scheduled start if absent.

    Returns:
        as_of, baseline, candidate and report; candidate is null when there was no new run.
    """
    instant = as_of or _scheduled_start().isoformat()
    night = _night(root, config, instant)
    steps.finish_open_moves(night)
    if row := steps.done_already(night):
        print(f"the night of {instant} is done already: {row['candidate_run_id']} (no-op)")
        return _outcome(instant, row["baseline_run_id"], row["candidate_run_id"], None)
    for number in range(len(night.config.inputs)):  # in order: later inputs rest on earlier ones
        print(load_input(root, config, instant, number))
    runs = steps.runs_to_score(night)
    score_run.map(unmapped(root), unmapped(config), unmapped(instant), runs).result()
    baseline = steps.baseline_run(night)
    candidate = steps.candidate_run(night, baseline)
    if moved := snapshot_corpus(root, config, instant):
        print(moved)
    if candidate is None:
        print(f"no new run of {night.config.golden_set} to judge as of {instant}")
        return _outcome(instant, baseline, None, None)
    print(compare(root, config, instant, baseline, candidate))
    page = report(root, config, instant, baseline, candidate)
    record(root, config, instant, baseline, candidate)
    print(f"report: {page}")
    return _outcome(instant, baseline, candidate, page)


def _scheduled_start() -> datetime:
    return flow_run.scheduled_start_time or datetime.now(UTC)


def _outcome(
    as_of: str, baseline: str | None, candidate: str | None, page: Path | None
) -> dict[str, Any]:
    shown = None if page is None else str(page)
    return {"as_of": as_of, "baseline": baseline, "candidate": candidate, "report": shown}


def main(root: Path | None = None, config: Path | None = None, as_of: str | None = None) -> None:
    """Run the flow once; without arguments on the example, in a temporary store."""
    if config is None:
        config, as_of = example_dir() / "nightly.toml", as_of or AS_OF
    nightly(root or Path(tempfile.mkdtemp(prefix="crucible-nightly-")), config, as_of)


if __name__ == "__main__":
    typer.run(main)
