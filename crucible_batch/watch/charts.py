"""Control charts of one metric over nights: a slow slide, a single-night drop, and since when.

What is charted is the mean paired delta to the pinned baseline run. The first comparable nights
after a pin say what a usual night is (the window, never a rolling one); the charts run on the
nights after it. The EWMA chart has time-varying limits (Lucas & Saccucci 1990, eq. 2); its widths
and those of the single-night chart (Shewhart 1931) are wider than the textbook's, because centre
and sigma are estimated from few nights: with textbook widths (2.86 and 3) a 20-night window gives
24 % false alarms in 30 unchanged nights, with these both charts together give 4 to 5 %.

All functions are pure. sigma is the spread of nights, not of items.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from crucible_batch.errors import UsageError
from crucible_batch.exact import exact_sum

WEIGHT = 0.2
"""Weight of the newest night in the moving average."""

NOISE = 1e-12
"""Differences below this share of the numbers are rounding, as between two runs."""

LAG1_WARNING = 0.3
"""Nights that resemble the night before by more than this make false alarms more frequent."""


class Widths(NamedTuple):
    """Half-widths of the limits in sigmas: of the moving average, and of a single night."""

    slide: float
    drop: float


WIDTHS: Mapping[int, Widths] = {
    8: Widths(5.23, 4.73),
    10: Widths(4.73, 4.28),
    14: Widths(4.24, 3.95),
    20: Widths(3.89, 3.68),
    30: Widths(3.58, 3.49),
    50: Widths(3.34, 3.34),
}
"""By the nights of the window: fewer nights estimate centre and sigma worse."""


@dataclass(frozen=True, kw_only=True)
class Center:
    """What the nights of a full window say.

    Attributes:
        mean: Their mean, exactly rounded.
        sigma: Their standard deviation (ddof 1); 0 when they differ by rounding only.
        lag1: Lag-1 autocorrelation (Box & Jenkins 1976, eq. 2.1.11); None when sigma is 0.
    """

    mean: float
    sigma: float
    lag1: float | None


@dataclass(frozen=True, kw_only=True)
class Point:
    """One night on the charts; null is "not known yet".

    Attributes:
        delta: What was measured; None: the night is not comparable.
        ewma: Exponentially weighted mean of the nights after the window.
        slide_limit: Where a slide begins, tonight.
        drop_limit: Where a drop begins.
        center: The window, once it is full.
        n_baseline_nights: Nights in the window so far.
        verdict: ok, slide, drop, warming_up or not_comparable.
        since: Place of the night since when, of a slide or drop; an estimate of a slide.
        excess: Sigmas beyond the limit that was crossed; infinite when sigma is 0.
    """

    delta: float | None
    n_baseline_nights: int
    verdict: str
    ewma: float | None = None
    slide_limit: float | None = None
    drop_limit: float | None = None
    center: Center | None = None
    since: int | None = None
    excess: float = 0.0

    @property
    def is_alarm(self) -> bool:
        """Whether the metric got worse."""
        return self.verdict in {"slide", "drop"}


def chart(
    deltas: Sequence[float | None],
    *,
    higher_is_better: bool,
    baseline_nights: int = 20,
    widths: Widths | None = None,
) -> list[Point]:
    """Chart the nights since a pin, oldest first.

    A night without a comparable delta is in no window and moves nothing. An alarm stays as long as
    the limit is crossed; the nights of one alarm share the date on which it began.

    Args:
        deltas: Mean paired delta of every night; None: not comparable.
        higher_is_better: Direction of the metric: alarms are raised towards worse only.
        baseline_nights: Nights of the window: 8, 10, 14, 20, 30 or 50.
        widths: Other limits than those of the window's size.

    Returns:
        One point per night.

    Raises:
        UsageError: There are no limits for a window of this size.
    """
    limits = widths or widths_of(baseline_nights)
    measured = [(place, delta) for place, delta in enumerate(deltas) if delta is not None]
    window = measured[:baseline_nights]
    center = center_of([delta for _, delta in window]) if len(window) == baseline_nights else None
    points, n_seen = [], 0
    for delta in deltas:
        n_seen += delta is not None and n_seen < baseline_nights
        points.append(
            Point(
                delta=delta,
                n_baseline_nights=n_seen,
                verdict="not_comparable" if delta is None else "warming_up",
                center=center if n_seen == baseline_nights else None,
            )
        )
    if center is not None:
        sign = 1 if higher_is_better else -1
        for place, charted in _charted(measured[baseline_nights:], center, limits, sign):
            points[place] = replace(charted, n_baseline_nights=baseline_nights)
    return points


def widths_of(baseline_nights: int) -> Widths:
    """The widths of the limits that fit a window.

    Raises:
        UsageError: There are none for a window of this size.
    """
    if baseline_nights not in WIDTHS:
        raise UsageError(
            f"The charts have no limits for a window of {baseline_nights} nights",
            fix=f"set charts.baseline_nights to one of {', '.join(map(str, WIDTHS))}.",
        )
    return WIDTHS[baseline_nights]


def center_of(deltas: Sequence[float]) -> Center:
    """Mean, standard deviation and lag-1 autocorrelation of at least two nights."""
    mean = exact_sum(deltas) / len(deltas)
    parts = [_deviation(delta, mean) for delta in deltas]
    squares = exact_sum(part * part for part in parts)
    if squares == 0.0:
        return Center(mean=mean, sigma=0.0, lag1=None)
    neighbours = exact_sum(one * other for one, other in pairwise(parts))
    return Center(
        mean=mean,
        sigma=math.sqrt(squares / (len(deltas) - 1)),
        lag1=neighbours / squares,
    )


def _charted(
    measured: Sequence[tuple[int, float]], center: Center, widths: Widths, sign: int
) -> Iterator[tuple[int, Point]]:
    """The nights after the window, in order.

    A slide's beginning is estimated by Nishina (1992): the first night after the moving average
    was last on the good side of the centre, as of the first night of the alarm. It needs no model
    of the change; where a step is known to be one, its maximum-likelihood estimator is closer.
    """
    average, share, since = 0.0, 1.0, None
    turned = measured[0][0] if measured else 0
    for number, (place, delta) in enumerate(measured):
        deviation = _deviation(delta, center.mean)
        average = WEIGHT * deviation + (1 - WEIGHT) * average
        share *= (1 - WEIGHT) ** 2
        spread = center.sigma * math.sqrt(WEIGHT / (2 - WEIGHT) * (1 - share))
        dropped = -sign * deviation - widths.drop * center.sigma
        # Where all nights of the window are alike an average has no scale: each night speaks.
        slid = -sign * average - widths.slide * spread if center.sigma else 0.0
        verdict = "drop" if dropped > 0 else "slide" if slid > 0 else "ok"
        if verdict == "ok":
            since = None
        elif since is None:
            since = place if verdict == "drop" else turned
        if sign * average >= 0 and number + 1 < len(measured):
            turned = measured[number + 1][0]
        yield (
            place,
            Point(
                delta=delta,
                n_baseline_nights=0,
                verdict=verdict,
                ewma=center.mean + average,
                slide_limit=center.mean - sign * widths.slide * spread if center.sigma else None,
                drop_limit=center.mean - sign * widths.drop * center.sigma,
                center=center,
                since=since,
                excess=_in_sigmas(dropped if dropped > 0 else max(slid, 0.0), center.sigma),
            ),
        )


def _deviation(delta: float, mean: float) -> float:
    """Difference to the mean; 0 where they differ by rounding only."""
    difference = delta - mean
    return 0.0 if abs(difference) <= NOISE * max(1.0, abs(delta), abs(mean)) else difference


def _in_sigmas(by: float, sigma: float) -> float:
    if by == 0.0:
        return 0.0
    return by / sigma if sigma else math.inf
