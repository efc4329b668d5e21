"""Judging the candidate of a night: compare, hold against the gate, build the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.assemble.compare import Comparison, compare_runs
from crucible_batch.assemble.compare.rows import is_comparable
from crucible_batch.assemble.gate import GateRun, Told, run_gate, told
from crucible_batch.assemble.nightly.night import Night
from crucible_batch.assemble.nightly.said import NOTHING_SAID, Said
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.assemble.report import report_run, write_report
from crucible_batch.report import Report


def compare(
    night: Night, baseline: str, candidate: str, *, progress: Progress = quiet
) -> Comparison:
    """Compare the candidate with the baseline."""
    return compare_runs(night.store, night.workspace, baseline, candidate, progress=progress)


def was_comparable(night: Night, baseline: str, candidate: str) -> bool:
    """Whether the comparison of a night that is done could say anything."""
    rows = night.opened().table("comparisons")
    pair = (pl.col("baseline_run_id") == baseline) & (pl.col("candidate_run_id") == candidate)
    return is_comparable(rows.filter(pair).collect())


def judge(
    night: Night,
    baseline: str,
    candidate: str,
    *,
    compared: Comparison | None = None,
    progress: Progress = quiet,
) -> GateRun | None:
    """Hold the candidate against the gate of the night; None without one.

    Args:
        night: The night.
        baseline: Run compared with.
        candidate: Run judged.
        compared: The two runs, compared already.
        progress: Is told how far it has come.
    """
    if night.gate_path is None:
        return None
    return run_gate(
        night.store,
        night.workspace,
        candidate,
        baseline,
        night.gate_path,
        as_of=night.as_of,
        compared=compared,
        progress=progress,
    )


def told_before(night: Night, row: Mapping[str, Any]) -> Told | None:
    """What the gate of a night that is done said; None without one."""
    if row["gate_id"] is None:
        return None
    return told(night.opened(), row["gate_id"], row["gate_outcome"])


def report(
    night: Night,
    baseline: str,
    candidate: str,
    compared: Comparison,
    gate: GateRun | None,
    said: Said = NOTHING_SAID,
    *,
    progress: Progress = quiet,
) -> Report:
    """Build the report of the night, when all it tells of is written."""
    made = report_run(
        night.store,
        night.workspace,
        candidate,
        baseline=baseline,
        as_of=night.as_of,
        compared=compared,
        gate=None if gate is None else gate.verdict,
        charts_said=() if said.line is None else (said.line, *said.more),
        progress=progress,
    )
    return made.report


def write_page(night: Night, candidate: str, made: Report) -> Path:
    """Write the report of the night as a page."""
    return write_report(made, night.report_path(candidate))
