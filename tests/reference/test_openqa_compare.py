"""301 human-judged questions, FiD against FiD-KD: the published difference, through the store."""

from __future__ import annotations

import json
import random

import openqa as builder
import polars as pl
import pytest

from crucible_batch.assemble.compare import compare_runs
from crucible_batch.assemble.load import load_golden, load_run
from crucible_batch.store import Store

OVERALL = (pl.col("slice_by") == "all") & (pl.col("metric") == "accuracy")


@pytest.fixture(scope="module")
def store(cases, tmp_path_factory) -> Store:
    """Both systems; `FiD twice` and `FiD twice, shuffled` hold FiD and FiD-KD as two samples."""
    folder = tmp_path_factory.mktemp("openqa")
    openqa = builder.build(cases / "data" / "openqa_nq301", folder)
    store = Store.create(folder / "store")
    load_golden(store, [openqa.golden], golden_set="nq301")
    for path in openqa.runs.values():
        load_run(store, [path])
    for run_id, order in (("two", (0, 1)), ("two, in another order", (1, 0))):
        path = folder / f"{run_id}.jsonl"
        path.write_text(_two_samples(run_id, list(openqa.runs.values()), order), encoding="utf-8")
        load_run(store, [path])
    return store


def _two_samples(run_id, paths, order) -> str:
    """Both systems as samples of one run; `order` says which of them is sample 0."""
    lines = [json.dumps({"run": {"run_id": run_id, "judge": {"judge": "human@2023"}}})]
    results = []
    for place, path in zip(order, paths, strict=True):
        texts = path.read_text(encoding="utf-8").splitlines()[1:]
        results += [json.dumps(json.loads(text) | {"sample_index": place}) for text in texts]
    random.Random(order[0]).shuffle(results)
    return "\n".join([*lines, *results]) + "\n"


@pytest.fixture(scope="module")
def accuracy(store):
    """The row of accuracy of one comparison."""

    def compare(baseline: str, candidate: str) -> dict:
        done = compare_runs(store, "default", baseline, candidate)
        return done.rows.filter(OVERALL).row(0, named=True)

    return compare


def test_fid_kd_is_better_by_the_published_difference(accuracy):
    row = accuracy("FiD", "FiD-KD")
    assert row["delta"] == pytest.approx(25 / 301, abs=1e-9)
    assert round(row["delta"], 4) == 0.0831
    assert (row["mean_baseline"], row["mean_candidate"]) == (195 / 301, 220 / 301)
    assert (row["n_pairs"], row["n_better"], row["n_worse"]) == (301, 37, 12)


def test_its_p_is_the_exact_binomial_of_37_against_12(accuracy):
    from scipy.stats import binomtest

    row = accuracy("FiD", "FiD-KD")
    assert row["p_method"] == "exact"
    assert row["p_value"] == pytest.approx(binomtest(12, 49).pvalue, rel=1e-12)
    assert float(f"{row['p_value']:.2g}") == 0.00047


def test_its_bca_interval_is_the_published_one(accuracy):
    row = accuracy("FiD", "FiD-KD")
    assert row["ci_method"] == "bca"
    assert (round(row["ci_low"], 4), round(row["ci_high"], 4)) == (0.0399, 0.1296)


def test_the_verdict_is_improved_after_adjustment(accuracy):
    row = accuracy("FiD", "FiD-KD")
    assert row["verdict"] == "improved"
    assert row["family"] == "headline"
    assert row["p_value"] <= row["p_adjusted"] <= 0.05


def test_the_other_way_round_is_the_exact_mirror(accuracy):
    there, back = accuracy("FiD", "FiD-KD"), accuracy("FiD-KD", "FiD")
    assert back["delta"] == -there["delta"]
    assert (back["ci_low"], back["ci_high"]) == (-there["ci_high"], -there["ci_low"])
    assert (back["n_better"], back["n_worse"]) == (there["n_worse"], there["n_better"])
    assert back["p_value"] == there["p_value"]
    assert back["verdict"] == "regressed"


@pytest.mark.parametrize(
    ("baseline", "candidate"),
    [("FiD", "FiD"), ("two", "two"), ("two", "two, in another order")],
)
def test_a_run_against_itself_in_whatever_sample_order_has_no_difference(
    store, baseline, candidate
):
    rows = compare_runs(store, "default", baseline, candidate).rows
    measured = rows.filter(pl.col("n_pairs") > 0)
    assert measured.height > 5
    assert measured["delta"].to_list() == [0.0] * measured.height
    assert measured["p_value"].to_list() == [1.0] * measured.height
    assert measured["ci_low"].drop_nulls().to_list() == [0.0] * measured.height
    assert not set(rows["verdict"]) & {"improved", "regressed", "changed"}


def test_the_samples_of_the_two_orders_are_really_swapped(store):
    first = {
        run: dict(
            store.table("results")
            .filter((pl.col("run_id") == run) & (pl.col("sample_index") == 0))
            .select("item_id", "answer")
            .collect()
            .iter_rows()
        )
        for run in ("two", "two, in another order")
    }
    assert first["two"] != first["two, in another order"]
