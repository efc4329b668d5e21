"""Deliveries armed again by a person."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from crucible_batch.assemble.deliver.dispatch import AUDIT, append_attempts
from crucible_batch.assemble.deliver.outbox import DEAD, DISABLED, outbox
from crucible_batch.assemble.prefix import by_prefix
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import Store, canonical_json, combined_hash

ACTION = "alert.redeliver"


@dataclass(frozen=True, kw_only=True)
class Rearmed:
    """What was armed again.

    Attributes:
        deliveries: (event_id, endpoint), in the order in which they will be sent.
    """

    deliveries: tuple[tuple[str, str], ...]


def redeliver(
    store: Store,
    workspace: str,
    *,
    author: str,
    event: str | None = None,
    endpoint: str | None = None,
) -> Rearmed:
    """Make deliveries due at once, with all tries before them; `deliver` then sends them.

    An event is sent again whatever became of it, one that arrived too; without an event, what was
    given up for the endpoint is. An endpoint that was gone (410) is sent to again from then on.

    Args:
        store: The store.
        workspace: Its workspace.
        author: Who says so; in `audit_log`.
        event: Id of an event, or its first characters.
        endpoint: Only to this endpoint.

    Raises:
        UnknownNameError: No such event is owed to anybody, or nothing to such an endpoint.
        UsageError: Neither event nor endpoint is given, or several events begin like this.
    """
    if event is None and endpoint is None:
        raise UsageError(
            "Nothing is named", fix="say EVENT, --endpoint NAME or both; see `alerts show ALERT`."
        )
    opened = store.workspace(workspace)
    owed = outbox(opened.snapshot())
    if event is not None:
        fix = "crucible alerts show ALERT lists the events."
        key = by_prefix("delivery of an event", event, set(owed["event_id"]), fix=fix)
        owed = owed.filter(pl.col("event_id") == key)
    else:
        owed = owed.filter(pl.col("state").is_in([DEAD, DISABLED]))
    if endpoint is not None:
        _check_endpoint(endpoint, sorted(set(outbox(opened.snapshot())["endpoint"])))
        owed = owed.filter(pl.col("endpoint") == endpoint)
    now = opened.now()
    rows = [
        {
            "workspace_id": workspace,
            "event_id": row["event_id"],
            "endpoint": row["endpoint"],
            "n": row["n"] + 1,
            "started_at": now,
            "status": None,
            "error": None,
            "outcome": "retry",
            "next_at": now,
        }
        for row in owed.iter_rows(named=True)
    ]
    audit = [
        {
            "workspace_id": workspace,
            "event_id": f"{ACTION}:{combined_hash({k: str(v) for k, v in row.items()})[:32]}",
            "action": ACTION,
            "target": row["event_id"],
            "actor": author,
            "occurred_at": now,
            "detail": canonical_json({"endpoint": row["endpoint"]}),
        }
        for row in rows
    ]
    if rows:
        frame = pl.DataFrame(audit, schema=AUDIT.schema)
        append_attempts(opened, rows, kind=ACTION, audit=frame)
    return Rearmed(deliveries=tuple((row["event_id"], row["endpoint"]) for row in rows))


def _check_endpoint(name: str, known: list[str]) -> None:
    if name not in known:
        raise UnknownNameError("endpoint with deliveries", name, known)
