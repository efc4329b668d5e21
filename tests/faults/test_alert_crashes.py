"""Scans that crash, are done again, or race: alerts and events are those of a crash-free run."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from alerting import BOTH, Watch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from outboxes import CrashError, Nights

from crucible_batch.assemble.alerts import fold_alerts, list_alerts
from crucible_batch.assemble.alerts.stored import alert_row
from crucible_batch.watch.alert_payload import event_row

COUNTS = {
    "raise_after": 2,
    "clear_after": 2,
    "unknown_after": 2,
    "renotify_after": timedelta(days=3),
}
VALUES = st.sampled_from([None, 0.0, 0.09, 0.12, 0.3])


class Crashes(RuleBasedStateMachine):
    """A store whose scans crash, beside transitions in memory that never do."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.nights = Nights(self.folder, **COUNTS)
        self.peaceful = Watch(BOTH, **COUNTS)
        self.values: list[float | None] = []

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(value=VALUES)
    def a_night(self, value: float | None) -> None:
        self._expect(value)
        assert self.nights.night(value).created

    @rule(value=VALUES, times=st.integers(1, 2))
    def a_night_that_crashes_before_its_commit(self, value: float | None, times: int) -> None:
        def crash() -> None:
            raise CrashError

        self._expect(value)
        for _ in range(times):
            with pytest.raises(CrashError):
                self.nights.scan(len(self.values), value, crash=crash)
        assert self.nights.night(value).created

    @rule(which=st.integers(0, 20))
    def a_night_that_is_done_again(self, which: int) -> None:
        if self.values:
            number = which % len(self.values)
            assert not self.nights.scan(number + 1, self.values[number]).created

    @rule(value=VALUES)
    def a_night_that_two_processes_do_at_once(self, value: float | None) -> None:
        raced = []

        def race() -> None:
            if not raced:
                raced.append(True)
                raced.append(self.nights.scan(len(self.values), value).created)

        self._expect(value)
        assert not self.nights.scan(len(self.values), value, crash=race).created
        assert raced == [True, True]
        self.nights.n_nights += 1

    @invariant()
    def events_and_alerts_are_those_of_a_crash_free_run(self) -> None:
        expected = sorted(map(event_row, self.peaceful.events), key=lambda row: row["event_id"])
        assert self.nights.rows("alert_events") == expected
        states = [s for s in self.peaceful.states.values() if s.state]
        rows = sorted(map(alert_row, states), key=lambda row: row["fingerprint"])
        events = self.nights.snapshot.read("alert_events").collect()
        assert fold_alerts(events).to_dicts() == rows

    @invariant()
    def one_alert_is_open_per_condition(self) -> None:
        opened = list_alerts(self.nights.snapshot)["fingerprint"]
        assert opened.n_unique() == len(opened)

    def _expect(self, value: float | None) -> None:
        self.values.append(value)
        self.peaceful.night(value)


@pytest.mark.parametrize(
    "examples", [3, pytest.param(60, marks=pytest.mark.slow)]
)  # 60: half a minute
def test_crashes_replays_and_races_change_neither_alerts_nor_events(examples, monkeypatch):
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    run_state_machine_as_test(
        Crashes,
        settings=settings(
            max_examples=examples,
            stateful_step_count=8,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
