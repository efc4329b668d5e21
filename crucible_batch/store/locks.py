"""Locks of a workspace: many writers share one, whoever rewrites committed files excludes them.

Commits are made safe by `rename(2)`, not by a lock; the shared lock only keeps operations that
touch committed files (compaction, redaction, repair) apart from them. A lock ends with its process.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from crucible_batch.errors import StoreError


@contextmanager
def shared(path: Path) -> Iterator[None]:
    """Hold the lock beside other writers; waits while somebody holds it alone."""
    with _held(path, fcntl.LOCK_SH):
        yield


@contextmanager
def exclusive(
    path: Path, *, wait: bool = True, on_wait: Callable[[], None] | None = None
) -> Iterator[None]:
    """Hold the lock alone.

    Args:
        path: File of the lock; made if it is not there.
        wait: Wait while somebody else holds it.
        on_wait: Called before waiting, and only if there is somebody to wait for.

    Raises:
        StoreError: Somebody holds it and `wait` is false.
    """
    eager = on_wait is None and wait
    with _held(path, fcntl.LOCK_EX | (0 if eager else fcntl.LOCK_NB), on_wait if wait else None):
        yield


def lock_directory(path: Path) -> int | None:
    """Mark a directory as in use until the returned descriptor is closed; None if it is in use."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextmanager
def _held(path: Path, operation: int, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, operation)
        except BlockingIOError as error:
            if on_wait is None:
                raise StoreError(
                    f"{path.parent} is in use by another command",
                    fix="wait until it has ended, then try again",
                ) from error
            on_wait()
            fcntl.flock(descriptor, operation & ~fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
