"""Many runs of a store on one page: what is scored, compared, left out of the ranking, refused."""

from __future__ import annotations

import json

import pytest
from bench import Bench, item, result

from crucible_batch.assemble.compare import compare_runs
from crucible_batch.assemble.evaluate import evaluate_run, evaluate_runs
from crucible_batch.assemble.league import report_league, write_league
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.report import to_json

IDS = [f"q{n:02}" for n in range(22)]
RIGHT = {"a": 5, "b": 18, "c": 18}


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    """Runs a, b and c of one golden set, and `elsewhere` of another one without a common item."""
    bench = Bench(tmp_path_factory.mktemp("league"))
    bench.golden(*[item(q, must=1) for q in IDS])
    for run_id, n_right in RIGHT.items():
        rows = [
            result(q, f"d-{q}", verdict="supported" if n < n_right else "missing", confidence=0.5)
            for n, q in enumerate(IDS)
        ]
        bench.run(run_id, *rows)
    bench.golden(item("other", must=1), golden_set="h")
    bench.run("elsewhere", result("other", "d", verdict="supported"), golden_set="h")
    return bench


def test_runs_are_ranked_by_the_numbers_of_their_evaluations(bench):
    league = report_league(bench.store, "default", ["a", "c", "b"])
    assert [(entry.run_id, entry.rank) for entry in league.entries] == [
        ("b", 1),
        ("c", 1),
        ("a", 3),
    ]
    numbers = evaluate_run(bench.store, "default", "a").read("run_metrics")
    (row,) = numbers.filter(slice_by="all", metric="accuracy").iter_rows(named=True)
    assert league.entries[-1].cells[0].value.value == row["mean"] == 5 / 22
    assert league.entries[-1].cells[0].low == row["ci_low"]


def test_the_baseline_gets_a_row_and_the_others_its_comparison(bench):
    league = report_league(bench.store, "default", ["b", "c"], baseline="a")
    assert [entry.run_id for entry in league.entries] == ["b", "c", "a"]
    rows = compare_runs(bench.store, "default", "a", "b").rows
    (row,) = rows.filter(slice_by="all", metric="accuracy").iter_rows(named=True)
    cell = league.entries[0].cells[0]
    assert (cell.delta.value, cell.verdict.word) == (row["delta"], row["verdict"])


def test_a_run_of_another_golden_set_is_shown_but_neither_ranked_nor_compared(bench):
    league = report_league(bench.store, "default", ["b", "elsewhere"], baseline="a")
    last = league.entries[-1]
    assert (last.run_id, last.rank) == ("elsewhere", None)
    assert last.outside == "another version of the golden set"
    assert last.cells[0].verdict.word == "no shared item"


def test_a_run_named_twice_counts_once_and_the_order_of_the_names_does_not_count(bench):
    one = report_league(bench.store, "default", ["a", "b", "a"])
    assert to_json(one) == to_json(report_league(bench.store, "default", ["b", "a"]))


def test_a_wrong_name_is_told_before_any_run_is_scored(bench, monkeypatch):
    monkeypatch.setattr("crucible_batch.assemble.league.evaluate_runs", None)
    with pytest.raises(UnknownNameError, match="nobody"):
        report_league(bench.store, "default", ["a", "nobody"])


def test_runs_scored_together_have_the_evaluations_they_have_alone(bench):
    together = evaluate_runs(bench.store, "default", ["a", "elsewhere", "b"])
    alone = [evaluate_run(bench.store, "default", one) for one in ("a", "elsewhere", "b")]
    assert [one.row for one in together] == [one.row for one in alone]
    assert not any(one.created for one in alone)


@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_one_model_is_written_in_the_format_of_the_suffix(bench, tmp_path, suffix):
    league = report_league(bench.store, "default", ["a", "b"])
    text = write_league(league, tmp_path / f"league{suffix}").read_text()
    assert "2 runs by Accuracy" in text
    if suffix == ".json":
        assert json.loads(text)["entries"][0]["run_id"] == "b"


def test_another_suffix_is_refused(bench, tmp_path):
    league = report_league(bench.store, "default", ["a", "b"])
    with pytest.raises(UsageError, match="pdf"):
        write_league(league, tmp_path / "league.pdf")
