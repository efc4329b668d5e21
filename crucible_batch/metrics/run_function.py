"""The number of a whole run: which results it rests on, and the function over those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from crucible_batch.metrics.answer_nulls import holds
from crucible_batch.metrics.nulls import Null


@dataclass(frozen=True, kw_only=True, eq=False)
class RunFunction:
    """The `function` of a run metric.

    Attributes:
        nulls: Why a result is left out, in the order the rules are tried: what the counts beside
            the number (n_scored, n_not_applicable, n_missing) are made of.
        number: The number over the results that are left; None on an empty denominator.
    """

    nulls: tuple[Null, ...]
    number: Callable[[pl.DataFrame], float | None]

    def __call__(self, rows: pl.DataFrame) -> float | None:
        """The number over the rows that no null rule leaves out."""
        return self.number(rows.filter(~holds(self.nulls)))
