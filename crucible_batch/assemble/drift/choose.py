"""Which corpus version a scan looks at, and which one it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.assemble.drift.corpus import instant
from crucible_batch.errors import ContractError, UnknownNameError, UsageError
from crucible_batch.store import Snapshot, Store


@dataclass(frozen=True, kw_only=True)
class Versions:
    """Two complete corpus versions.

    Attributes:
        current: The row of corpus_versions that is looked at.
        previous: The one before it; None: there is none.
    """

    current: dict[str, Any]
    previous: dict[str, Any] | None

    @property
    def name(self) -> str:
        """Name of the version that is looked at."""
        return str(self.current["corpus_version"])

    @property
    def previous_name(self) -> str | None:
        """Name of the version before it."""
        return None if self.previous is None else str(self.previous["corpus_version"])


def choose_versions(snapshot: Snapshot, as_of: datetime, version: str | None) -> Versions | None:
    """The version observed last by then (of several at one time the one with the highest seq).

    The one before it is the complete one with the highest lower seq.

    Args:
        snapshot: What is visible.
        as_of: Versions observed later do not exist yet.
        version: Take this one instead.

    Returns:
        None when no complete version was observed by then.

    Raises:
        UnknownNameError: No version has this name.
        UsageError: The named version is partial or observed later.
    """
    versions = _complete(snapshot)
    if version is not None:
        chosen = _named(snapshot, version, as_of)
    else:
        observed = versions.filter(pl.col("observed_at") <= as_of).sort(
            "observed_at", "seq", "corpus_version"
        )
        if observed.is_empty():
            return None
        chosen = observed.row(-1, named=True)
    earlier = versions.filter(pl.col("seq") < chosen["seq"]).sort("seq", "corpus_version")
    return Versions(
        current=chosen, previous=earlier.row(-1, named=True) if earlier.height else None
    )


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


def rows_of(snapshot: Snapshot, version: dict[str, Any], table: str) -> pl.DataFrame:
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
