"""What a league page is made from: tables in the shape of their contracts, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from crucible_batch.contracts import get_table
from crucible_batch.errors import ContractError
from crucible_batch.report.lines import Row


@dataclass(frozen=True, kw_only=True, eq=False)
class LeagueInputs:
    """The tables of many runs; `run_id` says which run a row is about.

    Attributes:
        run_ids: The runs, the baseline among them if there is one, each once.
        baseline_run_id: The run that the others are compared with.
        runs: `runs`, a row per run.
        evaluations: `evaluations`, exactly one row per run.
        metric_catalog: `metric_catalog`; workspace_id is not needed.
        run_metrics: `run_metrics` of those evaluations; only overall rows are read.
        comparisons: `comparisons` of runs with the baseline; only overall rows are read. A run
            without rows shares no item with the baseline.
        package_version: Version that made the page.
    """

    run_ids: tuple[str, ...]
    baseline_run_id: str | None = None
    runs: pl.DataFrame
    evaluations: pl.DataFrame
    metric_catalog: pl.DataFrame
    run_metrics: pl.DataFrame
    comparisons: pl.DataFrame = field(default_factory=get_table("comparisons").empty)
    package_version: str | None = None

    def __post_init__(self) -> None:
        problems = [
            f"{name} has {n} rows of run {run_id!r}, not one"
            for name, frame in (("runs", self.runs), ("evaluations", self.evaluations))
            for run_id in self.run_ids
            if (n := frame["run_id"].to_list().count(run_id)) != 1
        ]
        if len(set(self.run_ids)) != len(self.run_ids):
            problems.append("a run is named twice")
        if self.baseline_run_id not in {None, *self.run_ids}:
            problems.append(f"the baseline {self.baseline_run_id!r} is none of the runs")
        others = {*self.comparisons["baseline_run_id"]} - {self.baseline_run_id}
        problems += [f"comparisons compares with {other!r}" for other in sorted(others)]
        if problems:
            raise ContractError(
                "The tables do not make a league page",
                problems=problems,
                fix="Give one scored evaluation of each run, compared with the one baseline.",
            )

    def by_run(self, table: str) -> Mapping[str, Row]:
        """The one row of every run of `runs` or `evaluations`."""
        frame: pl.DataFrame = getattr(self, table)
        return {row["run_id"]: row for row in frame.iter_rows(named=True)}

    def numbers(self) -> Mapping[tuple[str, str], Row]:
        """The overall rows of `run_metrics` by run and metric."""
        overall = self.run_metrics.filter(pl.col("slice_by") == "all")
        return {(row["run_id"], row["metric"]): row for row in overall.iter_rows(named=True)}

    def compared(self) -> Mapping[tuple[str, str], Row]:
        """The overall rows of `comparisons` by candidate and metric."""
        overall = self.comparisons.filter(pl.col("slice_by") == "all")
        return {
            (row["candidate_run_id"], row["metric"]): row for row in overall.iter_rows(named=True)
        }
