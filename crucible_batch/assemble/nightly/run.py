"""A whole night without a Prefect server: the steps in order, and what they said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from crucible_batch.assemble.compare import Comparison
from crucible_batch.assemble.load import LoadReport
from crucible_batch.assemble.nightly import steps
from crucible_batch.assemble.nightly.config import load_config
from crucible_batch.assemble.nightly.steps import Night
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.store import Store

NOTHING_TO_JUDGE = 3
"""Exit code of a night without a candidate: inconclusive."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NightResult:
    """What became of a night.

    Attributes:
        as_of: The instant it speaks of.
        is_repeat: It was done before; nothing was written.
        loads: What was loaded.
        scored: Runs that were scored now.
        baseline: Run compared with.
        candidate: Run judged; None: there was no new one.
        comparison: The comparison of the two.
        corpus: What the corpus snapshot says, in words; None without a corpus.
        report: The page.
        exit_code: 0, or 3 without a candidate.
    """

    as_of: datetime
    is_repeat: bool = False
    loads: tuple[LoadReport, ...] = ()
    scored: tuple[str, ...] = ()
    baseline: str | None = None
    candidate: str | None = None
    comparison: Comparison | None = None
    corpus: str | None = None
    report: Path | None = None
    exit_code: int = 0


def run_night(
    store: Store, config: Path, as_of: datetime, *, progress: Progress = quiet
) -> NightResult:
    """Do a night, or find that it is done.

    Args:
        store: The store.
        config: Path of the nightly.toml.
        as_of: The instant the night speaks of, UTC.
        progress: Is told how far it has come.

    Raises:
        CrucibleError: What any step raises; the night can be started again.
    """
    settings, folder = load_config(config)
    return do_night(
        Night(store=store, config=settings, folder=folder, as_of=as_of), progress=progress
    )


def do_night(night: Night, *, progress: Progress = quiet) -> NightResult:
    """Do the steps of a night in order; see `run_night`."""
    steps.finish_open_moves(night)
    if row := steps.done_already(night):
        return NightResult(
            as_of=night.as_of,
            is_repeat=True,
            baseline=row["baseline_run_id"],
            candidate=row["candidate_run_id"],
        )
    loads = tuple(
        steps.load_input(night, number, progress=progress)
        for number in range(len(night.config.inputs))
    )
    runs = steps.runs_to_score(night)
    scored = tuple(run for run in runs if steps.score(night, run, progress=progress))
    baseline = steps.baseline_run(night)
    candidate = steps.candidate_run(night, baseline)
    corpus = steps.snapshot_corpus_of(night)
    done: dict[str, Any] = {
        "as_of": night.as_of,
        "loads": loads,
        "scored": scored,
        "corpus": corpus,
    }
    if candidate is None:
        return NightResult(**done, baseline=baseline, exit_code=NOTHING_TO_JUDGE)
    comparison = steps.compare(night, baseline, candidate, progress=progress)
    progress("writing the report")
    report = steps.write_reports(night, baseline, candidate)
    steps.record(night, baseline, candidate)
    return NightResult(
        **done, baseline=baseline, candidate=candidate, comparison=comparison, report=report
    )
