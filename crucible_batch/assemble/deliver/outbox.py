"""What endpoints are owed: a fold over `deliveries` and `delivery_attempts`.

A delivery is due until an attempt ends it: delivered (ok), dead (the last try failed) or disabled
(the receiver is gone). A row of `delivery_attempts` with the outcome retry, and neither a status
nor an error, is no try: a person has armed the delivery again, and its tries are counted anew.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.store import Snapshot

DELIVERIES, ATTEMPTS = TABLES["deliveries"], TABLES["delivery_attempts"]
EVENTS = TABLES["alert_events"]

DUE, DELIVERED, DEAD, DISABLED = "due", "delivered", "dead", "disabled"
STATES = {"retry": DUE, "ok": DELIVERED, "dead": DEAD, "disabled": DISABLED}
"""State of a delivery by the outcome of its last attempt."""

KEY = ("event_id", "endpoint")
IS_REARMING = (
    (pl.col("outcome") == "retry") & pl.col("status").is_null() & pl.col("error").is_null()
)


def outbox(snapshot: Snapshot, as_of: datetime | None = None) -> pl.DataFrame:
    """Every delivery with what became of it so far.

    Args:
        snapshot: What is visible.
        as_of: Attempts that began later do not exist yet; None: no limit.

    Returns:
        event_id, endpoint; fingerprint, episode, seq, kind, severity of the event; state (due,
        delivered, dead, disabled); due_at (of the next try, null when there is none); n (rows of
        delivery_attempts), n_tries (since it was armed), out_of_line (it was ended and armed
        again, so it has lost its place); last_at, last_status, last_error (of the last try);
        created_at. In the order in which they were owed.
    """
    owed = snapshot.read(DELIVERIES.name).select(*KEY, first_at="due_at", created_at="created_at")
    events = snapshot.read(EVENTS.name).select(
        "event_id", "fingerprint", "episode", "seq", "kind", "severity"
    )
    last_state = pl.col("outcome").replace_strict(STATES, default=DUE, return_dtype=pl.String)
    joined = (
        owed.join(events, on="event_id")
        .join(_attempts(snapshot, as_of), on=KEY, how="left")
        .with_columns(state=last_state)
    )
    due_at = pl.when(pl.col("state") == DUE).then(pl.coalesce("next_at", "first_at"))
    return (
        joined.select(
            *KEY,
            *("fingerprint", "episode", "seq", "kind", "severity", "state"),
            due_at.alias("due_at"),
            pl.col("n").fill_null(0),
            pl.col("n_tries").fill_null(0),
            pl.col("out_of_line").fill_null(value=False),
            *("last_at", "last_status", "last_error", "created_at"),
        )
        .sort("created_at", "fingerprint", "episode", "seq", "endpoint")
        .collect()
    )


def dead_deliveries(snapshot: Snapshot, as_of: datetime | None = None) -> pl.DataFrame:
    """The deliveries that were given up: rows of `outbox` that are dead or disabled."""
    return outbox(snapshot, as_of).filter(pl.col("state").is_in([DEAD, DISABLED]))


def sendable(
    owed: pl.DataFrame, now: datetime, endpoints: Collection[str], resting: Collection[str]
) -> pl.DataFrame:
    """The deliveries that can be tried now, those owed longest first.

    So the oldest goes through all its tries, and its death tells of an endpoint that takes nothing:
    of many notices owed to one that is down only one is tried a pass.

    Per alert and endpoint only the earliest that is not ended can: order is kept until it is
    delivered or dead. One that was, and is armed again, neither waits nor is waited for.

    Args:
        owed: The outbox.
        now: The time.
        endpoints: Endpoints that can be sent to.
        resting: Endpoints that take nothing for now.
    """
    gone = owed.filter(pl.col("state") == DISABLED)["endpoint"].unique()
    due = owed.filter(pl.col("state") == DUE)
    in_line = due.filter(~pl.col("out_of_line")).sort("episode", "seq")
    heads = in_line.unique(["fingerprint", "endpoint"], keep="first", maintain_order=True)
    free = pl.concat([heads, due.filter("out_of_line")])
    return free.filter(
        pl.col("due_at") <= now,
        pl.col("endpoint").is_in(list(endpoints)),
        ~pl.col("endpoint").is_in([*gone, *resting]),
    ).sort("created_at", "fingerprint", "episode", "seq", "endpoint")


def _attempts(snapshot: Snapshot, as_of: datetime | None) -> pl.LazyFrame:
    """One row per delivery that was tried or armed: counts, and the last attempt."""
    made = snapshot.read(ATTEMPTS.name)
    if as_of is not None:
        made = made.filter(pl.col("started_at") <= as_of)
    ordered = made.sort(*KEY, "n").with_columns(armed=IS_REARMING)
    tried = ~pl.col("armed")
    since = pl.col("n") > pl.col("n").filter("armed").max().fill_null(0)
    return ordered.group_by(*KEY, maintain_order=True).agg(
        pl.col("outcome", "next_at").last(),
        n=pl.col("n").max(),
        n_tries=(tried & since).sum().cast(pl.Int64),
        out_of_line=pl.col("outcome").is_in(["ok", "dead"]).any(),
        last_at=pl.col("started_at").filter(tried).last(),
        last_status=pl.col("status").filter(tried).last(),
        last_error=pl.col("error").filter(tried).last(),
    )
