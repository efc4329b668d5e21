"""A metric is a declared value: everything that scores, compares, prints or tests it reads it.

Adding a metric is writing one plain function that returns a `Metric` and listing it in the tuple
of its module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from crucible_batch.metrics.nulls import Null

Unit = Literal["fraction", "signed", "count", "milliseconds", "tokens", "usd", "bits"]
Scale = Literal["linear", "log"]
Better = Literal["higher", "lower", "none"]
Group = Literal[
    "retrieval",
    "answers",
    "claims",
    "citations",
    "concepts",
    "payloads",
    "operational",
    "abstention",
    "selective",
    "calibration",
]


@dataclass(frozen=True)
class Column:
    """One column of a grain frame: its type, the value an example leaves out, its meaning."""

    dtype: pl.DataType
    default: Any
    meaning: str


@dataclass(frozen=True, eq=False)
class Grain:
    """A frame with exactly one row per result; metrics are expressions over that row.

    Attributes:
        name: What one row holds, e.g. `ranking`.
        columns: The columns metrics of the grain may read, beside the key.
    """

    name: str
    columns: Mapping[str, Column]

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Column name to type, in declared order."""
        return {name: column.dtype for name, column in self.columns.items()}

    def rows(self, *rows: Mapping[str, Any]) -> pl.DataFrame:
        """Build a frame from a few facts per row; columns left out take their defaults.

        Raises:
            KeyError: A row names a column that the grain does not have.
        """
        if stray := {name for row in rows for name in row} - set(self.columns):
            raise KeyError(f"grain {self.name!r} has no column {sorted(stray)}")
        data = {
            name: [row.get(name, column.default) for row in rows]
            for name, column in self.columns.items()
        }
        return pl.DataFrame(data, schema=self.schema)


@dataclass(frozen=True)
class Example:
    """A worked example that a test executes: the facts of one result and the right value.

    `value` is a number, or the null reason as text. Run metrics take several rows.
    """

    rows: tuple[Mapping[str, Any], ...]
    value: float | str | None

    @staticmethod
    def of(value: float | str | None, /, **facts: Any) -> Example:
        """Build an example of one row from its facts."""
        return Example(rows=(facts,), value=value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Declaration:
    """What every metric declares, whatever its grain.

    Attributes:
        name: SQL identifier, e.g. `ndcg_at_10`.
        title: Label for people, e.g. `nDCG@10`.
        group: Family it is printed with.
        grain: The frame it reads.
        unit: What the number counts.
        scale: `log` when runs are compared by ratio.
        low: Smallest possible value, None without one.
        high: Largest possible value, None without one.
        better: The direction that is an improvement.
        headline: Stands among the first numbers of a report.
        uses_judge: Rests on a judge's verdicts.
        summary: One sentence, ends with a period.
        formula: How the number is made, in one line of words and signs; empty for a plugin metric.
        source: Where the formula is from.
        example: Facts and the right value, executed by a test.
    """

    name: str
    title: str
    group: Group
    grain: Grain
    unit: Unit = "fraction"
    scale: Scale = "linear"
    low: float | None = 0.0
    high: float | None = 1.0
    better: Better = "higher"
    headline: bool = False
    uses_judge: bool = False
    summary: str
    formula: str = ""
    source: str
    example: Example


@dataclass(frozen=True, kw_only=True, eq=False)
class Metric(Declaration):
    """A number per result; its run value is the mean over the results that carry it.

    Attributes:
        expr: The value, an expression over the columns of `grain`.
        nulls: Rules in the order they are tried; the first that holds makes the value null.
        cut: The cut-off k of a ranking metric, None when it reads the whole list.
    """

    expr: pl.Expr
    nulls: tuple[Null, ...] = field(default=())
    cut: int | None = None

    @property
    def null_rule(self) -> str:
        """The null reasons in the order they are tried, for the catalog."""
        return ", ".join(dict.fromkeys(null.reason for null in self.nulls)) or "never null"


@dataclass(frozen=True, kw_only=True, eq=False)
class RunMetric(Declaration):
    """A number per run (or slice) that is no mean of per-result values.

    Attributes:
        function: Takes the rows of `grain` that belong to the run or slice, sorted by result, and
            returns the number, or None when its denominator is empty. It depends on the rows,
            never on their order.
        null_rule: When it is None, in words.
    """

    function: Callable[[pl.DataFrame], float | None]
    null_rule: str


AnyMetric = Metric | RunMetric
"""An entry of the catalog."""
