"""The dispatcher: sends what is due, and appends what came of it.

One works at a time. Attempts are committed a few at a time; one that is killed in between has sent
notices nobody remembers, so they are sent again under the same `webhook-id`: at least once, never
lost. Nothing here makes an event or an id.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from crucible_batch.assemble.deliver.outbox import (
    ATTEMPTS,
    DISABLED,
    DUE,
    EVENTS,
    outbox,
    sendable,
)
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.contracts import TABLES
from crucible_batch.delivery.schedule import next_try
from crucible_batch.delivery.signature import read_secrets
from crucible_batch.delivery.webhook import Answer, Endpoint, send
from crucible_batch.errors import UsageError
from crucible_batch.settings import load_settings
from crucible_batch.settings.webhooks import Webhook
from crucible_batch.store import Plan, Snapshot, Store, Workspace, combined_hash

AUDIT = TABLES["audit_log"]
LOCK = ".deliver.lock"
BATCH = 20
"""Most attempts of one commit, and so most notices a kill makes come twice."""

FLUSH_AFTER = timedelta(seconds=5)
"""Longest time attempts wait for their commit; one slow try may add its timeout."""

Sender = Callable[..., Answer]
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """What a pass of the dispatcher did.

    Attributes:
        outcomes: Outcome → attempts of this pass: ok, retry, dead, disabled.
        n_waiting: Deliveries that wait for a later pass.
        dead: Rows of the outbox that were given up in this pass.
        held: What waits for a person, in words: what is owed to endpoints that are gone, or that
            the settings no longer name.
        problems: Endpoints that could not be sent to, and why; what they are owed waits.
        busy: Another dispatcher is at work, so this one did nothing.
    """

    outcomes: Mapping[str, int] = field(default_factory=dict)
    n_waiting: int = 0
    dead: tuple[Row, ...] = ()
    held: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    busy: bool = False

    @property
    def n_tried(self) -> int:
        """Attempts of this pass."""
        return sum(n_tries for n_tries in self.outcomes.values())

    def check(self) -> None:
        """Complain of endpoints that could not be sent to, after the others were.

        Raises:
            UsageError: There are some.
        """
        if self.problems:
            raise UsageError(
                "Not every endpoint can be sent to; what it is owed waits",
                problems=self.problems,
                fix="check [[webhooks]] in the settings, and the variables that hold the secrets.",
            )

    def lines(self) -> tuple[str, ...]:
        """The pass in words: what was done, what was given up, what waits for a person."""
        n = self.outcomes.get
        waiting = f"{n('ok', 0):,} delivered, {n('retry', 0):,} to be tried again, "
        given_up = tuple(
            f"given up ({row['state']}): {row['kind']} {row['event_id']} to {row['endpoint']}: "
            f"{row['last_error']}; crucible alerts redeliver {row['event_id']} tries again"
            for row in self.dead
        )
        if self.busy:
            return ("nothing to do: another dispatcher is at work",)
        counts = f"{waiting}{len(self.dead):,} given up; {self.n_waiting:,} waiting"
        return (counts, *given_up, *self.held)


def deliver(
    store: Store,
    workspace: str,
    *,
    environ: Mapping[str, str] = os.environ,
    sender: Sender = send,
    progress: Progress = quiet,
) -> Delivered:
    """Send every notice that is due.

    Args:
        store: The store.
        workspace: Its workspace.
        environ: Where the secrets are.
        sender: Sends one notice once; see `delivery.webhook.send`.
        progress: Is told what goes on.

    Returns:
        What was done. Endpoints that are down or take nothing for now are tried once a pass.

    Raises:
        UnknownNameError: No such workspace.
        UsageError: The settings cannot be used.
    """
    opened = store.workspace(workspace)
    endpoints, problems = _endpoints(load_settings(store.root, workspace).webhooks, environ)
    lock = FileLock(opened.layout.root / LOCK, timeout=0)
    try:
        with lock:
            return _Pass(opened, endpoints, sender, progress).run(problems)
    except Timeout:
        return Delivered(busy=True)


class _Pass:
    """One pass over the outbox of a workspace."""

    def __init__(
        self,
        opened: Workspace,
        endpoints: Mapping[str, Endpoint],
        sender: Sender,
        progress: Progress,
    ) -> None:
        self.opened, self.endpoints = opened, endpoints
        self.sender, self.progress = sender, progress
        self.resting: set[str] = set()
        self.outcomes: Counter[str] = Counter()
        self.given_up: set[tuple[str, str]] = set()

    def run(self, problems: Sequence[str]) -> Delivered:
        """Send until nothing is due that can be sent."""
        while True:
            snapshot = self.opened.snapshot()
            owed = outbox(snapshot)
            due = sendable(owed, self.opened.now(), self.endpoints, self.resting).head(BATCH)
            if due.is_empty():
                return self._done(owed, problems)
            self._batch(due, _bodies(snapshot, due))

    def _done(self, owed: pl.DataFrame, problems: Sequence[str]) -> Delivered:
        """What the pass did, and what it leaves."""
        known = {*self.endpoints, *(problem.split(":")[0] for problem in problems)}
        return Delivered(
            outcomes=dict(self.outcomes),
            n_waiting=owed.filter(pl.col("state") == DUE).height,
            dead=tuple(
                row
                for row in owed.iter_rows(named=True)
                if (row["event_id"], row["endpoint"]) in self.given_up
            ),
            held=_held(owed, known),
            problems=tuple(problems),
        )

    def _batch(self, due: pl.DataFrame, bodies: Mapping[str, bytes]) -> None:
        """Try a few deliveries and commit what came of them."""
        began = self.opened.now()
        rows: list[Row] = []
        try:
            for owed in due.iter_rows(named=True):
                if owed["endpoint"] not in self.resting:
                    rows.append(self._tried(owed, bodies[owed["event_id"]]))
                if self.opened.now() - began > FLUSH_AFTER:
                    break
        finally:  # an interrupt too: what was sent is remembered
            if rows:
                append_attempts(self.opened, rows, kind="deliver")

    def _tried(self, owed: Row, body: bytes) -> Row:
        """Try one delivery; returns its row of `delivery_attempts`."""
        name, event_id = owed["endpoint"], owed["event_id"]
        self.progress(f"{name}: {owed['kind']}")
        started = self.opened.now()
        answer = self.sender(self.endpoints[name], event_id, body, now=self.opened.now)
        outcome, next_at = _outcome(owed, answer, self.opened.now())
        if answer.is_resting or answer.is_gone:
            self.resting.add(name)
        if outcome in {"dead", "disabled"}:
            self.given_up.add((event_id, name))
        self.outcomes[outcome] += 1
        return {
            "workspace_id": self.opened.name,
            "event_id": event_id,
            "endpoint": name,
            "n": owed["n"] + 1,
            "started_at": started,
            "status": answer.status,
            "error": answer.error,
            "outcome": outcome,
            "next_at": next_at,
        }


def append_attempts(
    opened: Workspace, rows: Sequence[Row], *, kind: str, audit: pl.DataFrame | None = None
) -> None:
    """Commit attempts, and their audit events, each numbered after those that are there.

    Numbered when the commit is decided, so that a person who arms a delivery again and a
    dispatcher at work do not get in each other's way; their `n` is the next one when they began.
    """

    def decide(snapshot: Snapshot) -> Plan:
        stored = snapshot.read(ATTEMPTS.name).select("event_id", "endpoint", "n").collect()
        n_last: Counter[tuple[str, str]] = Counter()
        for event_id, endpoint, n in stored.iter_rows():
            n_last[event_id, endpoint] = max(n_last[event_id, endpoint], n)
        numbered = [row | {"n": n_last[row["event_id"], row["endpoint"]] + 1} for row in rows]
        frame = pl.DataFrame(numbered, schema=ATTEMPTS.schema)
        return Plan(events={ATTEMPTS.name: frame, **({} if audit is None else {AUDIT.name: audit})})

    content = {
        "rows": [[r["event_id"], r["endpoint"], r["n"], str(r["started_at"])] for r in rows],
    }
    opened.commit(decide, kind=kind, idempotency_key=f"{kind}-{combined_hash(content)[:32]}")


def _held(owed: pl.DataFrame, known: Collection[str]) -> tuple[str, ...]:
    """What waits for a person, a line per endpoint."""
    gone = sorted(set(owed.filter(pl.col("state") == DISABLED)["endpoint"]) & set(known))
    due = Counter(owed.filter(pl.col("state") == DUE)["endpoint"])
    return (
        *(
            f"{name} answered 410 and is sent nothing, {due[name]:,} waiting; "
            f"crucible alerts redeliver --endpoint {name} begins again"
            for name in gone
        ),
        *(
            f"{name}: {n:,} waiting, and the settings name no such endpoint any more"
            for name, n in sorted(due.items())
            if name not in known
        ),
    )


def _outcome(owed: Row, answer: Answer, now: datetime) -> tuple[str, datetime | None]:
    """Outcome of a try, and when the next one is due."""
    if answer.is_ok:
        return "ok", None
    if answer.is_gone:
        return "disabled", None
    n_tries = owed["n_tries"] + 1
    next_at = next_try(owed["event_id"], owed["endpoint"], n_tries, now, answer.retry_after)
    return ("dead" if next_at is None else "retry"), next_at


def _bodies(snapshot: Snapshot, due: pl.DataFrame) -> dict[str, bytes]:
    """Frozen bytes of the notices, by event."""
    events = snapshot.read(EVENTS.name).filter(pl.col("event_id").is_in(due["event_id"].to_list()))
    rows = events.select("event_id", "payload").collect()
    return {event_id: payload.encode() for event_id, payload in rows.iter_rows()}


def _endpoints(
    webhooks: Sequence[Webhook], environ: Mapping[str, str]
) -> tuple[dict[str, Endpoint], tuple[str, ...]]:
    """Endpoints whose secret can be read, and what is wrong with the others."""
    found, problems = {}, []
    for webhook in webhooks:
        try:
            keys = read_secrets(environ.get(webhook.secret_env, ""))
        except ValueError as error:
            problems.append(f"{webhook.name}: {webhook.secret_env} holds no secret: {error}")
            continue
        found[webhook.name] = Endpoint(
            name=webhook.name,
            url=webhook.url,
            keys=keys,
            allow=webhook.allow,
            allow_http=webhook.allow_http,
            timeout_seconds=webhook.timeout_seconds,
        )
    return found, tuple(problems)
