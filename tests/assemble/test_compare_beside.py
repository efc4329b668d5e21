"""What stands beside a comparison: unequal judging, the judge's own change, numbers of the run."""

from __future__ import annotations

import math

import polars as pl
import pytest
from bench import Bench, compared, item, result

from crucible_batch.assemble.compare import Comparison

N = 24
IDS = [f"q{n:02}" for n in range(N)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    """24 items with one relevant document each; `seen` finds it second, behind a judged one.

    `unseen` has two unjudged documents before it, so that it loses by nDCG, and not by judged
    documents alone. Half of the answers are the same.
    """
    bench = Bench(tmp_path_factory.mktemp("beside"))
    bench.golden(
        *[item(q, must=1, shape="lookup" if n % 2 else "privacy") for n, q in enumerate(IDS)]
    )
    bench.qrels(*[(q, f"d-{q}", 3) for q in IDS], *[(q, "bad", 0) for q in IDS])

    def results(*before: str, word: str, n_right: int) -> list[dict]:
        return [
            result(
                q,
                *before,
                f"d-{q}",
                verdict="supported" if n < n_right else "missing",
                answer="The same." if n < N // 2 else f"{word} {q}.",
                confidence=(n + 1) / (N + 1),
            )
            for n, q in enumerate(IDS)
        ]

    bench.run("seen", *results("bad", word="One", n_right=18))
    bench.run("unseen", *results("u1", "u2", word="Other", n_right=9))
    return bench


@pytest.fixture(scope="module")
def done(bench) -> Comparison:
    return bench.compare("seen", "unseen")


def test_judged_shares_and_the_delta_on_judged_documents_stand_beside_a_retrieval_metric(done):
    row = compared(done, "ndcg_at_10")
    assert row["delta"] == pytest.approx(1 / math.log2(4) - 1 / math.log2(3), abs=1e-9)
    assert row["judged_at_k_baseline"] == 1.0
    assert row["judged_at_k_candidate"] == pytest.approx(1 / 3, abs=1e-12)
    # Without the unjudged the relevant document moves from second to first.
    assert row["delta_judged_only"] == pytest.approx(1 - 1 / math.log2(3), abs=1e-9)
    assert (row["verdict"], row["unequal_judging"]) == ("regressed", True)
    of_slice = compared(done, "ndcg_at_10", "shape", "lookup")
    assert of_slice["delta_judged_only"] == pytest.approx(1 - 1 / math.log2(3), abs=1e-9)


def test_where_every_document_is_judged_the_delta_on_judged_documents_is_the_delta(bench):
    row = compared(bench.compare("seen", "seen"), "ndcg_at_10")
    assert (row["delta"], row["delta_judged_only"], row["unequal_judging"]) == (0.0, 0.0, False)


def test_a_metric_that_reads_no_judgments_has_no_judged_columns(done):
    row = compared(done, "accuracy")
    names = ("judged_at_k_baseline", "judged_at_k_candidate", "delta_judged_only")
    assert [row[name] for name in names] == [None, None, None]


def test_the_change_of_verdicts_on_answers_that_are_the_same_is_counted(done):
    row = compared(done, "accuracy")
    assert (row["n_identical_answers"], row["delta_identical_answers"]) == (12, -3 / 12)
    halves = [compared(done, "accuracy", "shape", name) for name in ("lookup", "privacy")]
    assert [half["n_identical_answers"] for half in halves] == [6, 6]
    assert sum(6 * half["delta_identical_answers"] for half in halves) == pytest.approx(-3)
    ranked = compared(done, "ndcg_at_10")
    assert (ranked["n_identical_answers"], ranked["delta_identical_answers"]) == (None, None)


def test_the_other_way_round_mirrors_what_stands_beside(bench, done):
    mirrored = bench.compare("unseen", "seen")
    key = ["slice_by", "slice", "metric"]
    both = done.rows.join(mirrored.rows, on=key, suffix="_back")
    assert both.height == done.rows.height == mirrored.rows.height
    for name in ("delta", "delta_judged_only", "delta_identical_answers"):
        assert (both[name].fill_null(9) + both[f"{name}_back"].fill_null(-9) == 0).all(), name
    assert both["judged_at_k_baseline"].equals(both["judged_at_k_candidate_back"], null_equal=True)


def test_a_number_of_the_run_is_compared_and_never_tested(done):
    row = compared(done, "aurc")
    before, after = (
        side.evaluation.read("run_metrics").filter(metric="aurc", slice_by="all")["mean"][0]
        for side in (done.baseline, done.candidate)
    )
    assert (row["mean_baseline"], row["mean_candidate"]) == (before, after)
    assert row["delta"] == pytest.approx(after - before, abs=1e-15)
    assert (row["verdict"], row["n_pairs"]) == ("no_test", 0)
    untested = ("p_value", "p_adjusted", "family", "ci_low", "sd_delta", "n_better")
    assert [row[name] for name in untested] == [None] * len(untested)
    assert compared(done, "aurc", "shape", "lookup")["verdict"] == "no_test"


def test_a_number_one_run_lacks_has_no_delta(bench):
    for name, more in (("with", {"verdict": "missing", "confidence": 0.5}), ("without", {})):
        bench.run(name, *[result(q, f"d-{q}", **more) for q in IDS])
    row = compared(bench.compare("without", "with"), "aurc")
    assert (row["mean_baseline"], row["mean_candidate"]) == (None, 1.0)
    assert (row["delta"], row["verdict"]) == (None, "no_test")


def test_numbers_of_runs_over_different_sets_have_no_delta(bench):
    grown = Bench(bench.folder / "grown")
    for extra, run in (((), "old"), (("q99",), "new")):
        ids = [*IDS, *extra]
        grown.golden(*[item(q, must=1) for q in ids])
        results = [
            result(q, verdict="supported" if n % 2 else "missing", confidence=n / 99)
            for n, q in enumerate(ids)
        ]
        grown.run(run, *results)
    row = compared(grown.compare("old", "new", allow_golden_change=True), "aurc")
    assert row["golden_set_changed"]
    assert row["mean_baseline"] is not None
    assert row["delta"] is None


def test_a_metric_on_the_log_scale_measures_its_noise_on_that_scale(bench):
    shares = []
    for unit in (1.0, 1000.0):
        for name, slope in ((f"slow{unit}", 2), (f"fast{unit}", 1)):
            samples = [
                result(q, latency_ms=unit * (100 + slope * n + 20 * s), sample_index=s)
                for n, q in enumerate(IDS)
                for s in range(2)
            ]
            bench.run(name, *samples, samples_n=2)
        done = bench.compare(f"slow{unit}", f"fast{unit}")
        shares.append(compared(done, "latency_ms")["within_item_share"])
    assert shares[0] > 0
    assert shares[1] == pytest.approx(shares[0], rel=1e-9)


def test_every_row_of_every_slice_is_there_once(done):
    keys = done.rows.select("slice_by", "slice", "metric")
    assert keys.is_unique().all()
    assert pl.Series(["aurc", "accuracy", "ndcg_at_10"]).is_in(keys["metric"].implode()).all()
