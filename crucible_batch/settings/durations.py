"""Durations as people write them in a settings file: `90s`, `5m`, `36h`, `7d`, `2w`, or `never`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
NEVER = "never"


def duration(value: object) -> timedelta:
    """Read a duration.

    Raises:
        ValueError: It is none, or a number without a unit.
    """
    if isinstance(value, timedelta):
        return value
    found = re.fullmatch(r"([0-9]{1,7}) ?([smhdw])", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{value!r} is no duration: write it as 90s, 5m, 36h, 7d or 2w")
    return timedelta(seconds=int(found[1]) * SECONDS[found[2]])


def _age(value: object) -> timedelta | None:
    return None if value is None or value == NEVER else duration(value)


Duration = Annotated[timedelta, BeforeValidator(duration), Field(strict=True)]
Age = Annotated[timedelta | None, BeforeValidator(_age)]
"""A duration, or `never`."""


def spelled(length: timedelta | None) -> str:
    """A duration as it is written in a settings file."""
    if length is None:
        return NEVER
    seconds = round(length.total_seconds())
    unit = next(u for u in ("d", "h", "m", "s") if seconds % SECONDS[u] == 0)
    return f"{seconds // SECONDS[unit]}{unit}"


def age(length: timedelta) -> str:
    """A measured duration in the same units, its two largest ones: `9d 15h`, `7d 1s`, `0s`.

    Less than that is dropped, not rounded: an age of just below seven days is not `7d`.
    """
    left = max(0, int(length.total_seconds()))
    parts = []
    for unit in ("d", "h", "m", "s"):
        n, left = divmod(left, SECONDS[unit])
        if n:
            parts.append(f"{n}{unit}")
    return " ".join(parts[:2]) or "0s"
