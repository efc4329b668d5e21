"""A dispatcher killed with -9 loses no notice, makes no new id, and keeps the order."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from outboxes import ENVIRON, Nights
from receiver import Came, Receiver

from crucible_batch.assemble.deliver import deliver
from crucible_batch.store import Store
from crucible_batch.store.doctor import diagnose

PATHS = ("/a", "/b")


@pytest.fixture
def receiver():
    found = Receiver()
    yield found
    found.close()


def filled(folder: Path, receiver: Receiver, n_alerts: int) -> Nights:
    """So many alerts with three notices each, owed to two endpoints."""
    found = Nights(folder)
    found.clock.time = datetime.now(UTC) - timedelta(hours=1)
    found.webhooks(receiver, "a", "b")
    for value in (0.12, 0.3, 0.0, 0.0):
        found.night(by={f"t{n:02d}": value for n in range(n_alerts)})
    return found


def start(nights: Nights) -> subprocess.Popen[str]:
    """Start `crucible alerts deliver` in a process of its own."""
    code = "from crucible_batch.cli import main; main()"
    words = ["alerts", "deliver", "--root", nights.store.root, "--workspace", "w"]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRON, "CRUCIBLE_TRACEBACK": "1"},
    )


def kill_after(process: subprocess.Popen[str], receiver: Receiver, n_more: int) -> None:
    """Kill the process when it has sent so many notices, and a moment later."""
    wanted, until = len(receiver.came()) + n_more, time.monotonic() + 120
    while len(receiver.came()) < wanted and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.001)
    time.sleep(random.Random(wanted).uniform(0, 0.02))
    process.kill()
    process.communicate()


def firsts(came: list[Came]) -> list[Came]:
    """What a receiver keeps that de-duplicates on `webhook-id`."""
    kept: dict[str, Came] = {}
    for one in came:
        kept.setdefault(one.message_id, one)
    return list(kept.values())


@pytest.mark.parametrize(
    ("kills", "n_alerts"),
    [(1, 12), pytest.param(40, 90, marks=pytest.mark.slow)],  # 40: one minute
)
def test_a_dispatcher_killed_at_random_moments_loses_nothing_and_makes_no_new_id(
    tmp_path, receiver, monkeypatch, kills, n_alerts
):
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    nights = filled(tmp_path, receiver, n_alerts)
    events = nights.rows("alert_events", "event_id", "payload")
    rng = random.Random(20_240_229)
    for _ in range(kills):
        kill_after(start(nights), receiver, rng.randint(1, 30))
    store = Store.open(nights.store.root)
    while deliver(store, "w", environ=ENVIRON).n_tried:
        pass

    assert nights.rows("alert_events", "event_id", "payload") == events
    told = dict(events)
    for path in PATHS:
        came = receiver.came(path)
        assert {one.message_id for one in came} == set(told)
        assert all(one.body == told[one.message_id].encode() for one in came)
        for fingerprint in {one.seq[0] for one in came}:
            own = [one.seq for one in firsts(came) if one.seq[0] == fingerprint]
            assert own == sorted(own)
    attempts = nights.rows("delivery_attempts", "event_id", "endpoint", "outcome")
    assert set(Counter(attempts).values()) == {1}
    assert len(attempts) == 2 * len(events) == 6 * n_alerts
    assert {outcome for _, _, outcome in attempts} == {"ok"}
    assert [f.what for f in diagnose(store.workspace("w")) if f.level == "error"] == []
