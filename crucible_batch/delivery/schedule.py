"""When a delivery that failed is tried again, and when it is given up."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

WAITS = (
    timedelta(0),
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""Wait before each try; after the last one has failed the delivery is dead (DRIFT.md)."""

JITTER = 0.2
LONGEST_RETRY_AFTER = timedelta(hours=24)
"""A receiver that asks for more is asking not to be told; it gets the longest wait of the list."""


def next_try(
    event_id: str, endpoint: str, n_tries: int, failed_at: datetime, retry_after: timedelta | None
) -> datetime | None:
    """When to try again.

    Args:
        event_id: Event.
        endpoint: Name of the endpoint.
        n_tries: Tries so far, the one that just failed included.
        failed_at: When it failed.
        retry_after: How long the receiver asks to be left alone.

    Returns:
        The time; the wait of the list, ±20 % by a hash of the ids, so that deliveries do not come
        in step, and never sooner than the receiver asks. None: it was the last try.
    """
    if n_tries >= len(WAITS):
        return None
    wait = WAITS[n_tries] * (1 + JITTER * _spread(event_id, endpoint, n_tries))
    asked = min(retry_after or timedelta(0), LONGEST_RETRY_AFTER)
    return failed_at + max(wait, asked)


def read_retry_after(text: str | None, now: datetime) -> timedelta | None:
    """Read a `Retry-After` header, seconds or a date; None without a readable one."""
    said = (text or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", said):
        return timedelta(seconds=float(said))
    try:
        until = parsedate_to_datetime(said)
    except (ValueError, OverflowError):  # a year or an offset beyond what a number of C holds
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(timedelta(0), aware - now)


def _spread(event_id: str, endpoint: str, n_tries: int) -> float:
    """A number in [-1, 1) that follows from the ids."""
    digest = hashlib.sha256(f"{event_id}\n{endpoint}\n{n_tries}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**47 - 1
