"""The only room that touches files of the store: a lake of plain Parquet, and marts."""

from __future__ import annotations

from crucible_batch.store.engine import Engine
from crucible_batch.store.fingerprint import (
    canonical_json,
    combined_hash,
    content_fingerprint,
    file_sha256,
    frame_fingerprint,
    key_hash,
    qrel_id,
    qrel_ids,
    text_sha256,
)
from crucible_batch.store.golden_hash import (
    golden_set_hash,
    hash_of_items,
    item_hash,
    item_hashes,
)
from crucible_batch.store.journal import Journal
from crucible_batch.store.layout import file_name, pair_name
from crucible_batch.store.marts import MartFile, StagedMarts
from crucible_batch.store.plan import About, Committed, Counts, Plan
from crucible_batch.store.redaction import Redaction
from crucible_batch.store.root import Store
from crucible_batch.store.snapshot import Snapshot
from crucible_batch.store.staging import BulkFile
from crucible_batch.store.workspace import Workspace

__all__ = [
    "About",
    "BulkFile",
    "Committed",
    "Counts",
    "Engine",
    "Journal",
    "MartFile",
    "Plan",
    "Redaction",
    "Snapshot",
    "StagedMarts",
    "Store",
    "Workspace",
    "canonical_json",
    "combined_hash",
    "content_fingerprint",
    "file_name",
    "file_sha256",
    "frame_fingerprint",
    "golden_set_hash",
    "hash_of_items",
    "item_hash",
    "item_hashes",
    "key_hash",
    "pair_name",
    "qrel_id",
    "qrel_ids",
    "text_sha256",
]
