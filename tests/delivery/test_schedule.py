"""When a failed delivery is tried again, and when it is given up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.delivery.schedule import WAITS, next_try, read_retry_after

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_the_tries_spread_over_three_days():
    assert len(WAITS) == 10
    assert sum(WAITS, timedelta(0)) == timedelta(hours=75, minutes=35, seconds=5)


@given(st.text(max_size=5), st.text(max_size=5), st.integers(1, 9))
def test_a_wait_is_that_of_the_list_give_or_take_a_fifth(event, endpoint, n_tries):
    found = next_try(event, endpoint, n_tries, NOON, None)
    assert found is not None
    assert 0.8 * WAITS[n_tries] <= found - NOON <= 1.2 * WAITS[n_tries]
    assert next_try(event, endpoint, n_tries, NOON, None) == found


def test_waits_of_different_deliveries_are_spread_over_the_whole_range():
    shares = [
        (next_try(f"e{n}", "a", 9, NOON, None) - NOON) / WAITS[9]  # type: ignore[operator]
        for n in range(200)
    ]
    assert min(shares) < 0.85
    assert max(shares) > 1.15
    assert len(set(shares)) == len(shares)


def test_the_tenth_failure_is_the_last():
    assert next_try("e", "a", 10, NOON, timedelta(days=9)) is None


@pytest.mark.parametrize(
    ("asked", "least"),
    [
        (timedelta(hours=1), timedelta(hours=1)),
        (timedelta(0), timedelta(seconds=4)),
        (timedelta(days=4_000), timedelta(hours=24)),
    ],
)
def test_a_receiver_is_left_alone_as_long_as_it_asks_within_reason(asked, least):
    found = next_try("e", "a", 1, NOON, asked)
    assert found is not None
    assert found - NOON >= least
    assert found - NOON <= timedelta(hours=24)


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("120", timedelta(seconds=120)),
        (" 1.5 ", timedelta(seconds=1.5)),
        ("Fri, 01 May 2026 12:30:00 GMT", timedelta(minutes=30)),
        ("Fri, 01 May 2026 11:00:00 GMT", timedelta(0)),
        ("soon", None),
        ("-5", None),
        ("", None),
        (None, None),
        ("9" * 30, None),
        ("Fri, 01 May 2026 12:30:00 +99999999999999999999", None),
        ("Fri, 01 May 99999999999999999999 12:30:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text, wait):
    assert read_retry_after(text, NOON) == wait
