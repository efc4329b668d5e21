"""The gate on a store: what it reads, what it writes, and what may never pass."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from bench import NOON, Bench, item, result
from gate_bench import (
    ACCURACY,
    ALERT,
    FLOOR,
    IDS,
    MUST,
    QUICK,
    RANKING,
    Gates,
    N,
    finished,
    results,
)

from crucible_batch.assemble.baselines import list_baselines, pin_baseline
from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError, UsageError

pytestmark = pytest.mark.slow  # scores and compares many nights


def test_a_real_loss_fails_and_an_equal_run_passes(gates):
    assert gates.run(ACCURACY + RANKING, "bad", "good").exit_code == 1
    done = gates.run(ACCURACY + RANKING, "same", "good")
    assert (done.exit_code, done.outcome) == (0, "pass")
    assert done.line.startswith("gate PASS  exit 0  same against good")


@pytest.mark.parametrize("run", ["good", "bad"])
def test_a_run_against_itself_passes(gates, run):
    assert gates.run(ACCURACY + RANKING, run, run).exit_code == 0


def test_the_rows_are_written_as_the_contract_says_and_once(gates):
    done = gates.run(ACCURACY + FLOOR + ALERT, "bad", "good")
    rows = pl.read_parquet(done.path)
    assert dict(rows.schema) == TABLES["gate_results"].schema
    assert done.path == gates.bench.root / "marts" / "gate_results" / f"{done.gate_id}.parquet"
    assert set(rows["gate_id"]) == {done.gate_id}
    row = rows.row(by_predicate=pl.col("rule_id") == "r", named=True)
    assert (row["outcome"], row["candidate_run_id"], row["baseline_run_id"]) == (
        "fail",
        "bad",
        "good",
    )
    assert row["comparison_id"] == done.comparison.comparison_id
    before, head = gates.bench.files(), gates.bench.head()
    again = gates.run(ACCURACY + FLOOR + ALERT, "bad", "good")
    assert again.gate_id == done.gate_id
    assert (gates.bench.files(), gates.bench.head()) == (before, head)


def test_another_gate_run_or_night_has_another_id(gates):
    ids = [
        gates.run(ACCURACY, "bad", "good").gate_id,
        gates.run(ACCURACY + "# why\n", "bad", "good").gate_id,
        gates.run(ACCURACY, "same", "good").gate_id,
        gates.run(ACCURACY, "bad", "same").gate_id,
        gates.run(ACCURACY, "bad", "good", as_of=NOON).gate_id,
    ]
    assert len(set(ids)) == len(ids)


# --- what may never pass ----------------------------------------------------------------------


def test_a_metric_that_is_null_everywhere_is_inconclusive(gates):
    for kind in (
        'kind = "regression"',
        'kind = "floor"\nfloor = 0',
        'kind = "max_drop"\nmax_drop = 1',
    ):
        done = gates.run(f'[[rules]]\nid = "x"\n{kind}\nmetric = "latency_ms"\n', "same", "good")
        assert (gates.outcomes(done)["x"], done.exit_code) == ("inconclusive", 3)


@pytest.mark.parametrize(
    "text",
    [
        ACCURACY.replace("accuracy", "acuracy"),
        ACCURACY + 'where = { slice_by = "shape", slice = "lookupp" }\n',
        MUST.replace("core", "cor"),
    ],
)
def test_a_name_that_is_not_there_exits_2(gates, text):
    with pytest.raises(UsageError) as error:
        gates.run(text, "same", "good")
    assert error.value.exit_code == 2
    assert "Did you mean" in str(error.value)


def test_a_metric_another_program_computed_is_known_where_a_run_has_it(gates):
    scores = [{"metric": "plugin.acme.tone", "value": 0.9}]
    rows = [one | {"scores": scores} for one in results(36)]
    text = '[[rules]]\nid = "p"\nkind = "floor"\nmetric = "plugin.acme.tone"\nfloor = 0.5\n'
    with pytest.raises(UsageError, match=r"plugin\.acme\.tone"):
        gates.run(text, "same", "good")
    gates.bench.run("toned", *rows)
    assert gates.outcomes(gates.run(text, "toned", "good"))["p"] == "pass"
    assert gates.outcomes(gates.run(text, "good", "toned"))["p"] == "inconclusive"
    with pytest.raises(UsageError, match="no direction"):
        gates.run(text.replace("floor = 0.5\n", "").replace("floor", "regression"), "toned", "good")


def test_a_degraded_candidate_or_baseline_is_inconclusive(gates):
    lost = results(36)
    for row in lost[:5]:
        row.clear()
        row |= {"item_id": IDS[lost.index(row)], "error": "timeout"}
    gates.bench.run("lost", *lost)
    for candidate, baseline in (("lost", "good"), ("good", "lost")):
        done = gates.run(ACCURACY + FLOOR, candidate, baseline)
        assert done.exit_code == 3
        assert gates.outcomes(done)["requirement:status"] == "inconclusive"
        assert gates.outcomes(done)["requirement:max_error_fraction"] == "inconclusive"
        assert gates.outcomes(done)["r"] == "inconclusive"


@pytest.mark.parametrize("status", ["failed", "running"])
def test_a_run_that_failed_or_still_runs_exits_4(gates, status):
    gates.bench.run("ill", *results(36), status=status)
    for candidate, baseline in (("ill", "good"), ("good", "ill")):
        done = gates.run(ACCURACY + FLOOR + MUST, candidate, baseline)
        assert (done.exit_code, done.outcome) == (4, "inconclusive")
        assert f"ill is {status}" in done.line
        assert done.path.is_file()


def test_another_judge_blocks_what_rests_on_one(gates):
    gates.bench.run("other", *results(36, judges=("judge@2",)), judge="judge@2")
    done = gates.run(ACCURACY + RANKING, "other", "good")
    found = gates.outcomes(done)
    assert (found["r"], found["n"], done.exit_code) == ("inconclusive", "pass", 3)
    assert gates.run(ACCURACY + FLOOR, "other", "good").exit_code == 4
    assert gates.run(RANKING, "other", "good").exit_code == 0


def test_another_golden_set_exits_4_unless_its_unchanged_items_are_enough(gates):
    gates.bench.golden(item("q00", must=1, required=("d-q00",), shape="privacy", tags=["new"]))
    gates.bench.run("later", *results(36))
    assert gates.run(RANKING, "later", "good").exit_code == 4
    allowed = "[requirements]\nsame_golden_set = false\n" + RANKING
    done = gates.run(allowed, "later", "good")
    assert (done.exit_code, done.comparison.rows["n_content_changed"][0]) == (0, 1)


def test_no_item_in_common_exits_4(gates):
    gates.bench.golden(item("z1", must=1), golden_set="h")
    gates.bench.run("apart", result("z1", "d", verdict="supported"), golden_set="h")
    done = gates.run("[requirements]\nsame_golden_set = false\n" + RANKING, "apart", "good")
    assert done.exit_code == 4
    assert "no item has the same content" in done.line


def test_lost_results_do_not_raise_a_mean_into_a_pass(gates):
    gates.bench.settings(QUICK.replace("ks = [10]", "ks = [10]\nerror_threshold = 0.9"))
    rows = results(36)
    for n in range(36, N):
        rows[n] = {"item_id": IDS[n], "error": "timeout"}
    gates.bench.run("lost", *rows)
    done = gates.run(FLOOR.replace("0.3", "0.95"), "lost", "good")
    assert gates.outcomes(done)["f"] == "inconclusive"
    assert gates.outcomes(done)["requirement:min_coverage"] == "inconclusive"
    assert done.exit_code == 3


# --- baselines --------------------------------------------------------------------------------


def test_latest_succeeded_is_the_newest_other_run_that_is_not_degraded(gates):
    finished(gates.bench, "newer", "11:00", *results(30))
    broken = [{"item_id": q, "error": "timeout"} for q in IDS]
    finished(gates.bench, "newest", "11:30", *broken)
    assert gates.run(ACCURACY, "good", "latest-succeeded").verdict.baseline == "newer"
    early = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
    done = gates.run(ACCURACY, "bad", "latest-succeeded", as_of=early)
    assert done.verdict.baseline == "same"


def test_without_an_earlier_run_the_gate_is_inconclusive(tmp_path):
    gates = Gates.__new__(Gates)
    gates.bench, gates.path = Bench(tmp_path), tmp_path / "gate.toml"
    gates.bench.golden(*[item(q, must=1, tags=["core"]) for q in IDS])
    gates.bench.run("only", *results(40))
    for text in (ACCURACY, FLOOR, MUST, ALERT):
        done = gates.run(text, "only", "latest-succeeded")
        assert (done.exit_code, done.verdict.baseline) == (3, None)
        assert pl.read_parquet(done.path)["baseline_run_id"].to_list() == [None] * len(
            done.verdict.results
        )
    assert gates.outcomes(gates.run(FLOOR, "only", "latest-succeeded"))["f"] == "pass"


def test_a_run_or_baseline_that_is_not_there_exits_2(gates):
    for candidate, baseline in (("goood", "good"), ("good", "goood"), ("good", "pinned:x")):
        with pytest.raises(UnknownNameError):
            gates.run(ACCURACY, candidate, baseline)


def pin(gates: Gates, name: str, run: str, reason: str = "release 4"):
    return pin_baseline(gates.bench.store, "default", name, run, reason=reason, author="ann")


def test_a_pin_is_one_more_row_with_its_reason_and_an_audit_event(gates):
    assert pin(gates, "release", "bad").created
    assert pin(gates, "release", "good").created
    pins = list_baselines(gates.bench.store.workspace("default").snapshot())
    assert pins.select("name", "seq", "run_id", "reason", "author").rows() == [
        ("release", 1, "bad", "release 4", "ann"),
        ("release", 2, "good", "release 4", "ann"),
    ]
    events = [e for e in gates.bench.rows("audit_log") if e["action"] == "baseline.pin"]
    assert sorted((e["target"], e["detail"]) for e in events) == [
        ("release", '{"reason":"release 4","run_id":"bad","seq":1}'),
        ("release", '{"reason":"release 4","run_id":"good","seq":2}'),
    ]
    assert gates.run(ACCURACY, "same", "pinned:release").verdict.baseline == "good"


def test_pinning_the_same_again_is_a_no_op_and_back_again_is_not(gates):
    pin(gates, "release", "good")
    assert not pin(gates, "release", "good").created
    assert pin(gates, "release", "good", "looked again").created
    assert pin(gates, "release", "same").created
    assert pin(gates, "release", "good").created


@pytest.mark.parametrize(
    ("name", "run", "reason", "said"),
    [
        ("", "good", "x", "name is blank"),
        ("a", "good", " ", "reason is blank"),
        ("a\nb", "good", "x", "no id"),
        ("pinned:a", "good", "x", "begins with 'pinned:'"),
        ("a", "goood", "x", "No run is called 'goood'"),
        ("a", "ill", "x", "Run ill is failed"),
    ],
)
def test_a_pin_that_could_not_serve_is_refused(gates, name, run, reason, said):
    gates.bench.run("ill", *results(36), status="failed")
    with pytest.raises(UsageError) as error:
        pin(gates, name, run, reason)
    assert said in str(error.value)
