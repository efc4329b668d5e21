"""Memory that was freed goes back to the system between buckets."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any


def give_back() -> None:
    """Return free pages of the C heap to the system; does nothing where the C library cannot."""
    trim = _trim()
    if trim is not None:
        trim(0)


def give_back_between() -> None:
    """Return free pages between buckets, if the next bucket would not use them.

    glibc keeps what NumPy frees in threads, so that a run of many buckets seems to grow by some
    megabytes with each. With one heap (MALLOC_ARENA_MAX=1) the next bucket uses it at once, and
    taking the pages back and clearing them would cost a tenth of the time.
    """
    if os.environ.get("MALLOC_ARENA_MAX") != "1":
        give_back()


@cache
def _trim() -> Any:
    """`malloc_trim` of glibc, None elsewhere."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
