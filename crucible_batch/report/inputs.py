"""What a report is made from: tables in the shape of their contracts, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from crucible_batch.contracts import get_table
from crucible_batch.errors import ContractError
from crucible_batch.report.figures import GateSummary, InputFile

DEAD_DELIVERIES = pl.Schema(
    {
        "event_id": pl.String(),
        "fingerprint": pl.String(),
        "kind": pl.String(),
        "severity": pl.String(),
        "endpoint": pl.String(),
        "state": pl.String(),
        "n_tries": pl.Int64(),
        "last_at": pl.Datetime("us", "UTC"),
        "last_status": pl.Int64(),
        "last_error": pl.String(),
    }
)
"""Columns of the notices that were given up: what they were about, whom they did not reach."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportInputs:
    """The tables of one run, or of two; rows of both runs stand in the same frame.

    Every frame has the columns of its contract; `run_id` says which run a row is about. A table
    that is left out (or has no rows) leaves its section out.

    Attributes:
        run_id: The run reported, the candidate.
        baseline_run_id: The run it is compared with.
        runs: `runs`, a row per run.
        evaluations: `evaluations`, exactly one row per run: the scoring that is reported.
        metric_catalog: `metric_catalog`; workspace_id is not needed.
        run_metrics: `run_metrics` of those evaluations.
        risk_coverage: `risk_coverage`.
        reliability_bins: `reliability_bins`.
        error_classes: `error_classes`.
        result_metrics: `result_metrics`; gives the flow between error classes.
        scores: `scores`; gives the reasons why a metric is null.
        comparisons: `comparisons` of the one comparison of the two runs.
        comparison_items: `comparison_items` of it.
        golden_items: `golden_items` of the pinned set; gives questions.
        results: `results`; gives answers of the items that moved most.
        comparison_documents: `comparison_documents` of it; says what changed in the top k.
        drift_snapshots: `drift_snapshots`; the newest as_of is reported.
        nightly_metrics: `nightly_metrics` of the nights against one baseline, the newest last.
        drift_evaluations: `drift_evaluations` of one scan.
        alerts: `alerts`, also those that are over.
        dead_deliveries: Notices given up; the columns of `DEAD_DELIVERIES`.
        judge_drift: `judge_drift`; the newest night of every judge is reported.
        policy_stats: `policy_stats` of the scan.
        cache_stats: `cache_stats` of the scan.
        gate: What a gate made of the run.
        charts_said: What the newest night says, in words.
        files: Where the rows came from.
        as_of: The instant the report speaks of, UTC.
        commit: Number of the last commit that the report could see, where it has no as_of.
        package_version: Version that made the report.
    """

    run_id: str
    baseline_run_id: str | None = None
    runs: pl.DataFrame
    evaluations: pl.DataFrame
    metric_catalog: pl.DataFrame
    run_metrics: pl.DataFrame
    risk_coverage: pl.DataFrame = field(default_factory=get_table("risk_coverage").empty)
    reliability_bins: pl.DataFrame = field(default_factory=get_table("reliability_bins").empty)
    error_classes: pl.DataFrame = field(default_factory=get_table("error_classes").empty)
    result_metrics: pl.DataFrame = field(default_factory=get_table("result_metrics").empty)
    scores: pl.DataFrame = field(default_factory=get_table("scores").empty)
    comparisons: pl.DataFrame = field(default_factory=get_table("comparisons").empty)
    comparison_items: pl.DataFrame = field(default_factory=get_table("comparison_items").empty)
    golden_items: pl.DataFrame = field(default_factory=get_table("golden_items").empty)
    results: pl.DataFrame = field(default_factory=get_table("results").empty)
    comparison_documents: pl.DataFrame = field(
        default_factory=get_table("comparison_documents").empty
    )
    drift_snapshots: pl.DataFrame = field(default_factory=get_table("drift_snapshots").empty)
    nightly_metrics: pl.DataFrame = field(default_factory=get_table("nightly_metrics").empty)
    drift_evaluations: pl.DataFrame = field(default_factory=get_table("drift_evaluations").empty)
    alerts: pl.DataFrame = field(default_factory=get_table("alerts").empty)
    dead_deliveries: pl.DataFrame = field(default_factory=DEAD_DELIVERIES.to_frame)
    judge_drift: pl.DataFrame = field(default_factory=get_table("judge_drift").empty)
    policy_stats: pl.DataFrame = field(default_factory=get_table("policy_stats").empty)
    cache_stats: pl.DataFrame = field(default_factory=get_table("cache_stats").empty)
    gate: GateSummary | None = None
    charts_said: tuple[str, ...] = ()
    files: tuple[InputFile, ...] = ()
    as_of: datetime | None = None
    commit: int | None = None
    package_version: str | None = None

    def __post_init__(self) -> None:
        problems = [problem for run_id in self.run_ids for problem in self._gaps(run_id)]
        if self.comparisons["comparison_id"].n_unique() > 1:
            problems.append("comparisons holds more than one comparison_id")
        sides = {(self.baseline_run_id, self.run_id)}
        found = set(self.comparisons.select("baseline_run_id", "candidate_run_id").unique().rows())
        if self.drift_evaluations["scan_id"].n_unique() > 1:
            problems.append("drift_evaluations holds more than one scan_id")
        problems += [f"comparisons compares {b!r} with {c!r}" for b, c in sorted(found - sides)]
        if problems:
            raise ContractError(
                f"The tables do not make a report of run {self.run_id!r}",
                problems=problems,
                fix="Give one scored evaluation of each run, and the comparison of these two.",
            )

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The run, then the baseline if there is one."""
        return (self.run_id, *([self.baseline_run_id] if self.baseline_run_id else []))

    def of(self, table: str, run_id: str) -> pl.DataFrame:
        """The rows of a table that are about a run."""
        frame: pl.DataFrame = getattr(self, table)
        return frame.filter(pl.col("run_id") == run_id)

    def _gaps(self, run_id: str) -> list[str]:
        problems = []
        for table in ("runs", "evaluations"):
            n = self.of(table, run_id).height
            if n != 1:
                problems.append(f"{table} has {n} rows of run {run_id!r}, not one")
        mixed = (
            table
            for table in ("run_metrics", "risk_coverage", "reliability_bins", "error_classes")
            if self.of(table, run_id)["evaluation_id"].n_unique() > 1
        )
        problems.extend(f"{table} mixes evaluations of run {run_id!r}" for table in mixed)
        return problems
