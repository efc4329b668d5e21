"""Builders of league inputs: many runs whose numbers are simple arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from report_tables import (
    HEADLINE,
    comparison_row,
    evaluation_row,
    frame,
    metric_catalog,
    metric_row,
    run_row,
)

from crucible_batch.report import LeagueInputs

N_ITEMS = 60


def name(k: int) -> str:
    """Id of the k-th run."""
    return f"run-{k:03}"


def value(k: int, metric: str) -> float:
    """Number of a run: spread over the unit interval, none twice for one metric up to 97 runs."""
    return (37 * k + 11 * HEADLINE.index(metric)) % 97 / 100


def league_of(
    n_runs: int = 6,
    *,
    baseline: int | None = None,
    means: Mapping[int, float | None] | None = None,
    facts: Mapping[int, Mapping[str, Any]] | None = None,
    paired: frozenset[int] | None = None,
    **changed: Any,
) -> LeagueInputs:
    """The inputs of a league of runs 0 to n - 1.

    Args:
        n_runs: How many.
        baseline: The run that the others are compared with.
        means: Accuracy of some runs, where it is not `value`.
        facts: What is told of some runs in `evaluations`.
        paired: Runs that share items with the baseline; all when None.
        changed: Tables to put in place of the built ones.
    """
    runs = range(n_runs)
    numbers = [
        metric_row(name(k), metric, _mean(k, metric, means or {}), N_ITEMS)
        for k in runs
        for metric in HEADLINE
    ]
    others = [k for k in runs if k != baseline and (paired is None or k in paired)]
    return LeagueInputs(
        **{
            "run_ids": tuple(map(name, runs)),
            "baseline_run_id": None if baseline is None else name(baseline),
            "runs": frame("runs", [run_row(name(k)) for k in runs]),
            "evaluations": frame(
                "evaluations",
                [evaluation_row(name(k), N_ITEMS, **(facts or {}).get(k, {})) for k in runs],
            ),
            "metric_catalog": metric_catalog(),
            "run_metrics": frame("run_metrics", numbers),
            "comparisons": frame(
                "comparisons",
                []
                if baseline is None
                else [_compared(k, baseline, metric) for k in others for metric in HEADLINE],
            ),
            "package_version": "0.1.0",
            **changed,
        }
    )


def _mean(k: int, metric: str, means: Mapping[int, float | None]) -> float | None:
    return means[k] if metric == "accuracy" and k in means else value(k, metric)


def _compared(k: int, baseline: int, metric: str) -> dict[str, Any]:
    before, after = value(baseline, metric), value(k, metric)
    delta = after - before
    return comparison_row(
        metric,
        comparison_id=f"{k:064}",
        baseline_run_id=name(baseline),
        candidate_run_id=name(k),
        mean_baseline=before,
        mean_candidate=after,
        delta=delta,
        ci_low=delta - 0.05,
        ci_high=delta + 0.05,
        verdict="improved"
        if delta > 0.05
        else "regressed"
        if delta < -0.05
        else "no_significant_change",
    )
