"""Compare two runs: one ruler, pairs by item, an interval, a p-value and a verdict."""

from __future__ import annotations

from crucible_batch.assemble.compare.options import CompareOptions
from crucible_batch.assemble.compare.run import Comparison, compare_runs

__all__ = ["CompareOptions", "Comparison", "compare_runs"]
