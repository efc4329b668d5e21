"""A judging killed with -9 loses at most the calls in flight, and ends as if left in peace."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from judge_server import JudgeServer
from judging import Judging, result

from crucible_batch.store.doctor import diagnose
from crucible_batch.store.journal import abandoned

N_ITEMS, N_DOCS, CONCURRENCY = 30, 7, 3
N_PAIRS = N_ITEMS * N_DOCS


def filled(folder: Path, server: JudgeServer) -> Judging:
    """A store with a run whose documents nobody judged; batches are small."""
    folder.mkdir()
    judging = Judging(folder, server)
    text = (judging.bench.store.root / "crucible.toml").read_text()
    judging.settings(f"{text}commit_every = 5\nconcurrency = {CONCURRENCY}\n")
    judging.golden(N_ITEMS)
    docs = [f"d{n}" for n in range(N_DOCS)]
    judging.run("r", *(result(f"q{n}", *docs) for n in range(N_ITEMS)))
    return judging


def start(judging: Judging) -> subprocess.Popen[str]:
    """Start `crucible qrels judge` in a process of its own."""
    code = "from crucible_batch.cli import main; main()"
    words = ["qrels", "judge", "r", "--root", judging.bench.store.root]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CRUCIBLE_TRACEBACK": "1"},
    )


def kill_after(process: subprocess.Popen[str], server: JudgeServer, n_more: int) -> None:
    """Kill the process when it has sent so many requests, and a moment later."""
    wanted, until = server.n_requests + n_more, time.monotonic() + 120
    while server.n_requests < wanted and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.002)
    process.kill()
    process.communicate()


def ended(process: subprocess.Popen[str]) -> None:
    """Wait for a process that nobody kills."""
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")


def n_known(judging: Judging) -> int:
    """Verdicts that are committed or in a journal, each once."""
    calls = set(judging.table("judge_calls")["call_id"])
    for _, records in abandoned(judging.bench.store.workspace().layout):
        calls |= {record["judge_calls"][0]["call_id"] for record in records}
    return len(calls)


@pytest.mark.slow  # a minute
@pytest.mark.parametrize("kills", [20])
def test_a_judging_killed_at_random_moments_ends_as_if_left_in_peace(tmp_path, judge_server, kills):
    peaceful = filled(tmp_path / "peaceful", judge_server)
    assert peaceful.qrels("r").n_ok == N_PAIRS == judge_server.n_requests
    judging = filled(tmp_path / "killed", judge_server)
    judge_server.delay = 0.02
    rng = random.Random(20_240_229)
    for _ in range(kills):
        known, requests = n_known(judging), judge_server.n_requests
        kill_after(start(judging), judge_server, rng.randint(1, 9))
        time.sleep(0.5)  # what was in flight has arrived
        sent = judge_server.n_requests - requests
        assert sent - CONCURRENCY <= n_known(judging) - known <= sent
    judge_server.delay = 0.0
    known, requests = n_known(judging), judge_server.n_requests
    assert 0 < known < N_PAIRS
    ended(start(judging))
    assert judge_server.n_requests - requests == N_PAIRS - known, "exactly the missing calls"
    for name, rows in peaceful.judged_tables().items():
        assert judging.judged_tables()[name].equals(rows), name
    assert [f.what for f in diagnose(judging.bench.store.workspace()) if f.level != "ok"] == []
    again = judge_server.n_requests
    ended(start(judging))
    assert judge_server.n_requests == again


@pytest.mark.slow
def test_what_a_killed_judging_left_is_told_by_the_doctor(tmp_path, judge_server):
    judging = filled(tmp_path / "s", judge_server)
    (judging.bench.store.root / "crucible.toml").write_text(
        (judging.bench.store.root / "crucible.toml").read_text().replace("= 5\nc", "= 500\nc")
    )
    judge_server.delay = 0.02
    kill_after(start(judging), judge_server, 10)
    findings = diagnose(judging.bench.store.workspace())
    waiting = [f for f in findings if "verdicts wait to be committed" in f.what]
    assert len(waiting) == 1
    n_waiting = n_known(judging)
    assert judging.rows("judge_calls") == []
    done = judging.qrels("r", max_calls=0)
    assert done.n_recovered == done.n_there == n_waiting > 0
    assert len(judging.rows("qrels")) == n_waiting
    assert done.cost_usd == 0.0


@pytest.mark.slow
def test_an_interrupted_judging_commits_what_was_answered(tmp_path, judge_server):
    judging = filled(tmp_path / "s", judge_server)
    judge_server.delay = 0.02
    process = start(judging)
    until = time.monotonic() + 120
    while judge_server.n_requests < 20:
        assert time.monotonic() < until
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(judging.rows("judge_calls")) >= 20 - CONCURRENCY
    assert list(abandoned(judging.bench.store.workspace().layout)) == []
