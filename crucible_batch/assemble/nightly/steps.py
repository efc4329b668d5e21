"""The steps of a night, each a function of ids and paths, safe to run again.

Every step finds what is done already: a night that was killed goes on where it stopped, and a night
that is done is a no-op.
"""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.assemble.baselines import LATEST, PINNED, finished_runs, resolve_baseline
from crucible_batch.assemble.evaluate import evaluate_run
from crucible_batch.assemble.gate import Told
from crucible_batch.assemble.load import (
    LoadReport,
    load_corpus,
    load_golden,
    load_qrels,
    load_run,
)
from crucible_batch.assemble.nightly.config import CorpusInput, GoldenInput, QrelsInput, RunInput
from crucible_batch.assemble.nightly.night import Night
from crucible_batch.assemble.nightly.said import NOTHING_SAID, Said
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import Plan, Snapshot, combined_hash

NIGHTLY = TABLES["nightly"]


def finish_open_moves(night: Night) -> tuple[str, ...]:
    """Publish marts that a crash left between their commit and their rename."""
    return night.opened().finish_moves()


def done_already(night: Night) -> dict[str, Any] | None:
    """The `nightly` row of this night, if it is done."""
    rows = nights_so_far(night.opened().snapshot(), night).filter(pl.col("as_of") == night.as_of)
    return rows.row(0, named=True) if rows.height else None


def load_input(night: Night, number: int, *, progress: Progress = quiet) -> LoadReport:
    """Load the input of this number."""
    source = night.config.inputs[number]
    common: dict[str, Any] = {
        "workspace": night.workspace,
        "format": source.format,
        "progress": progress,
    }
    paths = [_located(night.folder, path) for path in source.paths]
    golden_set = night.config.golden_set
    if isinstance(source, GoldenInput):
        return load_golden(
            night.store,
            paths,
            golden_set=golden_set,
            lenient=source.lenient,
            retire_missing=source.retire_missing,
            **common,
        )
    if isinstance(source, QrelsInput):
        return load_qrels(
            night.store,
            paths,
            source=source.source,
            judge=source.judge,
            lenient=source.lenient,
            **common,
        )
    if isinstance(source, CorpusInput):
        return load_corpus(
            night.store,
            paths,
            corpus_version=source.corpus_version,
            observed_at=source.observed_at,
            partial=source.partial,
            **common,
        )
    return load_run(night.store, paths, run=source.run, golden_set=golden_set, **common)


def check_names(night: Night, *, before_loads: bool = False) -> None:
    """Refuse a golden set or a baseline that is not there, before anything is scored.

    A mistyped golden set would have no new run every night.

    Args:
        night: The night.
        before_loads: Its inputs are not loaded yet: a set or run that they may hold is let pass.

    Raises:
        UnknownNameError: The workspace has no such set or baseline; the nearest are suggested.
    """
    snapshot = night.opened().snapshot()
    loaded = {type(one) for one in night.config.inputs} if before_loads else set()
    if GoldenInput not in loaded:
        _check_golden_set(night, snapshot)
    named = night.config.baseline
    if named != LATEST and (named.startswith(PINNED) or RunInput not in loaded):
        resolve_baseline(snapshot, named, golden_set=night.config.golden_set, candidate="")


def _check_golden_set(night: Night, snapshot: Snapshot) -> None:
    items = snapshot.read("golden_items")
    known = items.select(pl.col("golden_set").unique().sort()).collect()["golden_set"].to_list()
    if night.config.golden_set not in known:
        raise UnknownNameError("golden set", night.config.golden_set, known)


def runs_to_score(night: Night) -> list[str]:
    """Every run of the workspace that is neither running nor failed, oldest first."""
    runs = finished_runs(night.opened().snapshot())
    return runs.filter(~pl.col("status").is_in(["running", "failed"]))["run_id"].to_list()[::-1]


def score(night: Night, run_id: str, *, progress: Progress = quiet) -> bool:
    """Score a run; False if its evaluation is current."""
    return evaluate_run(night.store, night.workspace, run_id, progress=progress).created


def choose_runs(night: Night) -> tuple[str | None, str | None]:
    """Baseline and candidate of the night.

    The candidate is the finished run of the golden set with the greatest (finish time, run_id) by
    as_of that is neither the named baseline nor the candidate of an earlier night. A run that
    failed is one too: its night says that it cannot be judged. `latest-succeeded` is the newest
    other run that had succeeded when the candidate finished.

    Returns:
        Either may be None: no new run, and then no baseline where it depends on the candidate; or
        no other run that could be the baseline of a new one.

    Raises:
        UnknownNameError: No run or baseline has the name in the configuration.
    """
    snapshot = night.opened().snapshot()
    named = night.config.baseline
    golden_set = night.config.golden_set
    baseline = None
    if named != LATEST:
        baseline = resolve_baseline(snapshot, named, golden_set=golden_set, candidate="")
    nights = nights_so_far(snapshot, night).filter(pl.col("as_of") < night.as_of)
    not_new = [*nights["candidate_run_id"], *([] if baseline is None else [baseline])]
    runs = finished_runs(snapshot, golden_set).filter(
        pl.col("status") != "running",
        pl.col("finished_at") <= night.as_of,
        ~pl.col("run_id").is_in(not_new),
    )
    if runs.is_empty():
        return baseline, None
    newest = runs.row(0, named=True)
    if baseline is not None:
        return baseline, newest["run_id"]
    try:
        baseline = resolve_baseline(
            snapshot,
            named,
            golden_set=golden_set,
            candidate=newest["run_id"],
            as_of=newest["finished_at"],
        )
    except UsageError:
        # The very first run, once it was a baseline, is no new run.
        is_new = newest["run_id"] not in set(nights["baseline_run_id"])
        return None, newest["run_id"] if is_new else None
    return baseline, newest["run_id"]


def why_not_judged(night: Night, candidate: str | None) -> str:
    """Say in words what is missing: an earlier run to compare with, or a new run.

    Args:
        night: The night.
        candidate: The new run, which then has no baseline.
    """
    if candidate is not None:
        return (
            f"{candidate} has no baseline: no other run of {night.config.golden_set} had succeeded "
            "before it; a later run can be compared with it"
        )
    said = f"no new run of {night.config.golden_set} to judge as of {_written(night.as_of)}"
    late = finished_runs(night.opened().snapshot(), night.config.golden_set).filter(
        pl.col("finished_at") > night.as_of
    )
    if late.is_empty():
        return said
    newest = late.row(0, named=True)
    return (
        f"{said} ({late.height:,} finished later, the last one {newest['run_id']} at "
        f"{_written(newest['finished_at'])}; a run that does not say when it finished counts "
        "from when it was loaded)"
    )


def record(
    night: Night,
    baseline: str,
    candidate: str,
    gate: Told | None = None,
    said: Said = NOTHING_SAID,
    scan_id: str | None = None,
) -> None:
    """Write the row of the night: its last step, so that a row means a whole night."""
    row: dict[str, Any] = dict.fromkeys(NIGHTLY.names)
    row |= {
        "workspace_id": night.workspace,
        "as_of": night.as_of,
        "candidate_run_id": candidate,
        "baseline_run_id": baseline,
        "verdict": said.verdict,
        "since": said.since,
        "metric": said.metric,
        "slice_by": said.slice_by,
        "slice": said.slice,
        "gate_id": None if gate is None else gate.gate_id,
        "gate_outcome": None if gate is None else gate.outcome,
        "scan_id": scan_id,
    }

    def decide(snapshot: Snapshot) -> Plan:
        if (nights_so_far(snapshot, night)["as_of"] == night.as_of).any():
            return Plan()
        return Plan(events={"nightly": pl.DataFrame([row], schema=NIGHTLY.schema)})

    key = combined_hash({"night": night.as_of.isoformat(), "candidate": candidate})
    night.opened().commit(decide, kind="nightly", idempotency_key=f"nightly-{key[:24]}")


def nights_so_far(snapshot: Snapshot, night: Night) -> pl.DataFrame:
    """The nights of this golden set so far, with `_commit`, by as_of.

    A night belongs to the set of its candidate; other sets have nights of their own.
    """
    runs = snapshot.read("runs").filter(pl.col("golden_set") == night.config.golden_set)
    own = runs.select(candidate_run_id="run_id")
    nights = snapshot.read("nightly")
    return nights.join(own, on="candidate_run_id", how="semi").sort("as_of").collect()


def _located(folder: Path, path: str) -> Path:
    """A path of the configuration; only what it says itself is a pattern, never its folder."""
    return Path(glob.escape(str(folder)), path) if glob.has_magic(path) else folder / path


def _written(instant: Any) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"
