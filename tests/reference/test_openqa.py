"""301 human-judged questions load whole: nothing is quarantined, nothing lost."""

from __future__ import annotations

import openqa as builder
import polars as pl
import pytest

from crucible_batch.assemble.load import load_golden, load_run
from crucible_batch.store import Store


@pytest.fixture(scope="module")
def openqa(cases, tmp_path_factory):
    return builder.build(cases / "data" / "openqa_nq301", tmp_path_factory.mktemp("openqa"))


@pytest.fixture(scope="module")
def loaded(openqa, tmp_path_factory):
    store = Store.create(tmp_path_factory.mktemp("store"))
    reports = [load_golden(store, [openqa.golden], golden_set="nq301")]
    reports += [load_run(store, [path]) for path in openqa.runs.values()]
    return store, reports


def test_301_items_and_602_results_load_and_nothing_is_quarantined(loaded):
    store, reports = loaded
    counts = {name: store.table(name).select(pl.len()).collect().item() for name in COUNTED}
    assert counts == COUNTED
    assert [report.n_quarantined for report in reports] == [0, 0, 0]
    assert [report.messages for report in reports[1:]] == [(), ()]


COUNTED = {
    "golden_items": 301,
    "golden_assertions": 301,
    "results": 602,
    "assertion_verdicts": 602,
    "runs": 2,
}


def test_both_runs_are_measured_by_the_same_version_of_the_set(loaded):
    store, reports = loaded
    hashes = store.table("runs").collect()["golden_set_hash"].unique().to_list()
    assert hashes == [reports[0].facts["golden_set_hash"]]


def test_the_human_verdicts_are_the_published_accuracies(openqa, loaded):
    store, _ = loaded
    supported = store.table("assertion_verdicts").filter(pl.col("verdict") == "supported")
    right = dict(supported.group_by("run_id").len().collect().iter_rows())
    assert right == {"FiD": 195, "FiD-KD": 220}
    better = openqa.right["FiD-KD"] - openqa.right["FiD"]
    worse = openqa.right["FiD"] - openqa.right["FiD-KD"]
    assert (len(better), len(worse)) == (37, 12)


def test_loading_all_of_it_again_changes_nothing(openqa, loaded):
    store, _ = loaded
    again = [load_golden(store, [openqa.golden], golden_set="nq301")]
    again += [load_run(store, [path]) for path in openqa.runs.values()]
    assert [report.created for report in again] == [False, False, False]
