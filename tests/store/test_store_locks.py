"""Locks of a workspace: who waits is told so, and only who waits."""

from __future__ import annotations

import threading

from crucible_batch.store import locks


def test_nobody_is_told_to_wait_for_a_lock_that_is_free(tmp_path):
    told: list[str] = []
    with locks.exclusive(tmp_path / "lock", on_wait=lambda: told.append("waits")):
        assert told == []


def test_who_has_to_wait_is_told_and_gets_the_lock_in_the_end(tmp_path):
    path, waits, got = tmp_path / "lock", threading.Event(), threading.Event()

    def second() -> None:
        with locks.exclusive(path, on_wait=waits.set):
            got.set()

    with locks.exclusive(path):
        other = threading.Thread(target=second)
        other.start()
        assert waits.wait(timeout=30)
        assert not got.is_set()
    other.join(timeout=30)
    assert got.is_set()
