"""`crucible report` with several runs writes a league page, with one the report of that run."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def three_runs(golden, crucible, file):
    """Runs a, b and c in the golden set `faq`."""
    for run_id in ("a", "b", "c"):
        results = [{"item_id": f"q{n}", "answer": "So."} for n in (1, 2)]
        path = file(f"{run_id}.jsonl", {"run": {"run_id": run_id, "golden_set": "faq"}}, *results)
        assert crucible("load", "run", path).code == 0
    return golden


def test_several_runs_make_a_league_page(three_runs, crucible, tmp_path):
    done = crucible("report", "a", "b", "--baseline", "c", "-o", tmp_path / "x.json")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"wrote {tmp_path / 'x.json'}\n"
    page = json.loads((tmp_path / "x.json").read_text())
    assert sorted(entry["run_id"] for entry in page["entries"]) == ["a", "b", "c"]
    assert page["baseline"] == "c"


def test_one_run_named_twice_makes_its_report(three_runs, crucible, tmp_path):
    assert crucible("report", "a", "a", "-o", tmp_path / "x.json").code == 0
    assert json.loads((tmp_path / "x.json").read_text())["run"]["run_id"] == "a"


def test_a_wrong_name_among_many_leaves_no_file(three_runs, crucible, tmp_path):
    done = crucible("report", "a", "nobody", "-o", tmp_path / "x.html")
    assert done.code != 0
    assert "nobody" in done.err
    assert not (tmp_path / "x.html").exists()


def test_no_run_at_all_is_a_slip_of_the_command(three_runs, crucible, tmp_path):
    assert crucible("report", "-o", tmp_path / "x.html").code == 2
