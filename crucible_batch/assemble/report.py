"""The report of a run, alone or against a baseline, from the tables of a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.assemble.compare import CompareOptions, Comparison, compare_runs
from crucible_batch.assemble.evaluate import Evaluation, evaluate_run
from crucible_batch.assemble.evaluate.ruler import load_golden_set
from crucible_batch.assemble.gate import GateVerdict, gate_summary
from crucible_batch.assemble.outputs import write_output
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.assemble.report_trail import input_files, watch_tables
from crucible_batch.contracts import TABLES
from crucible_batch.errors import UsageError
from crucible_batch.metrics import catalog
from crucible_batch.report import Report, ReportInputs, build_report, to_html, to_json, to_markdown
from crucible_batch.settings import load_settings
from crucible_batch.store import Snapshot, Store

WRITERS = {".html": to_html, ".md": to_markdown, ".json": to_json}
"""File suffix to the rendering of the one model."""

PER_RUN = (
    "run_metrics",
    "risk_coverage",
    "reliability_bins",
    "error_classes",
    "result_metrics",
    "scores",
)
MOVED = 10
"""Items that moved most, each way, whose answers are shown."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reported:
    """A report with what it rests on."""

    report: Report
    comparison: Comparison | None


def report_run(
    store: Store,
    workspace: str,
    run_id: str,
    *,
    baseline: str | None = None,
    options: CompareOptions | None = None,
    as_of: datetime | None = None,
    compared: Comparison | None = None,
    gate: GateVerdict | None = None,
    charts_said: Sequence[str] = (),
    progress: Progress = quiet,
) -> Reported:
    """Make the report of a run; it is scored, and compared, where that is not done yet.

    Args:
        store: The store.
        workspace: Workspace of the runs.
        run_id: The run reported.
        baseline: The run it is compared with.
        options: How it is compared.
        as_of: The instant the report speaks of: nights, scans, alerts and notices that are later
            do not exist yet. None: all there are.
        compared: The two runs, where they were compared already.
        gate: What the gate made of the run.
        charts_said: What the charts say of the night, in words.
        progress: Is told how far it has come.

    Raises:
        UsageError: The run is its own baseline.
        UnknownNameError: No such run or workspace.
        NotComparableError: The runs share no item.
    """
    if baseline == run_id:
        raise UsageError(
            f"Run {run_id!r} is its own baseline",
            fix="name another run, or leave the baseline out.",
        )
    comparison = compared
    if baseline is None:
        evaluations = [evaluate_run(store, workspace, run_id, progress=progress)]
    else:
        comparison = compared or compare_runs(
            store, workspace, baseline, run_id, options=options, progress=progress
        )
        evaluations = [comparison.candidate.evaluation, comparison.baseline.evaluation]
    opened = store.workspace(workspace)
    snapshot = opened.snapshot()
    ks = load_settings(store.root, workspace).scoring.ks
    inputs = _inputs(
        snapshot,
        evaluations,
        comparison,
        as_of=as_of,
        metric_catalog=catalog.to_frame(catalog.for_ks(ks)),
        gate=None if gate is None else gate_summary(gate),
        charts_said=tuple(charts_said),
        commit=snapshot.seq,
        **watch_tables(opened, snapshot, run_id, baseline, as_of=as_of),
    )
    return Reported(report=build_report(inputs), comparison=comparison)


def check_report_path(path: Path) -> Path:
    """Return the path of a report if its suffix names a format; checked before any work.

    Raises:
        UsageError: The suffix is none of .html, .md and .json.
    """
    if path.suffix not in WRITERS:
        raise UsageError(
            f"A report cannot be written as {path.suffix or 'a file without suffix'}",
            fix=f"name a file that ends in {', '.join(WRITERS)}.",
        )
    return path


def write_report(report: Report, path: Path) -> Path:
    """Write a report in the format its suffix names.

    Raises:
        UsageError: The suffix is none of .html, .md and .json.
        CrucibleError: The file cannot be written.
    """
    return write_output(path, WRITERS[check_report_path(path).suffix](report))


def _inputs(
    snapshot: Snapshot,
    evaluations: Sequence[Evaluation],
    comparison: Comparison | None,
    **known: Any,
) -> ReportInputs:
    """Put the tables of the runs beside what is known already."""
    ids = [evaluation.row["run_id"] for evaluation in evaluations]
    rows = [evaluation.row for evaluation in evaluations]
    tables: dict[str, Any] = {
        name: pl.concat([one.read(name) for one in evaluations], how="diagonal") for name in PER_RUN
    }
    if comparison is not None:
        tables |= {
            "comparisons": comparison.rows,
            "comparison_items": comparison.items,
            "comparison_documents": comparison.documents,
        }
    versions = dict.fromkeys(row["golden_set_hash"] for row in rows)
    items = pl.concat([load_golden_set(snapshot, version).items for version in versions])
    runs = snapshot.read("runs").filter(pl.col("run_id").is_in(ids)).drop("_commit").collect()
    return ReportInputs(
        run_id=ids[0],
        baseline_run_id=ids[1] if len(ids) > 1 else None,
        runs=runs,
        evaluations=pl.DataFrame(rows, schema=TABLES["evaluations"].schema),
        # An item of two versions is shown as the reported run, which comes first, saw it.
        golden_items=items.unique("item_id", keep="first", maintain_order=True),
        results=_answers(snapshot, ids, comparison),
        files=input_files(snapshot, ids, set(runs["golden_set"])),
        package_version=version("crucible-batch"),
        **tables,
        **known,
    )


def _answers(
    snapshot: Snapshot, run_ids: Sequence[str], comparison: Comparison | None
) -> pl.DataFrame:
    """Results of the items that moved most in any metric; all others would only fill memory."""
    if comparison is None:
        return TABLES["results"].empty()
    moved = comparison.items.filter((pl.col("delta") != 0) & (pl.col("rank") <= 4 * MOVED))
    ids = moved.select("item_id").unique().lazy()
    parts = [
        snapshot.read("results", subject=run_id).join(ids, on="item_id", how="semi")
        for run_id in run_ids
    ]
    return pl.concat(parts).drop("_commit").sort(TABLES["results"].key).collect()
