"""Rows of `comparisons`: tested metrics, their families, and the verdicts these lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from crucible_batch.metrics.metric import Declaration
from crucible_batch.metrics.plugins import PREFIX
from crucible_batch.stats.comparison import PairedComparison, with_adjusted_p
from crucible_batch.stats.multiplicity import adjust_pvalues

OVERALL = ("all", "all")
INSUFFICIENT = "insufficient items"
UNEQUAL_JUDGING = 0.05
"""Judged shares that differ by more than this make a retrieval regression doubtful."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One metric in one slice.

    Attributes:
        slice_name: slice_by and slice.
        metric: Its declaration.
        tested: What the resampling says.
        blocked: Why it gets no verdict.
        is_tested: Whether it may get a p and a verdict. A number per run is shown alone, a plugin
            metric nobody declared (range and direction unknown) with its interval.
    """

    slice_name: tuple[str, str]
    metric: Declaration
    tested: PairedComparison
    blocked: str | None
    is_tested: bool = True

    @property
    def family(self) -> str | None:
        """The family its p belongs to; None for a cell without a test, or a slice of few items."""
        if self.blocked is not None or not self.is_tested:
            return None
        if self.slice_name == OVERALL:
            return "headline" if self.metric.headline else "overall"
        return None if self.tested.ci_label == INSUFFICIENT else "slices"


def with_verdicts(cells: Sequence[Cell], *, adjust: str, min_items: int) -> list[Cell]:
    """Adjust the p's family by family and settle every verdict.

    Args:
        cells: All cells of a comparison.
        adjust: How headline p's are adjusted; the other families are always BH.
        min_items: Fewest units that allow a verdict.

    Returns:
        The cells in their order. A blocked cell has neither p nor verdict, one that is not tested
        no p and the verdict `no_test`. A cell outside every family keeps its raw p and has
        too few items for a verdict.
    """
    settled = [_without_family(cell) for cell in cells]
    methods: Mapping[str, str] = {"headline": adjust, "overall": "bh", "slices": "bh"}
    for family, method in methods.items():
        places = [
            place
            for place, cell in enumerate(settled)
            if cell.family == family and cell.tested.p_value is not None
        ]
        adjusted = adjust_pvalues([settled[place].tested.p_value for place in places], method)
        for place, p in zip(places, adjusted, strict=True):
            cell = settled[place]
            tested = with_adjusted_p(
                cell.tested,
                float(p),
                adjust_method=method,
                family=family,
                family_size=len(places),
                higher_is_better=direction(cell.metric),
                min_items=min_items,
            )
            settled[place] = replace(cell, tested=tested)
    return settled


def is_comparable(rows: pl.DataFrame) -> bool:
    """Whether any metric that says how good a run is has pairs, and nothing stands against it.

    A count of the golden set, such as `n_relevant`, is the same for a run that measured nothing;
    metrics without a direction do not count. Plugin metrics do: nobody may have declared theirs.

    Args:
        rows: `comparisons` of one pair.
    """
    says = pl.col("n_better").is_not_null() | pl.col("metric").str.starts_with(PREFIX)
    found = rows.filter(pl.col("blocked_reason").is_null(), pl.col("n_pairs") > 0, says)
    return found.height > 0


def direction(metric: Declaration) -> bool | None:
    """Whether higher is better; None for a metric without a direction."""
    return {"higher": True, "lower": False}.get(metric.better)


def is_unequally_judged(
    tested: PairedComparison, baseline: float | None, candidate: float | None
) -> bool:
    """Whether a regression may come from judgments that one run lacks.

    Args:
        tested: The comparison, with its verdict.
        baseline: Judged share of the documents the metric read; None: it reads no judgments.
        candidate: The same of the candidate.
    """
    if tested.verdict != "regressed" or baseline is None or candidate is None:
        return False
    return abs(candidate - baseline) > UNEQUAL_JUDGING


def _without_family(cell: Cell) -> Cell:
    """The cell as it stands when no family takes it in."""
    tested = replace(cell.tested, p_adjusted=None, verdict="insufficient_items", negligible=False)
    if cell.blocked is not None or not cell.is_tested:
        tested = replace(
            tested,
            p_value=None,
            p_method=None,
            p_min_attainable=None,
            verdict="no_test" if cell.blocked is None else None,
            ci_p_disagree=False,
        )
    return replace(cell, tested=tested)
