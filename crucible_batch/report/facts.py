"""Small look-ups that every section of the report shares."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.figures import Badge, Figure
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.lines import Row, declarations, declared

KPIS = (
    "accuracy",
    "groundedness",
    "citation_precision",
    "citation_recall",
    "retrieval_hit_rate",
    "recall_at_10",
    "ndcg_at_10",
)
"""The seven tiles, in the order they stand on the page."""

RANKED_TO_10 = ("retrieval_hit_rate", "recall_at_10", "ndcg_at_10")
"""KPIs that read the first ten documents."""


class Metrics:
    """The rows of `run_metrics` of one run by (slice_by, slice, metric), and why values are null.

    Attributes:
        run_id: The run.
    """

    def __init__(self, inputs: ReportInputs, run_id: str) -> None:
        self.run_id = run_id
        frame = inputs.of("run_metrics", run_id)
        self._rows = {
            (row["slice_by"], row["slice"], row["metric"]): row
            for row in frame.iter_rows(named=True)
        }
        self._reasons = _null_reasons(inputs.of("scores", run_id))

    def row(self, metric: str, slice_by: str = "all", slice_: str = "all") -> Row | None:
        """The row of a metric; None when the evaluation has none."""
        return self._rows.get((slice_by, slice_, metric))

    def overall(self) -> list[Row]:
        """The rows over all items."""
        return [row for (slice_by, *_), row in self._rows.items() if slice_by == "all"]

    def slices(self) -> list[tuple[str, str]]:
        """Every slice but the whole set."""
        return list(dict.fromkeys(key[:2] for key in self._rows if key[0] != "all"))

    def why(self, metric: str) -> str:
        """Why results do not carry the metric, most frequent reason first; empty when all do."""
        row = self.row(metric)
        if row is None:
            return "not part of this evaluation"
        known = self._reasons.get(metric)
        if known:
            return ", ".join(f"{words.REASONS.get(name, name)} ({n:,})" for name, n in known)
        return gaps(row)


def gaps(row: Row) -> str:
    """How many results a metric does not apply to, and for how many it is missing."""
    causes = {"does not apply to": row["n_not_applicable"], "missing for": row["n_missing"]}
    return ", ".join(f"{cause} {words.count(n, 'result')}" for cause, n in causes.items() if n)


def _null_reasons(scores: pl.DataFrame) -> dict[str, list[tuple[str, int]]]:
    counted = (
        scores.drop_nulls("null_reason")
        .group_by("metric", "null_reason")
        .len()
        .sort("len", "null_reason", descending=[True, False])
    )
    reasons: dict[str, list[tuple[str, int]]] = {}
    for metric, reason, n in counted.iter_rows():
        reasons.setdefault(metric, []).append((reason, n))
    return reasons


class Catalog:
    """The metric catalog by name."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self._metrics = declarations(frame)

    def __getitem__(self, metric: str) -> Row:
        return declared(self._metrics, metric)

    def title(self, metric: str) -> str:
        """The name of a metric for people."""
        return str(self[metric]["title"])

    def titles(self, metrics: Iterable[str]) -> str:
        """Names of metrics, comma separated."""
        return ", ".join(self.title(metric) for metric in metrics)

    def order(self, metric: str) -> int:
        """Position in the catalog; unknown metrics come last."""
        return list(self._metrics).index(metric) if metric in self._metrics else len(self._metrics)

    def direction(self, metric: str) -> int:
        """1 when higher is better, -1 when lower is, 0 without a direction."""
        return {"higher": 1, "lower": -1}.get(str(self[metric]["better"]), 0)

    def figure(self, metric: str, value: float | None, digits: int = 3) -> Figure:
        """A value in the unit of its metric."""
        return Figure(value, words.amount(value, str(self[metric]["unit"]), digits))


def share(value: float | None) -> Figure:
    """A fraction as a rounded percentage."""
    return Figure(value, words.percent(value))


def badge(mark: words.Mark) -> Badge:
    """A mark of the vocabulary as part of the model."""
    return Badge(mark.glyph, mark.word, mark.tone)
