"""A run with everything there is to measure, and its numbers: what a loss may do to them."""

from __future__ import annotations

import itertools
from typing import Any

import polars as pl
from bench import JUDGE, Bench, item

from crucible_batch.metrics import catalog

IDS = [f"q{n}" for n in range(6)]
KEYS = list(itertools.product(IDS, (0, 1)))
VERDICTS = ("supported", "partial", "missing", "contradicted")
CONCEPTS = [
    {"entity_id": "wanted", "relevance": "required"},
    {"entity_id": "near", "relevance": "irrelevant"},
]
EPS = 1e-12


def whole(item_id: str, sample: int) -> dict[str, Any]:
    """A result with everything there is to measure; no two are alike."""
    n = KEYS.index((item_id, sample))
    docs = [f"d{(n + k) % 5}" for k in range(3)]
    return {
        "item_id": item_id,
        "sample_index": sample,
        "answer": f"Answer {n}.",
        "abstained": n % 5 == 4,
        "confidence": (n % 7) / 7,
        "latency_ms": 100.0 + n,
        "retrievals": [
            {"doc_id": doc, "text": "" if n == 3 and k == 1 else f"Text of {doc}."}
            for k, doc in enumerate(docs)
        ],
        "citations": [{"doc_id": docs[n % 3]}],
        "verdicts": [
            {"assertion_id": f"a{k}", "verdict": VERDICTS[(n + k) % 4], "judge": JUDGE,
             "context_supported": (n + k) % 2 == 0}
            for k in range(2)
        ],
        "claims": [
            {"claim_id": f"c{k}", "grounded": (n + k) % 3 > 0, "correct": k == 0, "judge": JUDGE}
            for k in range(2)
        ],
        "checks": [{"check_id": f"c{k}", "passed": (n + k) % 2 == 0} for k in range(2)],
        "concepts": [
            {"entity_id": "wanted", "place": "answer"},
            {"entity_id": "near", "place": "evidence"},
        ],
        "scores": [{"metric": "answer_relevancy", "value": n / len(KEYS)}],
    }  # fmt: skip


def measured(bench: Bench) -> Bench:
    """Six items, two samples each; q5 is unanswerable, q4 has no judgments; the run `whole`."""
    bench.golden(
        *[
            item(q, must=2, required=("d1",) if q != "q4" else (), concepts=CONCEPTS)
            for q in IDS[:5]
        ],
        item("q5", must=2, answerable=False),
    )
    bench.qrels(*[(q, f"d{d}", (d + n) % 4) for n, q in enumerate(IDS[:4]) for d in range(4)])
    bench.run("whole", *[whole(*key) for key in KEYS], samples_n=2)
    return bench


def numbers(bench: Bench, run_id: str) -> tuple[dict[str, dict[str, Any]], pl.DataFrame]:
    """The overall rows of the metrics with a range, and all scores."""
    done = bench.score(run_id)
    ranged = [m.name for m in catalog.result_metrics() if m.low is not None and m.high is not None]
    rows = done.read("run_metrics").filter(
        (pl.col("slice_by") == "all") & pl.col("metric").is_in(ranged)
    )
    return {row["metric"]: row for row in rows.to_dicts()}, done.read("scores")


def assert_nothing_rose(old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]) -> None:
    """Coverage is never higher, and the bounds hold the mean of the whole run."""
    for metric, before in old.items():
        after = new[metric]
        assert (after["coverage"] or 0.0) <= (before["coverage"] or 0.0), metric
        if before["mean"] is not None and after["worst_case"] is not None:
            low, high = sorted((after["worst_case"], after["best_case"]))
            assert low - EPS <= before["mean"] <= high + EPS, metric
