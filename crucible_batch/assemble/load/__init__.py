"""Load what people hold into a store: nothing is lost, nothing is silently changed."""

from __future__ import annotations

from crucible_batch.assemble.load.answer_path import load_cache, load_policy
from crucible_batch.assemble.load.corpus import load_corpus
from crucible_batch.assemble.load.golden import load_golden
from crucible_batch.assemble.load.qrels import load_qrels
from crucible_batch.assemble.load.report import LoadReport, TableReport
from crucible_batch.assemble.load.run import load_run

__all__ = [
    "LoadReport",
    "TableReport",
    "load_cache",
    "load_corpus",
    "load_golden",
    "load_policy",
    "load_qrels",
    "load_run",
]
