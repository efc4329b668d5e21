"""What the readiness of a golden set is judged by, as plain frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from crucible_batch.metrics.facts import Golden

OK, WARN, MISSING = STATUSES = ("ok", "warn", "missing")


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How one headline metric varies over the items of the last scored run.

    Attributes:
        n: Items that carry it.
        sd: Standard deviation of the item means.
        width: Width of the metric's declared range.
    """

    n: int
    sd: float
    width: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Material:
    """A golden set and what is known about it.

    Attributes:
        golden_set: Name of the set.
        golden_set_hash: Version that is looked at.
        golden: Its active items and their children.
        provenance: item_id of the items with a provenance judgment.
        pool: item_id, n_retrieved, n_judged over the first ranks of the last runs; None without a
            run that retrieved.
        pooled_runs: These runs.
        spreads: Headline metric to its spread in the last scored run; empty without one.
        spread_run: This run.
    """

    golden_set: str
    golden_set_hash: str
    golden: Golden
    provenance: frozenset[str] = frozenset()
    pool: pl.DataFrame | None = None
    pooled_runs: tuple[str, ...] = ()
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    spread_run: str | None = None

    @property
    def n(self) -> int:
        """Active items."""
        return self.golden.items.height

    @property
    def answerable(self) -> pl.DataFrame:
        """The items that have an answer."""
        return self.golden.items.filter("answerable")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the report.

    Attributes:
        check: What was looked at.
        status: ok, warn or missing.
        what: What was found, one sentence.
        items: The items concerned, sorted; those to look at, not those that are fine.
        help: The command that helps; empty when all is well.
    """

    check: str
    status: str
    what: str
    items: tuple[str, ...] = ()
    help: str = ""


def graded(
    check: str,
    without: pl.Series,
    n: int,
    *,
    fine: str,
    lacking: str,
    fix: str,
) -> Line:
    """A line about something each of `n` items should have.

    Args:
        check: What was looked at.
        without: item_id of the items that lack it.
        n: Items that should have it.
        fine: Sentence when none lacks it.
        lacking: End of the sentence `3 of 12 items …` when some do.
        fix: The command that helps.
    """
    if without.is_empty():
        return Line(check=check, status=OK, what=fine)
    return Line(
        check=check,
        status=MISSING if len(without) == n else WARN,
        what=f"{len(without):,} of {n:,} items {lacking}",
        items=tuple(without.sort()),
        help=fix,
    )
