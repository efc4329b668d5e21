"""How a run is to be scored, and what that makes of an evaluation's identity."""

from __future__ import annotations

from dataclasses import dataclass

from crucible_batch.assemble.evaluate.ruler import Grading
from crucible_batch.contracts.vocabulary import GRANULARITIES, QREL_SOURCES
from crucible_batch.errors import UsageError, suggestion
from crucible_batch.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Options:
    """Choices of one scoring; None takes the setting or what the run pins.

    Attributes:
        qrel_source: Grades of people only, of llm judges only, or all of them resolved.
        judge: Whose verdicts count, where several judged and none is pinned.
        relevant_at: Smallest grade that counts as relevant.
        granularity: Whether documents or chunks are ranked and judged.
    """

    qrel_source: str = "resolved"
    judge: str | None = None
    relevant_at: int | None = None
    granularity: str = "document"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("qrel_source", self.qrel_source, QREL_SOURCES),
            ("granularity", self.granularity, GRANULARITIES),
        ):
            if value not in known:
                raise UsageError(f"{name} is {value!r}", fix=suggestion(value, known))
        if self.relevant_at is not None and not 1 <= self.relevant_at <= 3:
            raise UsageError(
                f"relevant_at is {self.relevant_at}", fix="grades of the store go from 0 to 3."
            )

    def threshold(self, settings: Settings) -> int:
        """The grade from which a document counts as relevant."""
        return settings.scoring.relevant_at if self.relevant_at is None else self.relevant_at

    def grading(self, settings: Settings) -> Grading:
        """Which judgments count."""
        return Grading(
            qrel_source=self.qrel_source,
            granularity=self.granularity,
            llm_lanes=settings.scoring.llm_lanes,
        )

    def is_default(self, settings: Settings) -> bool:
        """Whether this is the scoring whose numbers stand under the run's own name."""
        return self == Options() or self == Options(relevant_at=settings.scoring.relevant_at)
