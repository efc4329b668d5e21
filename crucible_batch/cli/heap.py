"""One heap for the threads of a command that scores.

glibc has a heap per thread, gives large arrays a mapping of their own, and gives free pages back at
every chance. Scoring makes and frees hundreds of arrays of some megabytes: with a heap that threads
share and that keeps its pages, four page faults in ten are gone, and no thread keeps what another
could use.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

# Parameters of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

_LARGEST = 32 * 2**20
"""The largest array that glibc lets come from a heap."""


def share_heap() -> None:
    """Let threads share one heap; call it before anything starts a thread.

    Does nothing where the C library is not glibc. The environment says it to whoever would give
    pages back, and to child processes; who sets MALLOC_ARENA_MAX decides himself.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return
    with contextlib.suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        if library.mallopt(_ARENA_MAX, 1) and library.mallopt(_MMAP_THRESHOLD, _LARGEST):
            library.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
            os.environ["MALLOC_ARENA_MAX"] = "1"
