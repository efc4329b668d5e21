"""Control charts: the oracle of the textbook numbers, windows, directions, and dates."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.errors import UsageError
from crucible_batch.watch.charts import WEIGHT, WIDTHS, Point, Widths, center_of, chart, widths_of

ORACLE = [0.801, 0.795, 0.793, 0.790, 0.788, 0.786, 0.783, 0.781]
NIGHTS = st.integers(-1_000_000, 1_000_000).map(lambda n: n / 1_000_000)


def still(mean: float, sigma: float, n: int = 20) -> list[float]:
    """A window with this mean and standard deviation (ddof 1): half of it above, half below."""
    half = sigma * math.sqrt((n - 1) / n)
    return [mean + half * (-1) ** place for place in range(n)]


def after(deltas: list[float | None], **how) -> list[Point]:
    """The points after a window around .80 with sigma .01."""
    how = {"higher_is_better": True, **how}
    return chart([*still(0.80, 0.01), *deltas], **how)[20:]


def textbook(window: list[float], nights: list[float], widths: Widths) -> list[str]:
    """The two charts as a textbook writes them, higher is better."""
    mean, sigma = statistics.fmean(window), statistics.stdev(window)
    average, said = mean, []
    for number, value in enumerate(nights, start=1):
        average = WEIGHT * value + (1 - WEIGHT) * average
        spread = sigma * math.sqrt(WEIGHT / (2 - WEIGHT) * (1 - (1 - WEIGHT) ** (2 * number)))
        if value < mean - widths.drop * sigma:
            said.append("drop")
        else:
            said.append("slide" if average < mean - widths.slide * spread else "ok")
    return said


def test_the_oracle_alarms_first_at_night_eight():
    points = after(ORACLE, widths=Widths(2.86, 3.0))
    assert [point.verdict for point in points] == ["ok"] * 7 + ["slide"]
    assert points[-1].ewma == pytest.approx(0.78896, abs=5e-6)
    assert points[-1].slide_limit == pytest.approx(0.790602, abs=5e-7)
    assert points[-1].center.sigma == pytest.approx(0.01, rel=1e-12)


def test_the_slide_of_the_oracle_is_dated_to_the_night_after_its_last_good_one():
    # The average is above .80 after the first night only.
    assert after(ORACLE, widths=Widths(2.86, 3.0))[-1].since == 21


@settings(max_examples=60)
@given(
    st.lists(NIGHTS, min_size=20, max_size=20, unique=True),
    st.lists(NIGHTS, min_size=1, max_size=15),
)
def test_the_charts_say_what_a_textbook_loop_says(window, nights):
    points = chart([*window, *nights], higher_is_better=True)[20:]
    assert [point.verdict for point in points] == textbook(window, nights, WIDTHS[20])


@settings(max_examples=40)
@given(st.lists(NIGHTS | st.none(), min_size=22, max_size=40))
def test_a_metric_of_the_other_direction_is_the_mirror(deltas):
    mirrored = [None if delta is None else -delta for delta in deltas]
    up = chart(deltas, higher_is_better=True, baseline_nights=8)
    down = chart(mirrored, higher_is_better=False, baseline_nights=8)
    assert [(p.verdict, p.since, p.excess) for p in up] == [
        (p.verdict, p.since, p.excess) for p in down
    ]


@settings(max_examples=40)
@given(st.lists(NIGHTS | st.none(), min_size=1, max_size=40), st.data())
def test_later_nights_never_change_what_a_night_said(deltas, data):
    n = data.draw(st.integers(1, len(deltas)))
    whole = chart(deltas, higher_is_better=True, baseline_nights=10)
    part = chart(deltas[:n], higher_is_better=True, baseline_nights=10)
    assert whole[: n - 1] == part[: n - 1]
    assert whole[n - 1] == part[n - 1]


@settings(max_examples=40)
@given(st.lists(NIGHTS, min_size=22, max_size=30), st.data())
def test_a_night_that_is_not_comparable_moves_nothing(deltas, data):
    place = data.draw(st.integers(0, len(deltas) - 1))
    with_gap = [*deltas[:place], None, *deltas[place:]]
    points = chart(with_gap, higher_is_better=True, baseline_nights=14)
    assert points.pop(place).verdict == "not_comparable"
    without = chart(deltas, higher_is_better=True, baseline_nights=14)
    assert [(p.verdict, p.ewma, p.n_baseline_nights) for p in points] == [
        (p.verdict, p.ewma, p.n_baseline_nights) for p in without
    ]


@pytest.mark.parametrize("n", sorted(WIDTHS))
def test_the_window_warms_up_until_it_is_full(n):
    points = chart([*still(0.0, 1.0, n), 0.0], higher_is_better=True, baseline_nights=n)
    assert [point.n_baseline_nights for point in points] == [*range(1, n + 1), n]
    assert [point.verdict for point in points] == ["warming_up"] * n + ["ok"]
    assert [point.center is not None for point in points] == [False] * (n - 1) + [True, True]


def test_a_window_of_another_size_has_no_limits():
    with pytest.raises(UsageError, match="window of 12 nights") as caught:
        widths_of(12)
    assert "8, 10, 14, 20, 30, 50" in caught.value.fix


def test_a_single_bad_night_is_a_drop_and_dates_itself():
    *_, last = after([0.80, 0.801, 0.80 - 3.7 * 0.01])
    assert (last.verdict, last.since) == ("drop", 22)
    assert last.excess == pytest.approx(0.02, abs=1e-9)


def test_a_night_at_the_limit_is_no_drop():
    limit = after([0.80])[0].drop_limit
    assert after([math.nextafter(limit, 1)])[0].verdict == "ok"
    assert after([limit - 1e-9])[0].verdict == "drop"


def test_getting_better_raises_no_alarm():
    assert {point.verdict for point in after([0.9] * 10)} == {"ok"}


def test_the_nights_of_an_alarm_share_their_date_and_a_new_alarm_has_a_new_one():
    points = after([0.795, 0.70, 0.70, 0.95, 0.95, 0.95, 0.70])
    assert [point.verdict for point in points[:3]] == ["ok", "drop", "drop"]
    assert [point.since for point in points] == [None, 21, 21, None, None, None, 26]


def test_a_window_of_equal_nights_makes_any_worse_night_a_drop_and_none_a_slide():
    points = chart([0.1] * 20 + [0.1, 0.3, 0.099, 0.1], higher_is_better=True)[20:]
    assert [point.verdict for point in points] == ["ok", "ok", "drop", "ok"]
    assert points[2].excess == math.inf
    assert {point.slide_limit for point in points} == {None}


@pytest.mark.parametrize("value", [0.1, 1 / 3, -0.7, 1e15])
@pytest.mark.parametrize("n", sorted(WIDTHS))
def test_rounding_is_no_spread(value, n):
    center = center_of([value] * n)
    assert (center.sigma, center.lag1) == (0.0, None)
    points = chart([value] * (n + 3), higher_is_better=True, baseline_nights=n)
    assert points[-1].verdict == "ok"


@settings(max_examples=40)
@given(st.lists(NIGHTS, min_size=8, max_size=50, unique=True))
def test_the_center_is_that_of_numpy(window):
    center = center_of(window)
    parts = np.array(window) - np.mean(window)
    assert center.mean == pytest.approx(np.mean(window), abs=1e-15)
    assert center.sigma == pytest.approx(np.std(window, ddof=1), rel=1e-9, abs=1e-11)
    if center.sigma > 1e-6:
        expected = np.sum(parts[:-1] * parts[1:]) / np.sum(parts**2)
        assert center.lag1 == pytest.approx(expected, abs=1e-9)


def test_nights_that_resemble_the_one_before_have_a_high_autocorrelation():
    assert center_of([float(n) for n in range(20)]).lag1 == pytest.approx(0.85)
    assert center_of([(-1.0) ** n for n in range(20)]).lag1 == pytest.approx(-0.95)


def test_no_night_at_all_is_no_point():
    assert chart([], higher_is_better=True) == []
