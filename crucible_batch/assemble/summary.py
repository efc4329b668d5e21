"""A scored run in a few lines for a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import polars as pl

from crucible_batch.assemble.evaluate import Evaluation
from crucible_batch.metrics import catalog
from crucible_batch.report import words


def counted_line(done: Evaluation) -> str:
    """How many of the expected results counted: `118 of 120 results counted (60 items × …)`."""
    row = done.row
    return words.counted_line(row["n_expected"], row["n_results"], row["n_errored"], done.samples_n)


USED = {
    "human": "of people only",
    "llm": "of llm judges only",
    "resolved": "of all sources, the strongest wins (human, provenance, llm)",
}
"""Which judgments a `qrel_source` means."""


def judgments_line(done: Evaluation) -> str:
    """Which judgments graded the rankings, and from which grade on a document is relevant."""
    row = done.row
    return (
        f"judgments: {USED[row['qrel_source']]}, by {row['granularity']}, "
        f"relevant from grade {row['relevant_at']}"
    )


JUDGED = "accuracy"
"""The metric that says `not_judged` of an answer nobody judged."""


def judging_hint(scored: Sequence[Evaluation]) -> str | None:
    """What to do about answers that no judge has seen; None when there are none.

    Speaks only of runs without any verdict: of others somebody chose what is judged.
    """
    unjudged = [(one.row["run_id"], _n_unjudged(one)) for one in scored if not one.row["judge"]]
    found = {run_id: n for run_id, n in unjudged if n}
    if not found:
        return None
    each = [f"{n:,} of {words.one_line(run_id)}" for run_id, n in found.items()]
    return (
        f"no judge has seen the answers ({', '.join(each)}): "
        f"crucible judge assertions {shlex.join(found)}"
    )


def _n_unjudged(done: Evaluation) -> int:
    rows = done.scan("scores").filter(metric=JUDGED, null_reason="not_judged")
    return int(rows.select(pl.len()).collect().item())


def metric_rows(done: Evaluation) -> list[tuple[object, ...]]:
    """Headline metrics first, then every other metric that has a number."""
    numbers = done.read("run_metrics").filter(pl.col("slice_by") == "all")
    headline = {metric.name for metric in catalog.ALL if metric.headline}
    rows = sorted(
        numbers.iter_rows(named=True),
        key=lambda row: (row["metric"] not in headline, row["metric"]),
    )
    return [
        (
            row["metric"],
            _number(row["mean"]),
            _interval(row["ci_low"], row["ci_high"]),
            row["n_scored"],
            _number(row["coverage"]),
            row["n_missing"],
        )
        for row in rows
        if row["mean"] is not None or row["metric"] in headline
    ]


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.4f}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"
