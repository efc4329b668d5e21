"""Drift: snapshots of the corpus and what changed between them."""

from __future__ import annotations

from crucible_batch.assemble.drift.corpus import CorpusSnapshot, corpus_snapshot
from crucible_batch.assemble.drift.run import snapshot_corpus, why_no_snapshot

__all__ = ["CorpusSnapshot", "corpus_snapshot", "snapshot_corpus", "why_no_snapshot"]
