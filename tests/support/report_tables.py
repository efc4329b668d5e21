"""Builders of report inputs: contract-shaped frames whose values are simple arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import polars as pl

from crucible_batch.contracts import Kind, get_table
from crucible_batch.metrics import catalog
from crucible_batch.report import ReportInputs

AS_OF = datetime(2025, 3, 1, tzinfo=UTC)
KPIS = (
    "accuracy",
    "groundedness",
    "citation_precision",
    "citation_recall",
    "retrieval_hit_rate",
    "recall_at_10",
    "ndcg_at_10",
)
HEADLINE = (*KPIS, "mean_truthfulness")
CLASSES = ("correct", "citation_error", "retrieval_miss", "incomplete", "hallucination")
SLICES = (
    *(("question_type", name) for name in ("simple", "comparison", "multi_hop", "false_premise")),
    *(("popularity", name) for name in ("head", "torso", "tail")),
    *(("dynamism", name) for name in ("static", "slow", "fast")),
    *(("answerable", name) for name in ("true", "false")),
    *(("shape", name) for name in ("lookup", "multi_hop", "paraphrase", "privacy")),
    *(("tag", f"tag-{k}") for k in range(4)),
)
_FILLED: dict[Kind, Any] = {
    Kind.INT: 0,
    Kind.FLOAT: 0.0,
    Kind.BOOL: False,
    Kind.WORDS: [],
    Kind.TIME: AS_OF,
}


def frame(table: str, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of a contract table; what is left out is null, or plain where null is not allowed."""
    contract = get_table(table)
    base = {
        c.name: None if c.nullable else (c.allowed or (_FILLED.get(c.kind, "x"),))[0]
        for c in contract.columns
    }
    full = [{**base, "workspace_id": "w", **row} for row in rows]
    stray = {name for row in full for name in row} - set(base)
    assert not stray, stray
    return pl.DataFrame(full, schema=contract.schema, orient="row")


@lru_cache(maxsize=1)
def metric_catalog() -> pl.DataFrame:
    """The catalog as the report gets it."""
    return catalog.to_frame()


def item(k: int) -> str:
    """Id of the k-th item."""
    return f"item-{k:04d}"


def run_row(run_id: str, **facts: Any) -> dict[str, Any]:
    """A row of `runs`."""
    return {
        "run_id": run_id,
        "golden_set": "handbook",
        "golden_set_hash": "sha256:" + "ab" * 32,
        "target_snapshot_id": "cd" * 32,
        "samples_n": 2,
        "top_k": 10,
        "label": f"pipeline of {run_id}",
        **facts,
    }


def evaluation_row(run_id: str, n_items: int, **facts: Any) -> dict[str, Any]:
    """A row of `evaluations`: two results are lost, two errored, a tenth abstained."""
    n = 2 * n_items
    return {
        "evaluation_id": f"e-{run_id}",
        "run_id": run_id,
        "seq": 1,
        "rows_hash": "01" * 32,
        "golden_set_hash": "sha256:" + "ab" * 32,
        "ruler_hash": "23" * 32,
        "judge": "lexical@1",
        "qrel_source": "resolved",
        "relevant_at": 2,
        "granularity": "document",
        "catalog_hash": "45" * 32,
        "settings_hash": "67" * 32,
        "status": "succeeded",
        "n_expected": n,
        "n_results": n,
        "n_errored": 2,
        "n_abstained": n // 10,
        "n_answered": n - 2 - n // 10,
        **facts,
    }


def metric_row(run_id: str, metric: str, mean: float | None, n_items: int, **facts: Any) -> dict:
    """A row of `run_metrics`; null when `mean` is None."""
    n = 2 * n_items
    carried = mean is not None
    return {
        "evaluation_id": f"e-{run_id}",
        "run_id": run_id,
        "slice_by": "all",
        "slice": "all",
        "metric": metric,
        "mean": mean,
        "item_mean": mean,
        "n_expected": n,
        "n_scored": n - 2 if carried else 0,
        "n_items": n_items if carried else 0,
        "n_missing": 2,
        "n_errored": 2,
        "n_not_applicable": 0 if carried else n - 2,
        "coverage": (n - 2) / n if carried else 0.0,
        "worst_case": mean * (n - 2) / n if carried else None,
        "best_case": (mean * (n - 2) + 2) / n if carried else None,
        "ci_low": mean - 0.08 if carried else None,
        "ci_high": mean + 0.07 if carried else None,
        "ci_method": "bca" if carried else None,
        "ci_label": "ok"
        if n_items >= 40
        else "small sample"
        if n_items >= 20
        else "insufficient items",
        "status": "succeeded",
        "ruler_hash": "23" * 32,
        **facts,
    }


def comparison_row(metric: str = "ndcg_at_10", **facts: Any) -> dict[str, Any]:
    """A row of `comparisons`: the worked line of STATISTICS.md unless said otherwise."""
    return {
        "comparison_id": "c" * 64,
        "baseline_run_id": "base",
        "candidate_run_id": "cand",
        "slice_by": "all",
        "slice": "all",
        "metric": metric,
        "unit": "item",
        "n_pairs": 50,
        "n_units": facts.get("n_pairs", 50),
        "mean_baseline": 0.612,
        "mean_candidate": 0.648,
        "delta": 0.036,
        "rel_delta": 0.036 / 0.612,
        "ci_low": 0.009,
        "ci_high": 0.064,
        "ci90_low": 0.013,
        "ci90_high": 0.060,
        "ci_level": 0.95,
        "ci_method": "bca",
        "ci_label": "ok",
        "p_value": 0.012,
        "p_method": "exact",
        "p_adjusted": 0.048,
        "adjust_method": "holm",
        "family": "headline",
        "family_size": 4,
        "n_better": 21,
        "n_same": 24,
        "n_worse": 5,
        "n_nonzero": 26,
        "sd_delta": 0.1,
        "verdict": "improved",
        "ruler_hash": "89" * 32,
        "seed": 20_240_229,
        "n_resamples": 10_000,
        "stream_version": 1,
        **facts,
    }


def few_items_row(metric: str = "ndcg_at_10", **facts: Any) -> dict[str, Any]:
    """The worked line with too few items of STATISTICS.md."""
    few = {
        "n_pairs": 12,
        "n_units": 12,
        "mean_baseline": 0.35,
        "mean_candidate": 0.65,
        "delta": 0.30,
        "ci_low": -0.02,
        "ci_high": 0.61,
        "ci_label": "insufficient items",
        "n_better": 6,
        "n_same": 5,
        "n_worse": 1,
        "verdict": "insufficient_items",
    }
    return comparison_row(metric, **{**few, **facts})


def unchanged_row(metric: str, **facts: Any) -> dict[str, Any]:
    """A comparison that finds no difference."""
    same = {
        "mean_candidate": 0.615,
        "delta": 0.003,
        "ci_low": -0.02,
        "ci_high": 0.026,
        "p_value": 0.71,
        "p_adjusted": 1.0,
        "verdict": "no_significant_change",
    }
    return comparison_row(metric, **{**same, **facts})


def regressed_row(metric: str, **facts: Any) -> dict[str, Any]:
    """A comparison that finds a regression."""
    worse = {
        "mean_candidate": 0.532,
        "delta": -0.080,
        "ci_low": -0.131,
        "ci_high": -0.034,
        "p_value": 0.0006,
        "p_adjusted": 0.0048,
        "n_better": 4,
        "n_same": 25,
        "n_worse": 21,
        "verdict": "regressed",
    }
    return comparison_row(metric, **{**worse, **facts})


def curve_rows(run_id: str, n: int, period: int = 5) -> list[dict[str, Any]]:
    """`n` answered results, three to a confidence, every `period`-th wrong."""
    wrong = [1 if k % period == period - 1 else 0 for k in range(n)]
    return [
        {
            "evaluation_id": f"e-{run_id}",
            "run_id": run_id,
            "item_id": item(k // 2),
            "sample_index": k % 2,
            "point": k + 1,
            "coverage": (k + 1) / n,
            "risk": sum(wrong[: k + 1]) / (k + 1),
            "confidence": 1 - (k // 3) / n,
            "n_pairs": n,
            "n_results": n + 4,
        }
        for k in range(n)
    ]


def item_rows(metric: str, n_items: int) -> list[dict[str, Any]]:
    """Pairs of a metric: a third better, a third worse, a third unchanged; which ones differs."""
    shift = HEADLINE.index(metric)
    deltas = [((k + shift) % 3 - 1) * (1 + k % 7) / 10 for k in range(n_items)]
    ranked = sorted(range(n_items), key=lambda k: (-abs(deltas[k]), item(k)))
    return [
        {
            "comparison_id": "c" * 64,
            "metric": metric,
            "item_id": item(k),
            "baseline": 0.5 - deltas[k] / 2,
            "candidate": 0.5 + deltas[k] / 2,
            "delta": deltas[k],
            "rank": place + 1,
        }
        for place, k in enumerate(ranked)
    ]


def one_run(n_items: int = 60, n_curve: int | None = None, **changed: Any) -> ReportInputs:
    """The inputs of a run without a baseline."""
    return ReportInputs(**{**_tables(["cand"], n_items, n_curve), **changed})


def two_runs(n_items: int = 60, n_curve: int | None = None, **changed: Any) -> ReportInputs:
    """The inputs of a run against a baseline: one regression, one improvement, one short metric."""
    tables = _tables(["cand", "base"], n_items, n_curve)
    rows = [
        regressed_row("recall_at_10", n_pairs=n_items),
        comparison_row("accuracy", n_pairs=n_items),
        few_items_row("groundedness"),
        *(
            unchanged_row(name, n_pairs=n_items)
            for name in HEADLINE
            if name not in {"recall_at_10", "accuracy", "groundedness"}
        ),
        *(
            unchanged_row(name, n_pairs=n_items, family="overall", adjust_method="bh")
            for name in ("mrr_at_10", "precision_at_10", "incorrect_rate", "must_recall")
        ),
        comparison_row(
            "aurc",
            p_value=None,
            p_adjusted=None,
            verdict="no_test",
            n_better=None,
            n_worse=None,
            n_same=None,
            delta=-0.02,
            ci_low=-0.05,
            ci_high=0.01,
        ),
        comparison_row(
            "latency_ms",
            mean_baseline=812.0,
            mean_candidate=901.0,
            delta=0.104,
            ci_low=0.02,
            ci_high=0.19,
            verdict="regressed",
        ),
        *(
            few_items_row("recall_at_10", slice_by=slice_by, slice=name)
            for slice_by, name in SLICES
        ),
    ]
    pairs = [row for name in HEADLINE for row in item_rows(name, n_items)]
    return ReportInputs(
        **{
            **tables,
            "baseline_run_id": "base",
            "comparisons": frame("comparisons", rows),
            "comparison_items": frame("comparison_items", pairs),
            **changed,
        }
    )


def _tables(run_ids: list[str], n_items: int, n_curve: int | None) -> dict[str, Any]:
    means = {name: 0.9 - 0.07 * k for k, name in enumerate(KPIS)}
    others = {
        "mean_truthfulness": 0.42,
        "abstention_rate": 0.1,
        "aurc": 0.1234,
        "mrr_at_10": 0.7,
        "precision_at_10": 0.3,
        "incorrect_rate": 0.2,
        "must_recall": 0.66,
    }
    rows = []
    for side, run_id in enumerate(run_ids):
        for name, mean in {**means, **others}.items():
            rows.append(metric_row(run_id, name, mean - 0.03 * side, n_items))
        rows += [metric_row(run_id, name, None, n_items) for name in ("ece", "faithfulness")]
        for k, (slice_by, value) in enumerate(SLICES):
            for j, name in enumerate(KPIS):
                mean = (3 * k + 5 * j) % 20 / 20
                few = 5 + 3 * k
                rows.append(metric_row(run_id, name, mean, few, slice_by=slice_by, slice=value))
    n_points = 2 * n_items - 10 if n_curve is None else n_curve
    return {
        "run_id": run_ids[0],
        "as_of": AS_OF,
        "package_version": "0.1.0",
        "runs": frame("runs", [run_row(run_id) for run_id in run_ids]),
        "evaluations": frame("evaluations", [evaluation_row(r, n_items) for r in run_ids]),
        "metric_catalog": metric_catalog(),
        "run_metrics": frame("run_metrics", rows),
        "risk_coverage": frame(
            "risk_coverage",
            [
                row
                for side, run_id in enumerate(run_ids)
                for row in curve_rows(run_id, n_points, 5 - side)
            ],
        ),
        "reliability_bins": frame(
            "reliability_bins",
            [
                {
                    "evaluation_id": f"e-{run_id}",
                    "run_id": run_id,
                    "bin": b,
                    "n": n_points // 10,
                    "mean_confidence": 0.05 + b / 10,
                    "accuracy": (0.1 + 0.8 * b / 9) * (1 - side / 5),
                }
                for side, run_id in enumerate(run_ids)
                for b in range(10)
            ],
        ),
        "error_classes": frame(
            "error_classes",
            [
                {
                    "evaluation_id": f"e-{run_id}",
                    "run_id": run_id,
                    "slice_by": "all",
                    "slice": "all",
                    "error_class": name,
                    "n": 20 - 4 * k,
                    "share": (20 - 4 * k) / 60,
                }
                for run_id in run_ids
                for k, name in enumerate(CLASSES)
            ],
        ),
        "result_metrics": frame(
            "result_metrics",
            [
                {
                    "evaluation_id": f"e-{run_id}",
                    "run_id": run_id,
                    "item_id": item(k // 2),
                    "sample_index": k % 2,
                    "error_class": CLASSES[k * (1 + side) % 5],
                }
                for side, run_id in enumerate(run_ids)
                for k in range(2 * n_items)
            ],
        ),
        "golden_items": frame(
            "golden_items",
            [
                {
                    "item_id": item(k),
                    "revision": 1,
                    "golden_set": "handbook",
                    "question": f"How is metric number {k} aggregated over the samples of an item?",
                }
                for k in range(n_items)
            ],
        ),
    }
