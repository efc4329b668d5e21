"""The evidence of a gate, gathered from a store: two runs, their comparison, alerts, last night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from crucible_batch.assemble.baselines import LATEST, finished_runs, resolve_baseline
from crucible_batch.assemble.compare import CompareOptions, Comparison, compare_runs
from crucible_batch.assemble.evaluate import Evaluation, evaluate_run
from crucible_batch.assemble.evaluate.subject import load_subject
from crucible_batch.assemble.gate.evidence import CellKey, Evidence, Row, RunFacts
from crucible_batch.assemble.gate.known import RIGHT
from crucible_batch.assemble.progress import Progress
from crucible_batch.errors import NotComparableError
from crucible_batch.store import Snapshot, Store, Workspace, file_name

if TYPE_CHECKING:
    from crucible_batch.assemble.gate.run import Prepared

OPENS, CLOSES = "opened", "resolved"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The run a baseline stands for, and what the candidate was made for.

    Attributes:
        run_id: The baseline; None: no run fits.
        golden_set_hash: Version of the golden set the candidate pins.
    """

    run_id: str | None
    golden_set_hash: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Gathered:
    """Evidence, and where it is from.

    Attributes:
        evidence: What rules may look at.
        comparison: The comparison; None when the runs could not be compared.
        read_ids: Ids of the comparison, or of the evaluation where there is none.
    """

    evidence: Evidence
    comparison: Comparison | None
    read_ids: tuple[str, ...]


def chosen_baseline(
    store: Store,
    workspace: str,
    snapshot: Snapshot,
    candidate: str,
    name: str,
    *,
    as_of: datetime | None,
) -> Chosen:
    """Find the baseline; `latest-succeeded` leaves out runs that scoring finds degraded.

    Raises:
        UnknownNameError: No run or baseline has this name, or there is no such candidate.
    """
    row = load_subject(snapshot, candidate).row
    golden_set = row["golden_set"]
    if name != LATEST:
        run_id: str | None = resolve_baseline(
            snapshot, name, golden_set=golden_set, candidate=candidate
        )
        return Chosen(run_id=run_id, golden_set_hash=row["golden_set_hash"])
    runs = finished_runs(snapshot, golden_set).filter(
        pl.col("status") == "succeeded", pl.col("run_id") != candidate
    )
    if as_of is not None:
        runs = runs.filter(pl.col("finished_at") <= as_of)
    fitting = (
        run
        for run in runs["run_id"]
        if evaluate_run(store, workspace, run).row["status"] == "succeeded"
    )
    return Chosen(run_id=next(fitting, None), golden_set_hash=row["golden_set_hash"])


def gather(
    store: Store,
    workspace: Workspace,
    ready: Prepared,
    *,
    as_of: datetime | None,
    compared: Comparison | None = None,
    progress: Progress,
) -> Gathered:
    """Score, compare, and read what the rules need.

    Runs that are still running or failed, or that were made for different golden sets where the
    gate wants one, are not scored at all: nothing may be concluded from them.
    """
    snapshot = ready.snapshot
    runs = [ready.candidate, *([] if ready.baseline is None else [ready.baseline])]
    facts = [_stored_facts(snapshot, run) for run in runs]
    found = Evidence(
        candidate=facts[0],
        baseline=facts[1] if len(facts) > 1 else None,
        min_items=ready.settings.statistics.min_items,
        **_alerts(snapshot, as_of),
    )
    wants_one = ready.config.requirements.same_golden_set
    if found.unusable or (found.golden_set_changed and wants_one):
        return Gathered(evidence=found, comparison=None, read_ids=())
    name = workspace.name
    if ready.baseline is None:
        progress(f"scoring {ready.candidate}")
        alone = evaluate_run(store, name, ready.candidate, progress=progress)
        measured = _with_candidate(found, alone)
        return Gathered(evidence=measured, comparison=None, read_ids=(alone.row["evaluation_id"],))
    options = CompareOptions(allow_golden_change=not wants_one)
    done = compared if wants_one else None
    try:
        done = done or compare_runs(
            store, name, ready.baseline, ready.candidate, options=options, progress=progress
        )
    except NotComparableError:
        return Gathered(evidence=replace(found, n_paired=0), comparison=None, read_ids=())
    measured = replace(
        _with_candidate(found, done.candidate.evaluation),
        baseline=_scored_facts(facts[1], done.baseline.evaluation),
        numbers_before=_cells(done.baseline.evaluation.read("run_metrics")),
        n_paired=len(set(done.items["item_id"])),
        comparison_id=done.comparison_id,
        compared=_cells(done.rows),
        before=night_before(workspace, ready, as_of=as_of),
    )
    return Gathered(evidence=measured, comparison=done, read_ids=(done.comparison_id,))


def night_before(
    workspace: Workspace, ready: Prepared, *, as_of: datetime | None
) -> Mapping[tuple[str, str, str, str], str]:
    """Confirmation of every rule of the night before: the latest earlier one with this baseline.

    Out of turn, a night is earlier when it is before the candidate's finish.
    """
    runs = finished_runs(ready.snapshot)
    finished = runs.filter(pl.col("run_id") == ready.candidate)["finished_at"]
    instant = as_of if as_of is not None else next(iter(finished), None)
    if instant is None:
        return {}
    nights = (
        ready.snapshot.read("nightly")
        .filter(
            pl.col("as_of") < instant,
            pl.col("baseline_run_id") == ready.baseline,
            pl.col("candidate_run_id") != ready.candidate,
        )
        .collect()
    )
    last = nights.filter(pl.col("as_of") == pl.col("as_of").max())
    gates = last["gate_id"].drop_nulls()
    found: dict[tuple[str, str, str, str], str] = {}
    for gate_id in gates.sort():
        path = workspace.layout.mart("gate_results", file_name(gate_id))
        if path.is_file():
            rows = pl.read_parquet(path, glob=False, hive_partitioning=False)
            found |= {
                (
                    row["rule_id"],
                    row["metric"] or "",
                    row["slice_by"] or "",
                    row["slice"] or "",
                ): row["confirmation"]
                for row in rows.iter_rows(named=True)
            }
    return found


def open_alerts(events: pl.DataFrame) -> tuple[tuple[str, str], ...]:
    """Severity and fingerprint of every alert that is open: its last episode opened, not resolved.

    Args:
        events: Rows of `alert_events`, in any order.
    """
    ordered = events.sort("fingerprint", "episode", "seq")
    found = []
    for (fingerprint,), rows in ordered.group_by("fingerprint", maintain_order=True):
        last = rows.filter(pl.col("episode") == rows["episode"].max())
        kinds = last["kind"].to_list()
        if OPENS in kinds and CLOSES not in kinds:
            found.append((str(last["severity"][-1]), str(fingerprint)))
    return tuple(found)


def _alerts(snapshot: Snapshot, as_of: datetime | None) -> dict[str, Any]:
    events = snapshot.read("alert_events").collect()
    if as_of is not None:
        # A night scans after its gate, and speaks of the same time: a gate that is asked again
        # must see what it saw first.
        events = events.filter(pl.col("occurred_at") < as_of)
    return {"open_alerts": open_alerts(events), "n_alert_events": events.height}


def _stored_facts(snapshot: Snapshot, run_id: str) -> RunFacts:
    """A run as it was loaded."""
    subject = load_subject(snapshot, run_id)
    return RunFacts(
        run_id=run_id,
        status=subject.status,
        reason=subject.status_reason,
        golden_set_hash=subject.row["golden_set_hash"],
        judge=subject.judge,
    )


def _scored_facts(stored: RunFacts, evaluation: Evaluation) -> RunFacts:
    """A run as scoring finds it: degraded when too much of it was lost."""
    row = evaluation.row
    return replace(
        stored,
        status=row["status"],
        reason=row["status_reason"],
        judge=row["judge"],
        n_expected=row["n_expected"],
        n_lost=row["n_errored"] + row["n_expected"] - row["n_results"],
    )


def _with_candidate(found: Evidence, evaluation: Evaluation) -> Evidence:
    return replace(
        found,
        candidate=_scored_facts(found.candidate, evaluation),
        numbers=_cells(evaluation.read("run_metrics")),
        samples=_samples(evaluation),
    )


def _cells(rows: pl.DataFrame) -> dict[CellKey, Row]:
    return {
        (row["slice_by"], row["slice"], row["metric"]): row for row in rows.iter_rows(named=True)
    }


def _samples(evaluation: Evaluation) -> dict[str, Sequence[float | None]]:
    """What each expected sample is worth, by item."""
    scores = evaluation.scan("scores").filter(pl.col("metric") == RIGHT)
    by_item = (
        scores.sort("item_id", "sample_index")
        .group_by("item_id", maintain_order=True)
        .agg("value")
        .collect()
    )
    return dict(by_item.iter_rows())
