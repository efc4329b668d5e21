"""Geometry of the league chart: a dot and its interval per run, in the order of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from crucible_batch.report import words
from crucible_batch.report.league import Entry, League
from crucible_batch.report.svg import STEPS, Plot, Tick, Whisker

ROW = 20
"""Height of a run in pixels."""

LONGEST_NAME = 26
"""Characters of a run id beside its dot; the table has all of them."""


@dataclass(frozen=True)
class LeagueChart:
    """Runs on one axis; `baseline` is the place of the baseline's value."""

    plot: Plot
    baseline: float | None
    dots: tuple[Whisker, ...]


def league_chart(league: League) -> LeagueChart | None:
    """Lay out the deciding metric of every run; None when no run carries it."""
    place = next(k for k, cell in enumerate(league.entries[0].cells) if cell.metric == league.key)
    cells = [entry.cells[place] for entry in league.entries]
    ends = [
        end for cell in cells for end in (cell.value.value, cell.low, cell.high) if end is not None
    ]
    if not ends:
        return None
    step = next((step for step in STEPS if step >= (max(ends) - min(ends)) / 6), STEPS[-1])
    first = math.floor(min(ends) / step + 1e-9)
    last = max(first + 1, math.ceil(max(ends) / step - 1e-9))
    bottom = 10 + ROW * len(cells)
    digits = 2 if step >= 0.01 else 3
    plot = Plot(740, bottom + 52, 200, 8, 560, bottom, (first * step, last * step), (0.0, 1.0))
    ticks = tuple(
        Tick(plot.x(k * step), words.decimal(k * step, digits)) for k in range(first, last + 1)
    )
    dots = tuple(_dot(plot, one, place, k) for k, one in enumerate(league.entries))
    base = next(
        (dot.at for dot, one in zip(dots, league.entries, strict=True) if one.is_baseline), None
    )
    return LeagueChart(Plot(**{**vars(plot), "x_ticks": ticks}), base, dots)


def _dot(plot: Plot, entry: Entry, place: int, k: int) -> Whisker:
    cell = entry.cells[place]
    low, high, at = (
        None if value is None else plot.x(value)
        for value in (cell.low, cell.high, cell.value.value)
    )
    name = words.one_line(entry.run_id)
    mark = cell.verdict
    is_ranked = entry.rank is not None
    return Whisker(
        title=name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…",
        y=20.0 + ROW * k,
        low=low,
        high=high,
        at=at,
        text=f"{cell.value.text} {cell.interval}".rstrip(),
        tone=(mark.tone if mark else "run") if is_ranked else "muted",
        glyph="╌" if entry.is_baseline else mark.glyph if mark else "",
        is_dim=not is_ranked,
    )
