"""The gate of a night: its outcome is the night's, in the row, on the page, in the exit code."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from nights import Nights

from crucible_batch.assemble.nightly import parse_as_of
from crucible_batch.errors import UsageError
from crucible_batch.report.words import dotted

NIGHT = "2026-05-01"
FLOOR = '[[rules]]\nid = "found"\nkind = "floor"\nmetric = "retrieval_hit_rate"\nfloor = 0.5\n'
REGRESSION = '[[rules]]\nid = "r"\nkind = "regression"\nmetric = "retrieval_hit_rate"\n'
TWICE = f"[gate]\nconfirm_runs = 2\n{REGRESSION}"


@pytest.fixture
def nights(tmp_path) -> Nights:
    """A job whose baseline is loaded, with a floor."""
    job = Nights(tmp_path)
    job.run("base", "01:00")
    job.gate(FLOOR)
    return job


def row_of(nights: Nights, as_of: str) -> dict[str, Any]:
    """The `nightly` row of a night."""
    rows = nights.night(as_of).store.table("nightly").collect()
    return rows.filter(pl.col("as_of") == parse_as_of(as_of)).row(0, named=True)


@pytest.mark.parametrize(
    ("n_right", "outcome", "code"), [(3, "pass", 0), (0, "fail", 1), (1, "inconclusive", 3)]
)
def test_the_outcome_stands_in_the_row_the_page_the_line_and_the_exit_code(
    nights, n_right, outcome, code
):
    nights.run("new", "02:00", n_right=n_right)
    done = nights.do(NIGHT)
    assert done.exit_code == code
    assert done.gate_told.line.startswith(f"gate {outcome.upper()}  exit {code}  new against base")
    row = row_of(nights, NIGHT)
    assert (row["gate_id"], row["gate_outcome"]) == (done.gate.gate_id, outcome)
    assert pl.read_parquet(done.gate.path)["gate_id"].unique().to_list() == [row["gate_id"]]
    page = done.report.read_text(encoding="utf-8")
    assert dotted(done.gate_told.line) in page
    for rule in done.gate.verdict.results:
        assert f"<bdi>{rule.rule_id}</bdi>" in page
    assert done.to_dict()["gate"] == {
        "gate_id": row["gate_id"],
        "outcome": outcome,
        "exit_code": code,
        "line": done.gate_told.line,
    }


@pytest.mark.parametrize(("run", "code"), [({"n_right": 0}, 1), ({"status": "failed"}, 4)])
def test_a_second_run_of_a_night_exits_with_the_code_of_the_first(nights, run, code):
    nights.run("new", "02:00", **run)
    first = nights.do(NIGHT)
    again = nights.do(NIGHT)
    assert (first.exit_code, again.exit_code) == (code, code)
    assert again.is_repeat
    assert again.gate_told == first.gate_told
    first.gate.path.unlink()
    cleared = nights.do(NIGHT).gate_told
    assert cleared.outcome == first.gate.outcome
    assert cleared.exit_code != 0


def test_without_a_gate_nothing_is_judged(nights):
    del nights.top["gate"]
    nights.run("new", "02:00", n_right=0)
    done = nights.do(NIGHT)
    assert (done.gate, done.gate_told, done.exit_code) == (None, None, 0)
    assert "Gate" not in done.report.read_text(encoding="utf-8")
    row = row_of(nights, NIGHT)
    assert (row["gate_id"], row["gate_outcome"]) == (None, None)


@pytest.mark.parametrize(
    ("gate", "baseline", "said"),
    [
        (TWICE, "latest-succeeded", "confirm_runs = 2 needs a baseline that stays"),
        ("[gate]\nalhpa = 0.1\n" + FLOOR, "base", "Did you mean alpha"),
    ],
)
def test_a_gate_that_cannot_be_used_is_told_before_anything_is_loaded(
    tmp_path, gate, baseline, said
):
    nights = Nights(tmp_path, baseline=baseline)
    nights.gate(gate)
    with pytest.raises(UsageError, match=said):
        nights.do(NIGHT)
    assert not nights.root.exists()


@pytest.mark.slow
def test_a_regression_is_suspected_one_night_and_confirmed_the_next(tmp_path):
    nights = Nights(tmp_path, n_items=40)
    nights.run("base", "01:00")
    nights.gate(TWICE)
    told = []
    for hour, n_right in enumerate((20, 20, 40, 20), start=2):
        nights.run(f"run{hour}", f"{hour:02}:00", n_right=n_right)
        night = date(2026, 5, 1) + timedelta(days=hour)
        done = nights.do(night.isoformat())
        rule = next(one for one in done.gate.verdict.results if one.rule_id == "r")
        told.append((rule.confirmation, done.exit_code))
    assert told == [("suspected", 0), ("confirmed", 1), ("none", 0), ("suspected", 0)]
