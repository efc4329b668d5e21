"""Snapshot a corpus version of a store: choose it and the one before, compare, commit once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl

from crucible_batch.assemble.drift.choose import Versions, choose_versions, rows_of
from crucible_batch.assemble.drift.corpus import (
    CHANGES,
    ENTITY_COUNTS,
    SNAPSHOTS,
    CorpusSnapshot,
    corpus_snapshot,
    instant,
)
from crucible_batch.contracts import Table
from crucible_batch.settings import load_settings
from crucible_batch.store import Plan, Snapshot, Store, Workspace


def snapshot_corpus(
    store: Store,
    workspace: str,
    *,
    as_of: datetime,
    corpus_version: str | None = None,
    clock_skew: timedelta | None = None,
) -> CorpusSnapshot | None:
    """Snapshot a corpus version of a store and write its rows, once, in one commit.

    Args:
        store: The store.
        workspace: Workspace; no other one is read.
        as_of: The time the snapshot speaks of, with a time zone.
        corpus_version: A complete version observed by then; when None the one that was observed
            last (of several at one time the one with the highest seq).
        clock_skew: See `corpus_snapshot`; that of the settings when None.

    Returns:
        The snapshot; the stored one where this version was looked at as of this time before and
        holds the same. None when no complete version was observed by then: `why_no_snapshot` says
        which there are. `previous_snapshot_id` is the last snapshot of the previous version that is
        not later than as_of.

    Raises:
        UnknownNameError: No such workspace or corpus version.
        UsageError: as_of has no time zone, or the named version is partial or observed later.
        ContractError: A complete version lacks rows that it says it has.
    """
    as_of = instant(as_of)
    opened = store.workspace(workspace)
    snapshot = opened.snapshot()
    versions = choose_versions(snapshot, as_of, corpus_version)
    if versions is None:
        return None
    skew = clock_skew
    if skew is None:
        skew = load_settings(store.root, workspace).staleness.clock_skew
    found = take_snapshot(snapshot, versions, as_of=as_of, clock_skew=skew)
    return _write(opened, found, versions.previous_name)


def take_snapshot(
    snapshot: Snapshot, versions: Versions, *, as_of: datetime, clock_skew: timedelta
) -> CorpusSnapshot:
    """Compare two versions of a lake, and write nothing; see `corpus_snapshot`.

    Raises:
        ContractError: A complete version lacks rows that it says it has.
    """
    mentions = snapshot.read("mentions", subject=versions.name).select("entity_id").unique()
    before = versions.previous
    return corpus_snapshot(
        rows_of(snapshot, versions.current, "documents"),
        None if before is None else rows_of(snapshot, before, "documents"),
        rows_of(snapshot, versions.current, "entities"),
        mentions.collect(),
        workspace_id=snapshot.workspace,
        corpus_version=versions.name,
        as_of=as_of,
        clock_skew=clock_skew,
    )


def _write(workspace: Workspace, found: CorpusSnapshot, previous: str | None) -> CorpusSnapshot:
    """Commit a snapshot, linked to the one before; one that is stored stays as it is."""
    snapshot_id = found.row["snapshot_id"]
    linked: list[CorpusSnapshot] = []

    def decide(snapshot: Snapshot) -> Plan:
        if is_stored(snapshot, snapshot_id):
            return Plan()
        linked.append(linked_to_previous(snapshot, found, previous))
        return Plan(events=linked[-1].events())

    done = workspace.commit(
        decide, kind="drift.snapshot", idempotency_key=f"snapshot-{snapshot_id}"
    )
    return linked[-1] if done.created else stored_snapshot(workspace.snapshot(), snapshot_id)


def is_stored(snapshot: Snapshot, snapshot_id: str) -> bool:
    """Whether the lake has this snapshot."""
    return not _own(snapshot, SNAPSHOTS, snapshot_id).is_empty()


def linked_to_previous(
    snapshot: Snapshot, found: CorpusSnapshot, previous: str | None
) -> CorpusSnapshot:
    """A new snapshot with the id of the last one of the previous version, if that has one."""
    before = _last_snapshot(snapshot, previous, found.row["as_of"])
    return replace(found, row=found.row | {"previous_snapshot_id": before}, created=True)


def stored_snapshot(snapshot: Snapshot, snapshot_id: str) -> CorpusSnapshot:
    """A snapshot as it was committed."""
    return CorpusSnapshot(
        row=_own(snapshot, SNAPSHOTS, snapshot_id).row(0, named=True),
        entity_counts=_own(snapshot, ENTITY_COUNTS, snapshot_id),
        documents=_own(snapshot, CHANGES, snapshot_id),
    )


def _own(snapshot: Snapshot, table: Table, snapshot_id: str) -> pl.DataFrame:
    rows = snapshot.read(table.name).filter(pl.col("snapshot_id") == snapshot_id)
    return rows.select(table.names).sort(table.key).collect()


def _last_snapshot(snapshot: Snapshot, version: str | None, as_of: datetime) -> str | None:
    """The last snapshot of a version; later ones do not exist yet for a night that is caught up."""
    if version is None:
        return None
    rows = snapshot.read(SNAPSHOTS.name).filter(
        pl.col("corpus_version") == version, pl.col("as_of") <= as_of
    )
    ids = rows.sort("as_of", "snapshot_id").select("snapshot_id").collect()
    return str(ids.item(-1, 0)) if ids.height else None
