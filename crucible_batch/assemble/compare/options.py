"""How two runs are to be compared."""

from __future__ import annotations

from dataclasses import dataclass

from crucible_batch.contracts.vocabulary import ADJUST_METHODS, UNITS
from crucible_batch.errors import UsageError, suggestion
from crucible_batch.settings import Settings


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Choices of one comparison.

    Attributes:
        unit: What is resampled: auto, item or cluster.
        adjust: How the p's of headline metrics are adjusted; the setting when None.
        judge: Whose verdicts count on both sides.
        allow_golden_change: Pair the items of identical content of two golden-set versions.
    """

    unit: str = "auto"
    adjust: str | None = None
    judge: str | None = None
    allow_golden_change: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("unit", self.unit, ("auto", *UNITS)),
            ("adjust", self.adjust or "holm", ADJUST_METHODS),
        ):
            if value not in known:
                raise UsageError(f"{name} is {value!r}", fix=suggestion(value, known))

    def adjusting(self, settings: Settings) -> str:
        """How the p's of headline metrics are adjusted."""
        return self.adjust or settings.statistics.adjust

    def is_default(self, settings: Settings) -> bool:
        """Whether this is the comparison that stands under the names of its two runs."""
        adjust = settings.statistics.adjust
        return self in (CompareOptions(), CompareOptions(adjust=adjust))
