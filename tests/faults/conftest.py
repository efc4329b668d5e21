from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _views_as_processes_write_them(commented: None) -> None:
    """Stores here are shared with processes, and looked over afterwards."""


@pytest.fixture
def appender() -> Callable[..., subprocess.Popen[str]]:
    """Start a process that appends overlapping batches of judgments."""

    def start(root: Path, name: str, seed: int, batches: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, HERE / "appender.py", root, name, str(seed), str(batches)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def polled() -> Callable[[Path], object]:
    """Poll a lake with plain DuckDB for the length of a block; the block's end checks it."""

    @contextmanager
    def poll(lake: Path) -> Iterator[None]:
        process = subprocess.Popen(
            [sys.executable, HERE / "poller.py", lake],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield
        finally:
            said, _ = process.communicate("\n", timeout=60)
        *faults, looks = said.splitlines()
        assert faults == []
        assert int(looks.split()[1]) > 0

    return poll
