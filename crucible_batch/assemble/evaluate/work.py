"""What one scoring works with, and the identity that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from crucible_batch.assemble.evaluate.options import Options
from crucible_batch.assemble.evaluate.ruler import Ruler, Rulers
from crucible_batch.assemble.evaluate.subject import Subject, load_subject
from crucible_batch.contracts import TABLES
from crucible_batch.errors import ContractError, UnknownNameError
from crucible_batch.metrics import catalog
from crucible_batch.metrics.facts import RunFlags, RunRows, run_flags
from crucible_batch.metrics.metric import AnyMetric, Metric, RunMetric
from crucible_batch.metrics.plugins import PREFIX, plugin_metrics, plugin_run_metrics
from crucible_batch.metrics.results import RunCounts
from crucible_batch.settings import Settings
from crucible_batch.store import Snapshot, Workspace, combined_hash

_READ_FOR_FLAGS = {
    "assertion_verdicts": ["judge"],
    "claims": ["judge"],
    "external_scores": ["metric"],
    "detected_concepts": ["place"],
}
"""The columns that say what holds for a whole run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """One run with one ruler and one set of options.

    Attributes:
        workspace: Where it is scored.
        options: Which judgments count.
        settings: Settings of the workspace.
        subject: The run.
        ruler: What it is measured with.
        flags: What holds for the whole run.
        first_party: Our own metrics at the cut-offs of the settings.
        plugin_results: Plugin metrics the run gives per result.
        plugin_runs: Plugin metrics the run gives as a whole.
        declarations: Rows of `plugin_metrics` about these two, sorted.
    """

    workspace: Workspace
    options: Options
    settings: Settings
    subject: Subject
    ruler: Ruler
    flags: RunFlags
    first_party: tuple[AnyMetric, ...]
    plugin_results: tuple[Metric, ...]
    plugin_runs: tuple[RunMetric, ...]
    declarations: tuple[tuple[Any, ...], ...]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Every result metric, by name."""
        every = (*catalog.result_metrics(self.first_party), *self.plugin_results)
        return tuple(sorted(every, key=lambda metric: metric.name))

    @property
    def run_metrics(self) -> tuple[RunMetric, ...]:
        """Our own numbers of a run."""
        return catalog.run_metrics(self.first_party)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that the numbers depend on; columns of `evaluations`."""
        own = catalog.to_frame(self.first_party).rows()
        return {
            "run_id": self.subject.run_id,
            "rows_hash": self.subject.rows_hash,
            "golden_set_hash": self.ruler.golden_set_hash,
            "ruler_hash": self.ruler.hash,
            "judge": self.flags.judge,
            "qrel_source": self.options.qrel_source,
            "relevant_at": self.options.threshold(self.settings),
            "granularity": self.options.granularity,
            "catalog_hash": combined_hash({"catalog": own, "plugins": self.declarations}),
            "settings_hash": self.settings.scoring_hash,
        }

    @cached_property
    def evaluation_id(self) -> str:
        """Hash of the identity."""
        return combined_hash(self.identity)[:32]

    def status(self, counts: RunCounts) -> tuple[str, str | None]:
        """Status of the evaluation: a run that lost too many results is degraded."""
        threshold = self.settings.scoring.error_threshold
        if self.subject.status == "succeeded" and counts.is_degraded(threshold):
            lost = counts.n_errored + counts.n_expected - counts.n_results
            reason = f"{lost:,} of {counts.n_expected:,} results errored or are missing"
            return "degraded", reason
        return self.subject.status, self.subject.status_reason


def prepare(
    workspace: Workspace,
    snapshot: Snapshot,
    run_id: str,
    options: Options,
    settings: Settings,
    rulers: Rulers | None = None,
) -> Work:
    """Gather what a scoring works with; its buckets are read later.

    Rulers that were gathered for other runs of the snapshot, with the same options, can be given.

    Raises:
        UnknownNameError: The workspace has no such run, or the judge judged nothing of it.
        UsageError: Several judges judged the run and nothing says whose verdicts count.
        ContractError: A name is a plugin metric of results and of the run at once.
    """
    subject = _subject(workspace, snapshot, run_id)
    of_results = subject.scan("external_scores").select("metric").unique().collect()
    of_run = subject.scan("external_run_metrics").collect()
    _refuse_both(run_id, of_results["metric"], of_run["metric"])
    declared = (
        snapshot.read("plugin_metrics")
        .drop("_commit")
        .filter(pl.col("metric").is_in([*of_results["metric"], *of_run["metric"]]))
        .sort("metric")
        .collect()
    )
    rulers = rulers or Rulers(snapshot, options.grading(settings))
    return Work(
        workspace=workspace,
        options=options,
        settings=settings,
        subject=subject,
        ruler=rulers.of(subject.row["golden_set_hash"]),
        flags=_flags(subject, options.judge),
        first_party=catalog.for_ks(settings.scoring.ks),
        plugin_results=plugin_metrics(of_results, declared),
        plugin_runs=plugin_run_metrics(of_run, declared),
        declarations=tuple(declared.rows()),
    )


def _subject(workspace: Workspace, snapshot: Snapshot, run_id: str) -> Subject:
    """Find the run; one that was loaded after the pin is told apart from a wrong name."""
    try:
        return load_subject(snapshot, run_id)
    except UnknownNameError as error:
        now = workspace.snapshot()
        if now.read("runs").filter(pl.col("run_id") == run_id).collect().is_empty():
            raise
        fix = f"it was loaded after commit {snapshot.seq}: pin a later one, at most {now.seq}."
        raise UnknownNameError("run", run_id, error.known, fix=fix) from None


def _flags(subject: Subject, asked_judge: str | None) -> RunFlags:
    frames = {
        name: subject.scan(name).select(_READ_FOR_FLAGS[name]).unique().collect()
        if name in _READ_FOR_FLAGS
        else TABLES[name].empty()
        for name in RunRows.__dataclass_fields__
        if name != "overrides"
    }
    return run_flags(
        subject.row, RunRows(**frames), asked_judge=asked_judge, pinned_judge=subject.judge
    )


def _refuse_both(run_id: str, of_results: pl.Series, of_run: pl.Series) -> None:
    """A metric is one number: the mean over results, or one the run was given with."""
    both = sorted(set(of_results) & set(of_run))
    if both:
        raise ContractError(
            f"Run {run_id} gives a plugin metric per result and for the whole run",
            problems=[f"{name} is in external_scores and external_run_metrics" for name in both],
            fix=f"load the run under another id, with two names (e.g. {both[0]}_of_run).",
        )


def is_plugin(metric: str) -> bool:
    """Whether another program computed it."""
    return metric.startswith(PREFIX)
