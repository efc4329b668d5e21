"""How often the charts call nothing a slide or a drop, and how soon they find a slow slide."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from crucible_batch.watch.charts import WIDTHS, Point, Widths, chart

SERIES, NIGHTS = 3_000, 30


def series(seed: int, window: int, slope: float = 0.0) -> NDArray[np.float64]:
    """Independent normal nights, shape (series, window + nights); worse by slope per night."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(SERIES, window + NIGHTS))
    values[:, window:] -= slope * np.arange(1, NIGHTS + 1)
    return values


def charted(values: NDArray[np.float64], window: int) -> list[list[Point]]:
    return [
        chart(row, higher_is_better=True, baseline_nights=window)[window:]
        for row in values.tolist()
    ]


@pytest.mark.slow  # 16 s for all six
@pytest.mark.parametrize("window", sorted(WIDTHS))
def test_thirty_unchanged_nights_rarely_raise_an_alarm(window: int) -> None:
    points = charted(series(1, window), window)
    share = sum(any(point.is_alarm for point in nights) for nights in points) / SERIES
    print(f"\nwindow {window}: {share:.2%} false alarms in {NIGHTS} nights")  # noqa: T201
    assert 0.02 <= share <= 0.06


@pytest.mark.slow  # 3 s
def test_a_tenth_of_a_sigma_per_night_is_found_within_thirty_nights() -> None:
    points = charted(series(2, 20, slope=0.1), 20)
    share = sum(any(point.is_alarm for point in nights) for nights in points) / SERIES
    print(f"\n0.1 sigma per night: {share:.2%} found in {NIGHTS} nights")  # noqa: T201
    assert share >= 0.95


@pytest.mark.slow  # 3 s
def test_the_date_of_a_slide_is_near_its_beginning() -> None:
    quiet = 5  # nights after the window before it begins
    values = series(3, 20)
    values[:, 20 + quiet :] -= 0.1 * np.arange(1, NIGHTS - quiet + 1)
    errors = []
    for nights in charted(values, 20):
        first = next((point for point in nights if point.is_alarm), None)
        if first is not None and first.verdict == "slide":
            errors.append(first.since - (20 + quiet))
    mean, off_by = np.mean(errors), np.mean(np.abs(errors))
    print(f"\nfirst night of the slide: {mean:+.1f}, off by {off_by:.1f} nights")  # noqa: T201
    assert len(errors) > 0.7 * SERIES
    assert abs(mean) <= 3
    assert off_by <= 5


def test_textbook_limits_would_raise_many_more_alarms() -> None:
    values = series(1, 20)[:400].tolist()
    alarms = {
        widths: sum(
            any(p.is_alarm for p in chart(row, higher_is_better=True, widths=widths)[20:])
            for row in values
        )
        for widths in (Widths(2.86, 3.0), WIDTHS[20])
    }
    assert alarms[Widths(2.86, 3.0)] >= 3 * alarms[WIDTHS[20]]
