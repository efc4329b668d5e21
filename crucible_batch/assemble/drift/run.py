"""Snapshot a corpus version of a store: choose it and the one before, compare, commit once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from crucible_batch.assemble.drift.corpus import (
    CHANGES,
    CLOCK_SKEW,
    ENTITY_COUNTS,
    SNAPSHOTS,
    CorpusSnapshot,
    corpus_snapshot,
    instant,
)
from crucible_batch.contracts import Table
from crucible_batch.errors import ContractError, UnknownNameError, UsageError
from crucible_batch.store import Plan, Snapshot, Store, Workspace


def snapshot_corpus(
    store: Store,
    workspace: str,
    *,
    as_of: datetime,
    corpus_version: str | None = None,
    clock_skew: timedelta = CLOCK_SKEW,
) -> CorpusSnapshot | None:
    """Snapshot a corpus version of a store and write its rows, once, in one commit.

    Args:
        store: The store.
        workspace: Workspace; no other one is read.
        as_of: The time the snapshot speaks of, with a time zone.
        corpus_version: A complete version observed by then; when None the one that was observed
            last (of several at one time the one with the highest seq).
        clock_skew: See `corpus_snapshot`.

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
    versions = _complete(snapshot)
    if corpus_version is not None:
        chosen = _named(snapshot, corpus_version, as_of)
    else:
        observed = versions.filter(pl.col("observed_at") <= as_of).sort(
            "observed_at", "seq", "corpus_version"
        )
        if observed.is_empty():
            return None
        chosen = observed.row(-1, named=True)
    earlier = versions.filter(pl.col("seq") < chosen["seq"]).sort("seq", "corpus_version")
    previous = earlier.row(-1, named=True) if earlier.height else None
    version = chosen["corpus_version"]
    mentions = snapshot.read("mentions", subject=version).select("entity_id").unique()
    found = corpus_snapshot(
        _rows(snapshot, chosen, "documents"),
        None if previous is None else _rows(snapshot, previous, "documents"),
        _rows(snapshot, chosen, "entities"),
        mentions.collect(),
        workspace_id=workspace,
        corpus_version=version,
        as_of=as_of,
        clock_skew=clock_skew,
    )
    return _write(opened, found, previous["corpus_version"] if previous else None)


def why_no_snapshot(store: Store, workspace: str, *, as_of: datetime) -> str:
    """Say in one sentence why `snapshot_corpus` found no version to look at.

    Raises:
        UnknownNameError: No such workspace.
        UsageError: as_of has no time zone.
    """
    moment = instant(as_of).isoformat()
    versions = store.workspace(workspace).snapshot().read("corpus_versions").collect()
    n_later = versions.filter("complete").height
    n_partial = versions.height - n_later
    return (
        f"Workspace {workspace} has no complete corpus version observed by {moment} "
        f"({n_later:,} observed later, {n_partial:,} partial): there is no corpus to snapshot."
    )


def _write(workspace: Workspace, found: CorpusSnapshot, previous: str | None) -> CorpusSnapshot:
    """Commit a snapshot, linked to the one before; one that is stored stays as it is."""
    snapshot_id = found.row["snapshot_id"]
    linked: list[CorpusSnapshot] = []

    def decide(snapshot: Snapshot) -> Plan:
        if not _own(snapshot, SNAPSHOTS, snapshot_id).is_empty():
            return Plan()
        before = _last_snapshot(snapshot, previous, found.row["as_of"])
        row = found.row | {"previous_snapshot_id": before}
        linked.append(replace(found, row=row, created=True))
        return Plan(events=linked[-1].events())

    done = workspace.commit(
        decide, kind="drift.snapshot", idempotency_key=f"snapshot-{snapshot_id}"
    )
    return linked[-1] if done.created else _stored(workspace.snapshot(), snapshot_id)


def _stored(snapshot: Snapshot, snapshot_id: str) -> CorpusSnapshot:
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


def _complete(snapshot: Snapshot) -> pl.DataFrame:
    return snapshot.read("corpus_versions").filter(pl.col("complete")).collect()


def _named(snapshot: Snapshot, version: str, as_of: datetime) -> dict[str, Any]:
    versions = snapshot.read("corpus_versions").collect()
    own = versions.filter(pl.col("corpus_version") == version)
    if own.is_empty():
        raise UnknownNameError("corpus version", version, versions["corpus_version"].to_list())
    row = own.row(0, named=True)
    if not row["complete"]:
        raise UsageError(
            f"Corpus version {version!r} is partial: what it lacks would count as removed",
            fix="load a complete listing as a version of its own.",
        )
    if row["observed_at"] > as_of:
        raise UsageError(
            f"Corpus version {version!r} was observed at {row['observed_at'].isoformat()}, "
            f"after {as_of.isoformat()}",
            fix="give an as_of that is not before it.",
        )
    return row


def _rows(snapshot: Snapshot, version: dict[str, Any], table: str) -> pl.DataFrame:
    """Rows of a complete version; one whose rows are not all loaded would look like a loss."""
    stored = snapshot.read(table, subject=version["corpus_version"])
    rows = stored.drop("workspace_id", "corpus_version", "_commit").collect()
    stated = version[f"n_{table}"]
    if rows.height != stated:
        raise ContractError(
            f"Corpus version {version['corpus_version']!r} says it is complete with {stated:,} "
            f"{table}; {rows.height:,} are stored",
            fix=f"load its {table}: crucible load corpus PATH "
            f"--corpus-version {version['corpus_version']}",
        )
    return rows
