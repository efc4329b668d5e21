"""A store whose nights measure churn, endpoints on this machine, and a clock that a test moves.

nights = Nights(tmp_path)
nights.webhooks(receiver, "a", "b", min_severity="warn")
nights.night(0.12); nights.deliver(); nights.clock.wait(hours=1); nights.deliver()
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from alerting import BOTH, measured, scan_of
from receiver import Receiver

from crucible_batch.assemble.alerts import alert_tables, evaluation_of
from crucible_batch.assemble.deliver import Delivered, deliver, outbox
from crucible_batch.assemble.deliver.outbox import sendable
from crucible_batch.contracts import TABLES
from crucible_batch.settings import load_settings
from crucible_batch.store import Committed, Plan, Snapshot, Store
from crucible_batch.watch.alert_model import Counts, Evaluation

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ENVIRON = {"HOOK_SECRET": SECRET}
EVALUATIONS = TABLES["drift_evaluations"]
FAR = datetime(2100, 1, 1, tzinfo=UTC)
Value = float | None


class Clock:
    """Tells the time that a test has set; does not run by itself."""

    def __init__(self) -> None:
        self.time = datetime(2026, 6, 1, 3, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def wait(self, **duration: float) -> None:
        """Let time pass."""
        self.time += timedelta(**duration)


class CrashError(Exception):
    """A process ends here."""


class Nights:
    """A store, and what a scan would write into it."""

    def __init__(self, folder: Path, **counts: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.clock = Clock()
        shutil.copytree(_template(), folder / "store")
        self.store = Store.open(folder / "store", now=self.clock)
        self.counts = counts
        self.n_nights = 0

    @property
    def snapshot(self) -> Snapshot:
        return self.store.workspace("w").snapshot()

    def webhooks(self, receiver: Receiver, *names: str, **more: Any) -> None:
        """Endpoints at `/NAME` of a receiver; keys of single ones as `NAME={…}`."""
        tables = []
        for name in names:
            own = {
                "name": name,
                "url": receiver.url(f"/{name}"),
                "secret_env": "HOOK_SECRET",
                "allow": ["127.0.0.1"],
                "allow_http": True,
                "timeout_seconds": 30.0,
                **{key: value for key, value in more.items() if key not in names},
                **more.get(name, {}),
            }
            lines = [f"{key} = {json.dumps(value)}" for key, value in own.items()]
            tables.append("\n".join(["[[webhooks]]", *lines]))
        (self.store.root / "w" / "settings.toml").write_text("\n".join(tables) + "\n")

    def night(self, *values: Value, by: Mapping[str, Value] | None = None) -> Committed:
        """A scan that measured a value, or a value per type."""
        self.n_nights += 1
        return self.scan(self.n_nights, *values, by=by)

    def nights(self, *values: Value) -> Nights:
        """Scans that measured a value each."""
        for value in values:
            self.night(value)
        return self

    def scan(
        self,
        night: int,
        *values: Value,
        by: Mapping[str, Value] | None = None,
        rule: str = "churn",
        labels: dict[str, str] | None = None,
        crash: Callable[[], None] = lambda: None,
    ) -> Committed:
        """Commit one scan as `scan_drift` does; `crash` is called when its plan is decided."""
        found = [self.measured(value, night, rule, labels or {}) for value in values]
        found += [self.measured(v, night, rule, {"type": t}) for t, v in (by or {}).items()]
        scan, webhooks = scan_of(night), load_settings(self.store.root, "w").webhooks

        def decide(snapshot: Snapshot) -> Plan:
            tables = alert_tables(
                snapshot,
                scan,
                found,
                rules={rule},
                understood=self.understood,
                webhooks=webhooks,
                now=self.clock(),
            )
            rows = pl.DataFrame([_row(one) for one in found], schema=EVALUATIONS.schema)
            crash()
            events = {EVALUATIONS.name: rows, **tables.events}
            return Plan(events=events, messages=tables.messages)

        opened = self.store.workspace("w")
        return opened.commit(decide, kind="drift.scan", idempotency_key=scan.scan_id)

    def measured(
        self, value: Value, night: int, rule: str = "churn", labels: dict[str, str] | None = None
    ) -> Evaluation:
        return measured(value, night, rule=rule, labels=labels, limits=BOTH, **self.counts)

    def understood(self, row: Mapping[str, Any]) -> Evaluation:
        """A stored row as the rule would read it now."""
        held = self.measured(row["value"], 1).held
        return evaluation_of(row, held=held, counts=Counts(**self.counts))

    def deliver(self, **more: Any) -> Delivered:
        return deliver(self.store, "w", environ=ENVIRON, **more)

    def drain(self) -> None:
        """Deliver, and let time pass to the next try, until nothing waits."""
        self.drain_but()

    def drain_but(self, *names: str, most: int = 200) -> None:
        """The same, but for endpoints that wait for a person."""
        for _ in range(most):
            self.deliver()
            owed = self.outbox()
            due = sendable(owed, FAR, set(owed["endpoint"]) - set(names), ())
            if due.is_empty():
                return
            self.clock.time = max(self.clock.time, due["due_at"].min())
        raise AssertionError(f"still waiting: {due}")

    def outbox(self) -> pl.DataFrame:
        return outbox(self.snapshot)

    def rows(self, table: str, *columns: str) -> list[Any]:
        """Stored rows sorted by key, as dicts or as tuples of columns."""
        frame = self.snapshot.read(table).sort(TABLES[table].key).drop("_commit").collect()
        return frame.select(columns).rows() if columns else frame.to_dicts()

    def states(self) -> dict[str, str]:
        """Endpoint → states of its deliveries, in order: `delivered due`."""
        found: dict[str, list[str]] = {}
        for row in self.outbox().sort("episode", "seq").iter_rows(named=True):
            found.setdefault(row["endpoint"], []).append(row["state"])
        return {name: " ".join(states) for name, states in found.items()}


@cache
def _template() -> Path:
    """A store with the workspace `w`, made once for all tests of a process."""
    folder = Path(tempfile.mkdtemp(prefix="crucible-nights-"))
    atexit.register(shutil.rmtree, folder)
    Store.create(folder / "store").workspace("w", create=True)
    return folder / "store"


def _row(one: Evaluation) -> dict[str, Any]:
    measure = one.measure
    return {
        "workspace_id": one.condition.workspace_id,
        "scan_id": one.scan.scan_id,
        "rule_id": one.condition.rule_id,
        "labels": json.dumps(dict(one.condition.labels), separators=(",", ":")),
        "snapshot_id": "snapshot",
        "as_of": one.scan.as_of,
        "statistic": measure.statistic,
        "value": measure.value,
        "operator": measure.operator,
        "threshold": measure.threshold,
        "severity": one.severity,
        "verdict": one.verdict,
    }
