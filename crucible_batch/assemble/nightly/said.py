"""What a night says in one line, as it goes between tasks and into its row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from crucible_batch.watch.night import ALL

HEADS = {
    "ok": "charts: ok",
    "slide": "SLIDE",
    "drop": "DROP",
    "judge_changed": "JUDGE CHANGED",
    "not_comparable": "charts: not comparable",
    "warming_up": "charts: warming up",
}


class Said(NamedTuple):
    """What the charts and the anchors say of a night.

    Attributes:
        verdict: Of `nightly`; None: nothing is charted.
        since: Since when.
        metric: Metric concerned.
        slice_by: Facet of the slice concerned.
        slice: Slice concerned.
        why: What makes it so, in words; not stored.
        more: Further lines: the items that moved most, warnings; not stored.
    """

    verdict: str | None = None
    since: datetime | None = None
    metric: str | None = None
    slice_by: str | None = None
    slice: str | None = None
    why: str = ""
    more: tuple[str, ...] = ()

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Said:
        """What the row of a night that is done holds of it."""
        return cls(*(row[name] for name in cls._fields[:5]))

    @property
    def line(self) -> str | None:
        """The night in one line; None: silence."""
        if self.verdict is None:
            return None
        parts = [
            self._where(),
            f"since {self.since:%Y-%m-%d}" if self.since else "",
            self.why,
        ]
        told = ", ".join(part for part in parts if part)
        return f"{HEADS[self.verdict]}: {told}" if told else HEADS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """The night's word as plain values for JSON."""
        return {
            **self._asdict(),
            "since": None if self.since is None else self.since.isoformat(),
            "line": self.line,
        }

    def _where(self) -> str:
        if self.metric is None or self.slice_by in {None, ALL}:
            return self.metric or ""
        return f"{self.metric} in {self.slice_by} = {self.slice}"


NOTHING_SAID = Said()
