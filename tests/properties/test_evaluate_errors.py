"""Through the store: what is lost of a run can never raise a score unseen."""

from __future__ import annotations

import itertools

import polars as pl
import pytest
from bench import JUDGE, Bench, item
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crucible_batch.metrics import catalog

IDS = [f"q{n}" for n in range(6)]
KEYS = list(itertools.product(IDS, (0, 1)))
VERDICTS = ("supported", "partial", "missing", "contradicted")
EPS = 1e-12
_numbers = itertools.count()


def whole(item_id: str, sample: int) -> dict:
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
        "checks": [{"check_id": "c", "passed": n % 2 == 0}],
    }  # fmt: skip


def errored(row: dict) -> dict:
    return {"item_id": row["item_id"], "sample_index": row["sample_index"], "error": "timeout"}


def malformed(row: dict) -> dict:
    verdicts = [verdict | {"verdict": "malformed"} for verdict in row["verdicts"]]
    return row | {"verdicts": verdicts}


LOSSES = {"errored": errored, "malformed": malformed, "missing": lambda _: None}
losses = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(sorted(LOSSES)), min_size=1)


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    """Six items, two samples each; q5 is unanswerable, q4 has no judgments."""
    bench = Bench(tmp_path_factory.mktemp("errors"))
    bench.golden(
        *[item(q, must=2, required=("d1",) if q != "q4" else ()) for q in IDS[:5]],
        item("q5", must=2, answerable=False),
    )
    bench.qrels(*[(q, f"d{d}", (d + n) % 4) for n, q in enumerate(IDS[:4]) for d in range(4)])
    bench.run("whole", *[whole(*key) for key in KEYS], samples_n=2)
    return bench


def numbers(bench: Bench, run_id: str) -> tuple[dict[str, dict], pl.DataFrame]:
    """The overall rows of the metrics with a range, and all scores."""
    done = bench.score(run_id)
    ranged = [m.name for m in catalog.result_metrics() if m.low is not None and m.high is not None]
    rows = done.read("run_metrics").filter(
        (pl.col("slice_by") == "all") & pl.col("metric").is_in(ranged)
    )
    return {row["metric"]: row for row in rows.to_dicts()}, done.read("scores")


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(lost=losses)
def test_lost_results_lower_coverage_and_never_hide_the_old_mean(bench, lost):
    run_id = f"lost-{next(_numbers)}"
    results = [LOSSES[lost[key]](whole(*key)) if key in lost else whole(*key) for key in KEYS]
    present = [row for row in results if row is not None]
    if not present:
        return  # such a run cannot be loaded
    bench.run(run_id, *present, samples_n=2, retrieval_reported=True, citations_reported=True)
    old, old_scores = numbers(bench, "whole")
    new, new_scores = numbers(bench, run_id)

    on = ["item_id", "sample_index", "metric"]
    gone = pl.DataFrame(list(lost), schema=["item_id", "sample_index"], orient="row")
    untouched = [
        scores.join(gone, on=["item_id", "sample_index"], how="anti").sort(on)
        .select(*on, "value", "null_reason")
        for scores in (old_scores, new_scores)
    ]  # fmt: skip
    assert untouched[0].equals(untouched[1])

    was, now = old_scores.sort(on)["value"], new_scores.sort(on)["value"]
    removed = set(old_scores.sort(on)["metric"].filter(was.is_not_null() & now.is_null()))
    assert removed or set(lost.values()) == {"malformed"}
    for metric, before in old.items():
        after = new[metric]
        assert (after["coverage"] or 0.0) <= (before["coverage"] or 0.0), metric
        if metric in removed:
            assert after["coverage"] < before["coverage"], metric
        if before["mean"] is not None and after["worst_case"] is not None:
            low, high = sorted((after["worst_case"], after["best_case"]))
            assert low - EPS <= before["mean"] <= high + EPS, metric


def test_a_run_that_lost_one_result_in_twelve_is_degraded(bench):
    bench.run("one lost", *[whole(*key) for key in KEYS[1:]], samples_n=2)
    assert bench.score("one lost").row["status"] == "degraded"
    assert bench.score("whole").row["status"] == "succeeded"
