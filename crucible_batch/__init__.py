"""Crucible batch: is run B better than run A?

Names are imported on first use, so that `import crucible_batch` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crucible_batch.assemble.compare import compare_runs
    from crucible_batch.assemble.drift import scan_drift
    from crucible_batch.assemble.evaluate import evaluate_run
    from crucible_batch.assemble.load import load_corpus, load_golden, load_qrels, load_run
    from crucible_batch.metrics.grades import resolve_grades
    from crucible_batch.metrics.retrieval_scores import retrieval_scores
    from crucible_batch.metrics.selective import RiskCoverage, risk_coverage
    from crucible_batch.stats.agreement import Agreement, agreement
    from crucible_batch.stats.comparison import PairedComparison
    from crucible_batch.stats.multiplicity import adjust_pvalues
    from crucible_batch.stats.paired import paired_comparison
    from crucible_batch.store import Store, golden_set_hash

_HOMES = {
    "Agreement": "crucible_batch.stats.agreement",
    "PairedComparison": "crucible_batch.stats.comparison",
    "RiskCoverage": "crucible_batch.metrics.selective",
    "Store": "crucible_batch.store",
    "adjust_pvalues": "crucible_batch.stats.multiplicity",
    "agreement": "crucible_batch.stats.agreement",
    "compare_runs": "crucible_batch.assemble.compare",
    "evaluate_run": "crucible_batch.assemble.evaluate",
    "golden_set_hash": "crucible_batch.store",
    "load_corpus": "crucible_batch.assemble.load",
    "load_golden": "crucible_batch.assemble.load",
    "load_qrels": "crucible_batch.assemble.load",
    "load_run": "crucible_batch.assemble.load",
    "paired_comparison": "crucible_batch.stats.paired",
    "resolve_grades": "crucible_batch.metrics.grades",
    "retrieval_scores": "crucible_batch.metrics.retrieval_scores",
    "risk_coverage": "crucible_batch.metrics.selective",
    "scan_drift": "crucible_batch.assemble.drift",
}

__all__ = [
    "Agreement",
    "PairedComparison",
    "RiskCoverage",
    "Store",
    "adjust_pvalues",
    "agreement",
    "compare_runs",
    "evaluate_run",
    "golden_set_hash",
    "load_corpus",
    "load_golden",
    "load_qrels",
    "load_run",
    "paired_comparison",
    "resolve_grades",
    "retrieval_scores",
    "risk_coverage",
    "scan_drift",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("crucible-batch")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
