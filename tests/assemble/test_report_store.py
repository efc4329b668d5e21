"""The report of a run of a store: what goes in, what is written, and when it is refused."""

from __future__ import annotations

import json

import pytest
from bench import Bench, item, result

from crucible_batch.assemble.compare import CompareOptions
from crucible_batch.assemble.report import report_run, write_report
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.report import build_report, to_html, to_json

IDS = [f"q{n:02}" for n in range(22)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    """Run `old` has the old version of q00, run `new` the new one."""
    bench = Bench(tmp_path_factory.mktemp("report"))
    bench.golden(*[item(q, must=1) for q in IDS])
    for run_id, n_right in (("old", 5), ("new", 18)):
        if run_id == "new":
            bench.golden(item("q00", must=1) | {"question": "A new question of q00?"})
        rows = [
            result(q, f"d-{q}", verdict="supported" if n < n_right else "missing", confidence=0.5)
            for n, q in enumerate(IDS)
        ]
        bench.run(run_id, *rows)
    return bench


def test_a_run_alone_is_reported_with_its_numbers(bench, tmp_path):
    done = report_run(bench.store, "default", "old")
    assert done.comparison is None
    page = write_report(done.report, tmp_path / "x.html").read_text()
    assert "<html" in page
    assert "old" in page


def test_the_report_of_the_same_store_is_the_same_text(bench):
    one, other = (report_run(bench.store, "default", "new", baseline="old") for _ in range(2))
    assert to_json(one.report) == to_json(other.report)
    assert to_html(one.report) == to_html(other.report)


@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_one_model_is_written_in_the_format_of_the_suffix(bench, tmp_path, suffix):
    done = report_run(bench.store, "default", "old")
    path = tmp_path / "deeper" / f"report{suffix}"
    assert write_report(done.report, path) == path
    assert path.read_text()
    assert [child.name for child in path.parent.iterdir()] == [path.name]
    if suffix == ".json":
        json.loads(path.read_text())


def test_another_suffix_is_refused_and_nothing_is_written(bench, tmp_path):
    done = report_run(bench.store, "default", "old")
    with pytest.raises(UsageError, match="pdf"):
        write_report(done.report, tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("run", "baseline"), [("new", "old"), ("old", "new")])
def test_an_item_of_two_versions_is_shown_as_the_reported_run_saw_it(
    bench, monkeypatch, run, baseline
):
    built = []

    def build(inputs):
        built.append(inputs)
        return build_report(inputs)

    monkeypatch.setattr("crucible_batch.assemble.report.build_report", build)
    options = CompareOptions(allow_golden_change=True)
    report_run(bench.store, "default", run, baseline=baseline, options=options)
    items = built[0].golden_items
    assert items["item_id"].sort().to_list() == IDS
    (question,) = items.filter(items["item_id"] == "q00")["question"]
    assert (question == "A new question of q00?") is (run == "new")


def test_an_unknown_run_or_baseline_is_a_wrong_name(bench):
    with pytest.raises(UnknownNameError):
        report_run(bench.store, "default", "nobody")
    with pytest.raises(UnknownNameError):
        report_run(bench.store, "default", "new", baseline="nobody")


def test_a_run_is_not_its_own_baseline(bench):
    with pytest.raises(UsageError, match="'old' is its own baseline"):
        report_run(bench.store, "default", "old", baseline="old")
