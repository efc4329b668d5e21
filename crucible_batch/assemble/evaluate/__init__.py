"""Score runs: every metric, every number with its denominator, every null with its reason."""

from __future__ import annotations

from crucible_batch.assemble.evaluate.options import Options
from crucible_batch.assemble.evaluate.run import (
    Evaluation,
    evaluate_at,
    evaluate_run,
    evaluate_runs,
)

__all__ = ["Evaluation", "Options", "evaluate_at", "evaluate_run", "evaluate_runs"]
