"""The report as plain values: one model that HTML, Markdown and JSON all print.

Every number is a `Figure`, with the text it is printed as, so that the three forms cannot disagree.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from crucible_batch.report.decisions import AnswerPath
from crucible_batch.report.figures import Badge, Fact, Figure, GateSummary, Pair, Point, Tie
from crucible_batch.report.history import History
from crucible_batch.report.moved_items import MovedItems
from crucible_batch.report.watched import Watched


@dataclass(frozen=True)
class RunHeader:
    """Who a run is and how far it can be trusted."""

    run_id: str
    label: str | None
    status: Badge
    status_reason: str | None
    counted: str
    golden_set: str


@dataclass(frozen=True)
class Tile:
    """One of the seven KPIs.

    Attributes:
        percent: Mean of the results that carry it, as a rounded percentage.
        fill: Length of the meter in percent, None when there is no meter.
        n_scored: Results behind the number.
        n_items: Items behind the number.
        interval: 95 % interval of the mean.
        label: How far to trust the interval; empty when it is ok.
        baseline: The baseline's percentage, None without a baseline.
        baseline_over: Results and items behind it, where they are not as many as the run's.
        paired: The comparison's own two numbers, where its items are not those of the tile.
        reason: Why it is null; empty when it is measured.
        notes: What to know when reading it.
    """

    metric: str
    title: str
    percent: Figure
    fill: float | None
    n_scored: int
    n_items: int
    interval: str
    label: str
    baseline: Figure | None
    baseline_over: str
    paired: str
    reason: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class BadgeNumber:
    """An abstention number of both runs, with what each is of; the baseline's if it differs."""

    title: str
    figure: Figure
    baseline: Figure | None
    note: str
    baseline_note: str


@dataclass(frozen=True)
class Curve:
    """Risk over coverage of one run."""

    run_id: str
    is_baseline: bool
    n_pairs: int
    n_results: int
    aurc: Figure
    points: tuple[Point, ...]
    ties: tuple[Tie, ...]


@dataclass(frozen=True)
class CurveStep:
    """The curves at one tenth of coverage; a figure per curve."""

    coverage: str
    risks: tuple[Figure, ...]


@dataclass(frozen=True)
class Bin:
    """A reliability bin."""

    n: int
    confidence: Figure
    accuracy: Figure


@dataclass(frozen=True)
class BinRow:
    """The same bin of every run; None where a run has no results in it."""

    bin: int
    sides: tuple[Bin | None, ...]


@dataclass(frozen=True)
class Compared:
    """A row of the comparison table."""

    metric: str
    title: str
    baseline: Figure
    candidate: Figure
    delta: Figure
    ci_low: float | None
    ci_high: float | None
    interval: str
    method: str
    p_adjusted: Figure
    p_note: str
    n_pairs: int
    n_units: int
    unit: str
    counts: str
    verdict: Badge
    remarks: tuple[str, ...]
    is_dim: bool
    line: str


@dataclass(frozen=True)
class Quiet:
    """A metric without a significant change, or one that is not tested; `basis` says which."""

    metric: str
    title: str
    delta: Figure
    interval: str
    basis: str


@dataclass(frozen=True)
class SliceCell:
    """A headline metric on a slice."""

    metric: str
    value: Figure
    n_items: int
    heat: int
    delta: Figure | None
    verdict: Badge | None


@dataclass(frozen=True)
class SliceRow:
    """A slice with one cell per column of its table."""

    slice_by: str
    slice: str
    cells: tuple[SliceCell, ...]


@dataclass(frozen=True)
class SliceTable:
    """Slices by headline metrics."""

    titles: tuple[str, ...]
    rows: tuple[SliceRow, ...]
    n_left_out: int


@dataclass(frozen=True)
class ErrorClass:
    """How often a class of the error taxonomy occurs in each run."""

    name: str
    counts: tuple[Figure, ...]
    shares: tuple[Figure, ...]


@dataclass(frozen=True)
class Flow:
    """Results that went from one class to another between baseline and candidate."""

    before: str
    after: str
    n: int


@dataclass(frozen=True)
class ErrorClasses:
    """Error classes of the runs, and what became of what."""

    run_ids: tuple[str, ...]
    rows: tuple[ErrorClass, ...]
    flows: tuple[Flow, ...]
    n_unchanged: int | None


@dataclass(frozen=True)
class HeadToHead:
    """Every item, baseline against candidate, on one metric."""

    metric: str
    title: str
    counts: str
    low: float
    high: float
    higher_is_better: bool | None
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Coverage:
    """What could not be measured of a headline metric."""

    metric: str
    title: str
    n_expected: int
    n_scored: int
    n_not_applicable: int
    n_missing: int
    n_errored: int
    coverage: Figure
    mean: Figure
    worst: Figure
    best: Figure
    why: str


@dataclass(frozen=True)
class Unmeasured:
    """Other metrics that share the same gap."""

    titles: str
    n_scored: int
    n_not_applicable: int
    n_missing: int
    why: str


@dataclass(frozen=True)
class Report:
    """All that a report says. A section that has nothing to say is None or empty."""

    title: str
    run: RunHeader
    baseline: RunHeader | None
    as_of: str | None
    commit: int | None
    verdict: str
    gate: GateSummary | None
    tiles: tuple[Tile, ...]
    badges: tuple[BadgeNumber, ...]
    curves: tuple[Curve, ...]
    curve_steps: tuple[CurveStep, ...]
    bins: tuple[BinRow, ...]
    compared: tuple[Compared, ...]
    compared_more: tuple[Compared, ...]
    compared_quiet: tuple[Quiet, ...]
    head_to_head: HeadToHead | None
    slices: SliceTable | None
    errors: ErrorClasses | None
    moved: MovedItems | None
    history: History | None
    corpus: tuple[Fact, ...]
    watched: Watched | None
    coverage: tuple[Coverage, ...]
    unmeasured: tuple[Unmeasured, ...]
    answer_path: AnswerPath | None
    provenance: tuple[Fact, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values: dicts, lists, text, numbers, null."""
        return dict(plain_values(asdict(self)))


def plain_values(value: Any) -> Any:
    """Named tuples as objects, tuples as lists."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: plain_values(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(inner) for inner in value]
    return value
