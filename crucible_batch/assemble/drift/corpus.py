"""What one complete corpus version holds, and how it differs from the one before.

Everything is a count of what is there (a census), so nothing here has a sampling limit. Definitions
and null rules: DRIFT.md, "Snapshot".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.errors import UsageError
from crucible_batch.sql import query
from crucible_batch.store import combined_hash

SNAPSHOTS, ENTITY_COUNTS = TABLES["drift_snapshots"], TABLES["drift_entity_counts"]
CHANGES = TABLES["drift_documents"]

EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
CLOCK_SKEW = timedelta(minutes=5)
"""How far ahead of `as_of` a source's clock may be before its document counts as future."""

FIRST = "first_snapshot"
"""Reason of a snapshot that has nothing to compare with."""

_HASHES = ("doc_id", "content_hash", "hash_version")
_NOT_COMPARED = dict.fromkeys(
    ("doc_added", "doc_removed", "doc_changed", "doc_churn", "doc_churn_ratio", "doc_moved")
)
_SLICE = 100_000


@dataclass(frozen=True, kw_only=True, eq=False)
class CorpusSnapshot:
    """A corpus version as of one time.

    Attributes:
        row: Its row of `drift_snapshots`.
        entity_counts: Its rows of `drift_entity_counts`, by entity type.
        documents: Its rows of `drift_documents`, by doc_id: what is added, removed, or known to be
            changed; none for a first snapshot.
        created: Whether it was written now; False: it was there already, or is not in a store.
    """

    row: dict[str, Any]
    entity_counts: pl.DataFrame
    documents: pl.DataFrame
    created: bool = False

    def events(self) -> dict[str, pl.DataFrame]:
        """The rows to commit, by table."""
        return {
            SNAPSHOTS.name: pl.DataFrame([self.row], schema=SNAPSHOTS.schema),
            ENTITY_COUNTS.name: self.entity_counts,
            CHANGES.name: self.documents,
        }


def corpus_snapshot(
    documents: pl.DataFrame,
    previous_documents: pl.DataFrame | None,
    entities: pl.DataFrame,
    mentions: pl.DataFrame,
    *,
    workspace_id: str,
    corpus_version: str,
    as_of: datetime,
    clock_skew: timedelta = CLOCK_SKEW,
) -> CorpusSnapshot:
    """Fingerprint one corpus version and compare it with the one before.

    Args:
        documents: doc_id (unique), content_hash, hash_version, source_updated_at; rows of every
            frame in any order.
        previous_documents: The same (without the time) of the previous complete version, which may
            be empty; None: there is none, and every difference is null.
        entities: entity_id (unique), entity_type.
        mentions: entity_id; once or often.
        workspace_id: Workspace of the rows.
        corpus_version: Version of the rows.
        as_of: The time the snapshot speaks of, with a time zone.
        clock_skew: A source time later than as_of + clock_skew is in the future.

    Returns:
        The rows, `previous_snapshot_id` null. Where a document of both versions carries another
        `hash_version`, whether it changed cannot be told: doc_changed, doc_churn, doc_churn_ratio
        and doc_moved are null, the reason is `hash_version_changed`, and added, removed and the
        changes that are certain stand.

    Raises:
        UsageError: as_of or source_updated_at has no time zone, or clock_skew is negative.
    """
    as_of = instant(as_of)
    if clock_skew < timedelta(0):
        raise UsageError(f"clock_skew is {clock_skew}", fix="give a duration of zero or more.")
    counts = query("entity_counts", {"entities": entities.select("entity_id", "entity_type")})
    mentioned = query(
        "entity_mentions",
        {"entities": entities.select("entity_id"), "mentions": mentions.select("entity_id")},
    )
    changes, churn = _difference(documents, previous_documents)
    digest = _digest(documents, counts, mentioned)
    identity = {"corpus_version": corpus_version, "as_of": as_of.isoformat(), "digest": digest}
    key = {"workspace_id": workspace_id, "snapshot_id": combined_hash(identity)[:32]}
    row = {
        **key,
        **identity,
        "as_of": as_of,
        "previous_snapshot_id": None,
        "doc_count": documents.height,
        **_orphans(mentioned["mentioned"]),
        **churn,
        **_times(documents["source_updated_at"], shifted(as_of, clock_skew)),
    }
    constants = [pl.lit(value).alias(name) for name, value in key.items()]
    return CorpusSnapshot(
        row={name: row[name] for name in SNAPSHOTS.names},
        entity_counts=counts.with_columns(constants).select(ENTITY_COUNTS.names),
        documents=changes.with_columns(constants).select(CHANGES.names),
    )


def _difference(
    documents: pl.DataFrame, previous: pl.DataFrame | None
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Rows (doc_id, change, moved_from), and the counts of a snapshot with their reason."""
    if previous is None:
        return CHANGES.empty().select("doc_id", "change", "moved_from"), {
            **_NOT_COMPARED,
            "reason": FIRST,
        }
    sides = {"documents": documents, "previous_documents": previous}
    changes = query("document_changes", {n: rows.select(_HASHES) for n, rows in sides.items()})
    churn = query("churn", {"changes": changes}, {"doc_count": documents.height})
    known = changes.filter(pl.col("change") != "rehashed").drop("hash_version")
    return known, churn.row(0, named=True)


def _orphans(mentioned: pl.Series) -> dict[str, Any]:
    n, n_orphans = len(mentioned), int((~mentioned).sum())
    rate = n_orphans / n if n else None
    return {"entity_count": n, "orphan_count": n_orphans, "orphan_rate": rate}


def _times(source_times: pl.Series, latest: datetime) -> dict[str, Any]:
    """Newest time that is not later than `latest`, and how many are."""
    if isinstance(source_times.dtype, pl.Datetime) and source_times.dtype.time_zone is None:
        raise UsageError(
            f"{source_times.name} has no time zone", fix="give it one: dt.replace_time_zone('UTC')."
        )
    future = source_times > latest
    return {
        "newest_document_at": source_times.filter(~future).max(),
        "future_document_count": int(future.sum()),
    }


def _digest(documents: pl.DataFrame, counts: pl.DataFrame, mentioned: pl.DataFrame) -> str:
    """SHA-256 over what a corpus version holds, as 64 hex digits.

    Lines `document TAB doc_id TAB content_hash LF`, then `type TAB entity_type TAB n LF`, then
    `entity TAB entity_id TAB true|false LF` (mentioned), each kind sorted by its id bytewise.
    """
    digest = hashlib.sha256()
    parts = {
        "document": documents.select("doc_id", "content_hash"),
        "type": counts.select("entity_type", "n"),
        "entity": mentioned.select("entity_id", "mentioned"),
    }
    for kind, rows in parts.items():
        name, value = rows.columns
        line = pl.format(f"{kind}\t{{}}\t{{}}\n", name, pl.col(value).cast(pl.String))
        for piece in rows.sort(name).iter_slices(_SLICE):
            digest.update(piece.select(line.str.join()).item().encode())
    return digest.hexdigest()


def shifted(moment: datetime, by: timedelta) -> datetime:
    """Return a UTC time moved by `by`, at most to the first or last one that can be written."""
    try:
        return moment + by
    except OverflowError:
        return LATEST if by > timedelta(0) else EARLIEST


def instant(as_of: datetime) -> datetime:
    """Return a time in UTC.

    Raises:
        UsageError: It has no time zone.
    """
    if as_of.utcoffset() is None:
        raise UsageError(
            f"as_of {as_of.isoformat()} has no time zone", fix="write it as 2026-05-01T00:00:00Z."
        )
    return as_of.astimezone(UTC)
