"""Commands that score let threads share a heap, unless somebody decided otherwise."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from crucible_batch.assemble.evaluate import heap

GLIBC = hasattr(ctypes.CDLL(None), "mallopt")

PROGRAM = """
import os
from crucible_batch.cli.heap import share_heap
share_heap()
print(os.environ.get("MALLOC_ARENA_MAX"))
"""


def said(**environment: str) -> str:
    bare = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=bare | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.skipif(not GLIBC, reason="only glibc has heaps to share")
def test_child_processes_are_told():
    assert said() == "1"


def test_who_sets_the_number_of_heaps_decides():
    assert said(MALLOC_ARENA_MAX="4") == "4"


@pytest.mark.parametrize(("arenas", "trims"), [(None, 1), ("4", 1), ("1", 0)])
def test_pages_go_back_between_buckets_only_where_threads_have_heaps_of_their_own(
    monkeypatch, arenas, trims
):
    calls: list[int] = []
    monkeypatch.setattr(heap, "_trim", lambda: calls.append)
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    if arenas:
        monkeypatch.setenv("MALLOC_ARENA_MAX", arenas)
    heap.give_back_between()
    assert len(calls) == trims
