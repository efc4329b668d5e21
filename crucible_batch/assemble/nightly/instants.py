"""The instants a night can speak of, as a person writes them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from crucible_batch.errors import UsageError

MOST_NIGHTS = 1_000
"""Longest range of nights: more is a slip of the pen in the year."""


def parse_as_of(text: str) -> datetime:
    """Read the instant of a night; a date means its end, 00:00 UTC of the next day.

    Raises:
        UsageError: It is neither, or has no time zone.
    """
    day = _day(text)
    return _end(day) if day is not None else parse_instant(text)


def parse_nights(text: str) -> tuple[datetime, ...]:
    """Read an instant, or a range of dates `A..B`, both included: one instant per night.

    Raises:
        UsageError: It is neither; the range is not of dates, runs backwards or is too long.
    """
    if ".." not in text:
        return (parse_as_of(text),)
    first, _, last = text.partition("..")
    start, stop = _day(first), _day(last)
    if start is None or stop is None:
        raise UsageError(
            f"{text!r} is no range of dates", fix="write it as 2026-05-01..2026-05-07."
        )
    n_nights = (stop - start).days + 1
    if not 1 <= n_nights <= MOST_NIGHTS:
        raise UsageError(
            f"{text!r} is a range of {n_nights:,} nights",
            fix=f"write the earlier date first; at most {MOST_NIGHTS:,} nights.",
        )
    return tuple(_end(start + timedelta(days=number)) for number in range(n_nights))


def parse_instant(text: str) -> datetime:
    """Read a time with a zone; returns it in UTC.

    Raises:
        UsageError: It is no time, or has no time zone.
    """
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is no date and no instant",
            fix="write it as 2026-05-01 or 2026-05-01T03:00:00Z.",
        ) from None
    if instant.utcoffset() is None:
        day = _day(text)
        whole = text if day is None else f"{day}T00:00:00"
        raise UsageError(f"{text!r} has no time zone", fix=f"write it as {whole}Z.")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{text!r} is out of range", fix="write a time of our age.") from None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _end(day: date) -> datetime:
    try:
        after = day + timedelta(days=1)
    except OverflowError:
        raise UsageError(f"{day} has no next day", fix="write a date of our age.") from None
    return datetime(after.year, after.month, after.day, tzinfo=UTC)
