"""Rows of `comparisons`: tested metrics, their families, and the verdicts these lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from crucible_batch.metrics.metric import Declaration
from crucible_batch.stats.comparison import PairedComparison, with_adjusted_p
from crucible_batch.stats.multiplicity import adjust_pvalues

OVERALL = ("all", "all")
INSUFFICIENT = "insufficient items"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One metric in one slice.

    Attributes:
        slice_name: slice_by and slice.
        metric: Its declaration.
        tested: What the resampling says.
        blocked: Why it gets no verdict.
    """

    slice_name: tuple[str, str]
    metric: Declaration
    tested: PairedComparison
    blocked: str | None

    @property
    def family(self) -> str | None:
        """The family its p belongs to; None for a blocked cell or a slice with few items."""
        if self.blocked is not None:
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
        The cells in their order. A blocked cell has neither p nor verdict; a slice outside every
        family keeps its raw p and gets the verdict of too few items.
    """
    settled = [_blocked(cell) if cell.blocked is not None else cell for cell in cells]
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
    return [_alone(cell) if cell.tested.family is None else cell for cell in settled]


def direction(metric: Declaration) -> bool | None:
    """Whether higher is better; None for a metric without a direction."""
    return {"higher": True, "lower": False}.get(metric.better)


def _blocked(cell: Cell) -> Cell:
    """Delta and interval stay, p and verdict go."""
    tested = replace(
        cell.tested,
        p_value=None,
        p_method=None,
        p_min_attainable=None,
        p_adjusted=None,
        verdict=None,
        negligible=False,
        ci_p_disagree=False,
    )
    return replace(cell, tested=tested)


def _alone(cell: Cell) -> Cell:
    """A cell in no family has no adjusted p, and so no verdict but that of too few items."""
    tested = cell.tested
    verdict = tested.verdict if tested.verdict == "insufficient_items" else None
    if cell.blocked is None and verdict is None:
        verdict = "insufficient_items" if tested.n_units == 0 else tested.verdict
    return replace(cell, tested=replace(tested, p_adjusted=None, verdict=verdict, negligible=False))
