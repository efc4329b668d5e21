"""Drift: snapshots of the corpus, what changed between them, and what rules say of it."""

from __future__ import annotations

from crucible_batch.assemble.drift.choose import why_no_snapshot
from crucible_batch.assemble.drift.corpus import CorpusSnapshot, corpus_snapshot
from crucible_batch.assemble.drift.run import snapshot_corpus
from crucible_batch.assemble.drift.scan import (
    DriftScan,
    Follow,
    ScanFacts,
    latest_scan,
    scan_drift,
)
from crucible_batch.assemble.drift.text import (
    EXPLAINED,
    explained,
    scan_json,
    scan_lines,
    scan_text,
)

__all__ = [
    "EXPLAINED",
    "CorpusSnapshot",
    "DriftScan",
    "Follow",
    "ScanFacts",
    "corpus_snapshot",
    "explained",
    "latest_scan",
    "scan_drift",
    "scan_json",
    "scan_lines",
    "scan_text",
    "snapshot_corpus",
    "why_no_snapshot",
]
