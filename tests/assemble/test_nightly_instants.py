from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.assemble.nightly import parse_as_of, parse_nights
from crucible_batch.errors import UsageError


@given(st.dates(max_value=datetime(9999, 12, 30, tzinfo=UTC).date()))
def test_a_date_means_midnight_of_the_next_day(day):
    assert parse_as_of(day.isoformat()) == datetime(
        day.year, day.month, day.day, tzinfo=UTC
    ) + timedelta(days=1)


@pytest.mark.parametrize(
    "text", ["2026-05-01T03:00:00Z", "2026-05-01T05:00:00+02:00", "2026-04-30 22:00:00-05:00"]
)
def test_an_instant_is_the_same_in_every_zone(text):
    assert parse_as_of(text) == datetime(2026, 5, 1, 3, tzinfo=UTC)
    assert parse_as_of(text).utcoffset() == timedelta(0)


def test_an_instant_without_a_zone_is_refused_with_the_text_to_write():
    with pytest.raises(UsageError, match="no time zone") as caught:
        parse_as_of("2026-05-01T03:00:00")
    assert caught.value.fix == "write it as 2026-05-01T03:00:00Z."


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-13-01", "2026-05-01T25:00Z", "9999-12-31"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(UsageError) as caught:
        parse_as_of(text)
    assert caught.value.fix


def test_a_range_of_dates_is_every_night_of_it():
    assert parse_nights("2026-02-27..2026-03-01") == tuple(
        parse_as_of(day) for day in ("2026-02-27", "2026-02-28", "2026-03-01")
    )
    assert parse_nights("2026-02-27..2026-02-27") == (parse_as_of("2026-02-27"),)
    assert parse_nights("2026-05-01T03:00:00Z") == (parse_as_of("2026-05-01T03:00:00Z"),)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01..2026-02-27",
        "2026-02-27..",
        "..2026-02-27",
        "2026-02-27T00:00:00Z..2026-02-28",
        "1926-02-27..2026-02-28",
    ],
)
def test_a_range_that_is_none_is_refused(text):
    with pytest.raises(UsageError) as caught:
        parse_nights(text)
    assert text in str(caught.value)
