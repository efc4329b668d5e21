"""Many runs on one page: a model of plain values that HTML, Markdown and JSON all print."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from crucible_batch.report.figures import Badge, Fact, Figure
from crucible_batch.report.model import plain_values


@dataclass(frozen=True)
class Cell:
    """One metric of one run.

    Attributes:
        metric: Its name.
        value: The mean over all results of the run that carry it.
        low: Lower end of the 95 % interval of the mean; None without one.
        high: Its upper end.
        interval: Both as text, empty without one.
        over: Results and items behind the value; why it is null when there are none.
        label: How far to trust the interval; empty when it is ok.
        delta: Run minus baseline over the items both carry; None without a baseline.
        delta_interval: 95 % interval of the delta as text, empty without one.
        verdict: What the comparison with the baseline says; None without a baseline.
    """

    metric: str
    value: Figure
    low: float | None
    high: float | None
    interval: str
    over: str
    label: str
    delta: Figure | None
    delta_interval: str
    verdict: Badge | None


@dataclass(frozen=True)
class Entry:
    """One run.

    Attributes:
        rank: Place in the order, equal values sharing one; None for a run that is not ranked.
        outside: Why it is not ranked; empty for a ranked run.
        run_id: Its id.
        label: What people call it, where that says more than the id.
        is_baseline: Whether the others are compared with it.
        status: How it ended.
        status_reason: Why it ended so.
        counted: How many of the expected results counted.
        golden_set: Name of the golden set.
        against: Verdicts of the comparison with the baseline, counted; empty without one.
        cells: A cell per metric of the page.
        rests_on: Hashes and choices behind its numbers, labels as in `League.grounds`.
    """

    rank: int | None
    outside: str
    run_id: str
    label: str | None
    is_baseline: bool
    status: Badge
    status_reason: str | None
    counted: str
    golden_set: str
    against: str
    cells: tuple[Cell, ...]
    rests_on: tuple[str, ...]


@dataclass(frozen=True)
class League:
    """All that a league page says, entries in the order they are printed.

    Attributes:
        title: Heading of the page.
        said: What came out, in one sentence.
        baseline: The run that the others are compared with.
        key: The metric that decides the order.
        key_title: Its name for people.
        order: How the runs are ordered and which share a ranking.
        metrics: Titles of the metrics, in the order of the cells.
        entries: Ranked runs, best first, then the others.
        notes: What to know when reading ranks and verdicts.
        grounds: Labels of what the numbers of an entry rest on.
        provenance: What all numbers of the page depend on.
    """

    title: str
    said: str
    baseline: str | None
    key: str
    key_title: str
    order: str
    metrics: tuple[str, ...]
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]
    grounds: tuple[str, ...]
    provenance: tuple[Fact, ...]

    def to_dict(self) -> dict[str, Any]:
        """The page as plain JSON values: dicts, lists, text, numbers, null."""
        return dict(plain_values(asdict(self)))
