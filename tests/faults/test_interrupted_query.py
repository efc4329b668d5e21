"""Control-C ends a query that runs, whatever its threads are at."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crucible_batch.store import Store

ENDLESS = "SELECT count(*) FROM range(100_000_000_000) a, range(100) b"


def interrupted(root: Path, seconds: float) -> int:
    """Start `crucible sql`, press Control-C some seconds after the query began; the exit code.

    The query began when the folder it may spill into is there.
    """
    spill = root.parent / f"spill-{seconds}"
    spill.mkdir()
    code = "from crucible_batch.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--root", root, "sql", ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"TMPDIR": str(spill)},
    )
    try:
        until = time.monotonic() + 60
        while not any(spill.iterdir()):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode


@pytest.mark.slow
def test_control_c_ends_a_query_at_any_time(tmp_path: Path) -> None:
    Store.create(tmp_path / "store").workspace(create=True)
    assert {interrupted(tmp_path / "store", n / 10) for n in range(3, 13)} == {130}
