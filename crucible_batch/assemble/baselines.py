"""Which run a baseline names: a run id, a pinned name, or the latest run that succeeded."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import Committed, Plan, Snapshot, Store, canonical_json, combined_hash

PINNED = "pinned:"
LATEST = "latest-succeeded"
PIN = "baseline.pin"
"""The audit event of a pin."""

LONGEST = 256
"""Most characters of an id."""


def finished_runs(snapshot: Snapshot, golden_set: str | None = None) -> pl.DataFrame:
    """Runs with their status and finish time, latest first.

    Args:
        snapshot: What is visible.
        golden_set: Only runs of this set.

    Returns:
        run_id, golden_set, status, finished_at (the last event's occurred_at, else the time its
        commit was written), by finished_at and run_id descending.
    """
    runs = snapshot.read("runs").select("run_id", "golden_set")
    if golden_set is not None:
        runs = runs.filter(pl.col("golden_set") == golden_set)
    written = pl.DataFrame(snapshot.commits()).select(_commit="seq", written_at="created_at")
    last = (
        snapshot.read("run_events")
        .sort("run_id", "seq")
        .group_by("run_id", maintain_order=True)
        .last()
        .join(written.lazy(), on="_commit", how="left")
    )
    finished = pl.coalesce("occurred_at", "written_at")
    return (
        runs.join(last, on="run_id", how="inner")
        .select("run_id", "golden_set", "status", finished_at=finished)
        .sort("finished_at", "run_id", descending=True)
        .collect()
    )


def resolve_baseline(
    snapshot: Snapshot, name: str, *, golden_set: str, candidate: str, as_of: datetime | None = None
) -> str:
    """The run a baseline stands for.

    Args:
        snapshot: What is visible.
        name: A run id, `pinned:NAME`, or `latest-succeeded`.
        golden_set: Golden set of the candidate.
        candidate: The run that will be compared; never its own baseline.
        as_of: Only runs that finished by then; for `latest-succeeded`.

    Raises:
        UnknownNameError: No run or baseline has this name.
        UsageError: No run has succeeded yet; one that its scoring calls degraded has not.
    """
    if name.startswith(PINNED):
        return _pinned(snapshot, name.removeprefix(PINNED))
    runs = finished_runs(snapshot)
    if name != LATEST:
        if name not in set(runs["run_id"]):
            raise UnknownNameError("run", name, sorted(runs["run_id"]))
        return name
    fitting = runs.filter(
        pl.col("golden_set") == golden_set,
        pl.col("status") == "succeeded",
        pl.col("run_id") != candidate,
        ~pl.col("run_id").is_in(_degraded(snapshot)),
    )
    if as_of is not None:
        fitting = fitting.filter(pl.col("finished_at") <= as_of)
    if fitting.is_empty():
        raise UsageError(
            f"No run of golden set {golden_set!r} can be the baseline of {candidate!r}: "
            "no other had succeeded when it finished",
            fix="load one, or name a baseline.",
        )
    return str(fitting["run_id"][0])


def pin_baseline(
    store: Store, workspace: str, name: str, run_id: str, *, reason: str, author: str
) -> Committed:
    """Let a name stand for a run from now on: one more row of `baselines`, and its audit event.

    Args:
        store: The store.
        workspace: Workspace of the run.
        name: The name, without `pinned:`.
        run_id: A run that has succeeded.
        reason: Why this run.
        author: Who says so.

    Returns:
        The commit; `created` is false when the name stands for the run already, for this reason.

    Raises:
        UnknownNameError: The workspace has no such run.
        UsageError: Name, reason or author is blank or no id, or the run has not succeeded.
    """
    _check_pin(name, reason, author)
    opened = store.workspace(workspace)
    now = opened.now()

    def decide(snapshot: Snapshot) -> Plan:
        _check_run(snapshot, run_id)
        own = list_baselines(snapshot).filter(pl.col("name") == name)
        if own.select("run_id", "reason").rows()[-1:] == [(run_id, reason)]:
            return Plan(messages=(f"{name} stands for {run_id} already",))
        seq = own.height + 1
        pin = {
            "workspace_id": workspace,
            "name": name,
            "seq": seq,
            "run_id": run_id,
            "reason": reason,
            "author": author,
            "created_at": now,
        }
        event = {
            "workspace_id": workspace,
            "event_id": f"{PIN}:{combined_hash({'name': name, 'seq': seq})[:32]}",
            "action": PIN,
            "target": name,
            "actor": author,
            "occurred_at": now,
            "detail": canonical_json({"reason": reason, "run_id": run_id, "seq": seq}),
        }
        return Plan(
            events={
                table: pl.DataFrame([row], schema=TABLES[table].schema)
                for table, row in (("baselines", pin), ("audit_log", event))
            }
        )

    standing = list_baselines(opened.snapshot()).filter(pl.col("name") == name).height
    content = {"name": name, "run": run_id, "reason": reason, "after": standing}
    return opened.commit(decide, kind=PIN, idempotency_key=f"{PIN}-{combined_hash(content)[:24]}")


def list_baselines(snapshot: Snapshot) -> pl.DataFrame:
    """Every pin ever made, by name and order; the last of a name is what it stands for."""
    return snapshot.read("baselines").drop("_commit").sort("name", "seq").collect()


def _check_pin(name: str, reason: str, author: str) -> None:
    problems = [
        f"{what} is blank"
        for what, text in (("name", name), ("reason", reason), ("author", author))
        if not text.strip()
    ]
    if len(name) > LONGEST or not name.isprintable():
        problems.append(f"the name {name!r} is no id")
    if name.startswith(PINNED):
        problems.append(f"the name begins with {PINNED!r}, which is said when it is used")
    if problems:
        raise UsageError(
            "A baseline cannot be pinned like this",
            problems=problems,
            fix="crucible baseline pin NAME RUN --reason TEXT.",
        )


def _check_run(snapshot: Snapshot, run_id: str) -> None:
    """A run that has not succeeded would block every gate that is held against it."""
    runs = finished_runs(snapshot)
    own = runs.filter(pl.col("run_id") == run_id)
    if own.is_empty():
        raise UnknownNameError("run", run_id, sorted(runs["run_id"]))
    status = "degraded" if run_id in _degraded(snapshot) else own["status"][0]
    if status != "succeeded":
        raise UsageError(
            f"Run {run_id} is {status}: nothing can be compared with it",
            fix="pin a run that has succeeded.",
        )


def _degraded(snapshot: Snapshot) -> list[str]:
    """Runs that ended well but lost too many results, as their newest scoring found."""
    rows = snapshot.read("evaluations").sort("_commit", "seq")
    newest = rows.group_by("run_id", maintain_order=True).last().collect()
    return sorted(newest.filter(pl.col("status") == "degraded")["run_id"])


def _pinned(snapshot: Snapshot, name: str) -> str:
    pins = snapshot.read("baselines").sort("seq").collect()
    own = pins.filter(pl.col("name") == name)
    if own.is_empty():
        raise UnknownNameError("baseline", name, sorted(set(pins["name"])))
    return str(own["run_id"][-1])
