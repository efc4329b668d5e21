"""The smallest values of the report: a number with its text, a badge, a fact, a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Figure(NamedTuple):
    """A number and how it is printed; `value` None is printed as an em dash."""

    value: float | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Value and text by name."""
        return self._asdict()


@dataclass(frozen=True)
class Badge:
    """Glyph, word and tone (`good`, `bad`, `warn`, `muted`): never colour alone."""

    glyph: str
    word: str
    tone: str


@dataclass(frozen=True)
class GateRule:
    """A rule of a gate: how it came out, whether it only warns, and why."""

    rule_id: str
    outcome: Badge
    severity: str
    reason: str


@dataclass(frozen=True)
class GateSummary:
    """A judged gate: its one line, every rule in the order of the file, and what else to know."""

    line: str
    outcome: Badge
    rules: tuple[GateRule, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fact:
    """A label, what is true, and a remark."""

    label: str
    text: str
    note: str = ""


class Point(NamedTuple):
    """A point of the risk-coverage curve: one answered result."""

    coverage: float
    risk: float
    confidence: float
    item_id: str
    sample_index: int


class Tie(NamedTuple):
    """Results of one confidence: points first to last, positions from 1."""

    first: int
    last: int
    confidence: float


class Pair(NamedTuple):
    """An item of the head-to-head chart."""

    item_id: str
    baseline: float
    candidate: float


class InputFile(NamedTuple):
    """A file that rows of the report came from: its name, what was loaded, its SHA-256."""

    name: str
    kind: str
    sha256: str
