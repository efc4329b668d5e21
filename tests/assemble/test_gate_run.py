"""The gate on a store: what it reads, what it writes, and what may never pass."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bench import JUDGE, NOON, Bench, item, result

from crucible_batch.assemble.baselines import list_baselines, pin_baseline
from crucible_batch.assemble.gate import GateRun, gate_text, run_gate, self_test
from crucible_batch.assemble.gate.gather import open_alerts
from crucible_batch.assemble.load import load_run
from crucible_batch.contracts import TABLES
from crucible_batch.errors import NotComparableError, UnknownNameError, UsageError

pytestmark = pytest.mark.slow  # scores and compares many nights

N = 40
IDS = [f"q{n:02}" for n in range(N)]
ACCURACY = '[[rules]]\nid = "r"\nkind = "regression"\nmetric = "accuracy"\n'
RANKING = '[[rules]]\nid = "n"\nkind = "regression"\nmetric = "retrieval_hit_rate"\n'
FLOOR = '[[rules]]\nid = "f"\nkind = "floor"\nmetric = "accuracy"\nfloor = 0.3\n'
MUST = '[[rules]]\nid = "m"\nkind = "must_pass"\ntag = "core"\n'
QUICK = "[scoring]\nks = [10]\n[statistics]\nn_resamples = 1000\n"
ALERT = '[[rules]]\nid = "a"\nkind = "no_open_alert"\n'


def results(n_right: int, *, ids: list[str] = IDS, **more: Any) -> list[dict[str, Any]]:
    """The first so many items are answered rightly, with their document found."""
    return [
        result(
            q,
            f"d-{q}" if n < n_right else "other",
            verdict="supported" if n < n_right else "missing",
            **more,
        )
        for n, q in enumerate(ids)
    ]


def finished(bench: Bench, run: str, at: str, *rows: dict[str, Any]) -> None:
    """Load a run that succeeded at this time of 2026-03-01."""
    header = {
        "run_id": run,
        "golden_set": "g",
        "judge": {"judge": JUDGE},
        "status": "succeeded",
        "occurred_at": f"2026-03-01T{at}:00Z",
    }
    load_run(bench.store, [bench.file({"run": header}, *rows)])


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Forty items; `good` has 36 right, `same` as well, `bad` 20."""
    bench = Bench(tmp_path_factory.mktemp("gate"))
    bench.golden(
        *[
            item(
                q,
                must=1,
                required=(f"d-{q}",),
                shape="lookup" if n % 2 else "privacy",
                tags=["core"] if n < 2 else ["far"],
            )
            for n, q in enumerate(IDS)
        ]
    )
    bench.settings(QUICK)
    for run, n_right in (("good", 36), ("same", 36), ("bad", 20)):
        finished(bench, run, "10:00", *results(n_right))
    for run in ("good", "same", "bad"):
        bench.score(run)
    return bench.store.root


class Gates:
    """A store of one's own, and gates over it."""

    def __init__(self, folder: Path, template: Path) -> None:
        self.bench = Bench(folder, template)
        self.path = folder / "gate.toml"

    def write(self, text: str) -> Path:
        self.path.write_text(text, encoding="utf-8")
        return self.path

    def run(self, text: str, candidate: str, baseline: str, **more: Any) -> GateRun:
        return run_gate(self.bench.store, "default", candidate, baseline, self.write(text), **more)

    def outcomes(self, done: GateRun) -> dict[str, str]:
        return {one.rule_id: one.outcome for one in done.verdict.results}


@pytest.fixture
def gates(tmp_path, made, monkeypatch) -> Gates:
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    return Gates(tmp_path, made)


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


# --- nights -----------------------------------------------------------------------------------


def night(gates: Gates, as_of: datetime, done: GateRun) -> None:
    gates.bench.append(
        "nightly",
        {
            "as_of": as_of,
            "candidate_run_id": done.verdict.candidate,
            "baseline_run_id": done.verdict.baseline,
            "gate_id": done.gate_id,
            "gate_outcome": done.outcome,
        },
    )


CONFIRM = "[gate]\nconfirm_runs = 2\n" + ACCURACY
NIGHTS = [datetime(2026, 3, 2 + n, tzinfo=UTC) for n in range(3)]


def confirmation(done: GateRun) -> str:
    return next(one.confirmation for one in done.verdict.results if one.rule_id == "r")


def test_a_regression_goes_red_on_its_second_night(gates):
    first = gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[0])
    assert (first.exit_code, confirmation(first)) == (0, "suspected")
    assert "suspected: r" in first.line
    night(gates, NIGHTS[0], first)
    gates.bench.run("worse", *results(18))
    second = gates.run(CONFIRM, "worse", "good", as_of=NIGHTS[1])
    assert (second.exit_code, confirmation(second)) == (1, "confirmed")
    night(gates, NIGHTS[1], second)
    gates.bench.run("still", *results(19))
    third = gates.run(CONFIRM, "still", "good", as_of=NIGHTS[2])
    assert (third.exit_code, confirmation(third)) == (1, "confirmed")


def test_a_quiet_night_between_starts_anew(gates):
    night(gates, NIGHTS[0], gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[0]))
    night(gates, NIGHTS[1], gates.run(CONFIRM, "same", "good", as_of=NIGHTS[1]))
    gates.bench.run("worse", *results(18))
    third = gates.run(CONFIRM, "worse", "good", as_of=NIGHTS[2])
    assert (third.exit_code, confirmation(third)) == (0, "suspected")


def test_a_night_against_another_baseline_confirms_nothing(gates):
    night(gates, NIGHTS[0], gates.run(CONFIRM, "bad", "same", as_of=NIGHTS[0]))
    gates.bench.run("worse", *results(18))
    second = gates.run(CONFIRM, "worse", "good", as_of=NIGHTS[1])
    assert confirmation(second) == "suspected"


def test_a_night_never_confirms_itself(gates):
    first = gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[0])
    night(gates, NIGHTS[0], first)
    assert confirmation(gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[0])) == "suspected"
    assert confirmation(gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[1])) == "suspected"
    assert confirmation(gates.run(CONFIRM, "bad", "good")) == "suspected"


def test_confirming_against_the_latest_run_exits_2(gates):
    with pytest.raises(UsageError, match="stays"):
        gates.run(CONFIRM, "bad", "latest-succeeded")


# --- must pass and flaky ----------------------------------------------------------------------


def test_must_pass_items_are_judged_sample_by_sample(gates):
    assert gates.outcomes(gates.run(MUST, "same", "good"))["m"] == "pass"
    rows = results(36)
    rows[1] = result(IDS[1], "d", verdict="missing")
    gates.bench.run("slip", *rows)
    done = gates.run(MUST, "slip", "good")
    assert done.exit_code == 1
    assert "q01 (0 of 1 right)" in gate_text(done.verdict)
    rows[1] = result(IDS[1], "d", verdict="malformed")
    gates.bench.run("unread", *rows)
    assert gates.run(MUST, "unread", "good").exit_code == 3


def test_a_flaky_item_is_left_out_until_its_day_measured_by_the_night(gates, tmp_path):
    rows = results(37)  # one better for the one that is worse
    rows[1] = result(IDS[1], "d", verdict="missing")
    finished(gates.bench, "slip", "10:00", *rows)
    (tmp_path / "flaky.toml").write_text(
        '[[items]]\nitem_id = "q01"\nreason = "two policies"\nexpires = 2026-03-10\n'
    )
    text = '[gate]\nflaky = "flaky.toml"\n' + MUST + ACCURACY
    by_finish = gates.run(text, "slip", "good")
    assert by_finish.exit_code == 0
    assert "q01: set aside until 2026-03-10 (two policies)" in gate_text(by_finish.verdict)
    assert by_finish.comparison.rows["n_pairs"].max() == N  # it is in every other number
    day = datetime(2026, 3, 10, tzinfo=UTC)
    assert gates.run(text, "slip", "good", as_of=day - timedelta(seconds=1)).exit_code == 0
    late = gates.run(text, "slip", "good", as_of=day)
    assert late.exit_code == 1
    assert "expired" in gate_text(late.verdict)


# --- alerts -----------------------------------------------------------------------------------


def alert(kind: str, *, seq: int, severity: str = "warn", episode: int = 1, day: int = 1) -> dict:
    return {
        "event_id": f"e{episode}-{seq}",
        "fingerprint": "f1",
        "episode": episode,
        "seq": seq,
        "kind": kind,
        "severity": severity,
        "payload": "{}",
        "occurred_at": datetime(2026, 3, day, tzinfo=UTC),
    }


def test_open_alerts_fail_and_resolved_ones_do_not(gates):
    assert gates.run(ALERT, "same", "good").exit_code == 0
    gates.bench.append("alert_events", alert("pending", seq=1))
    assert gates.run(ALERT, "same", "good").exit_code == 0
    gates.bench.append("alert_events", alert("opened", seq=2, day=3))
    assert gates.run(ALERT, "same", "good").exit_code == 1
    assert gates.run(ALERT, "same", "good", as_of=NIGHTS[0]).exit_code == 0
    gates.bench.append("alert_events", alert("resolved", seq=3, day=4))
    assert gates.run(ALERT, "same", "good").exit_code == 0


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], ()),
        ([alert("opened", seq=1), alert("acknowledged", seq=2)], (("warn", "f1"),)),
        ([alert("opened", seq=1), alert("snoozed", seq=2)], (("warn", "f1"),)),
        (
            [alert("opened", seq=1), alert("escalated", seq=2, severity="critical")],
            (("critical", "f1"),),
        ),
        ([alert("opened", seq=1), alert("resolved", seq=2)], ()),
        (
            [alert("opened", seq=1), alert("resolved", seq=2), alert("opened", seq=1, episode=2)],
            (("warn", "f1"),),
        ),
        (
            [alert("opened", seq=1), alert("resolved", seq=2), alert("pending", seq=1, episode=2)],
            (),
        ),
    ],
)
def test_an_alert_is_open_from_opened_to_resolved_of_its_last_episode(events, expected):
    rows = [dict.fromkeys(TABLES["alert_events"].names) | row for row in events]
    frame = pl.DataFrame(rows, schema=TABLES["alert_events"].schema)
    assert open_alerts(frame) == expected
    assert open_alerts(frame.reverse()) == expected


# --- self-test --------------------------------------------------------------------------------


def tried(gates: Gates, text: str, candidate: str = "bad", baseline: str = "good"):
    return self_test(gates.bench.store, "default", candidate, baseline, gates.write(text))


def test_a_sound_gate_leaves_the_unchanged_run_alone_and_finds_the_planted_drop(gates):
    done = tried(
        gates,
        CONFIRM
        + RANKING
        + '[[rules]]\nid = "i"\nkind = "regression"\nmetric = "incorrect_rate"\n'
        + '[[rules]]\nid = "k"\nkind = "non_inferiority"\nmetric = "accuracy"\nmargin = 0.2\n'
        + '[[rules]]\nid = "d"\nkind = "max_drop"\nmetric = "accuracy"\nmax_drop = 0.2\n'
        + FLOOR,
    )
    assert (done.outcome, done.exit_code) == ("pass", 0)
    assert [one.unchanged.outcome for one in done.tried] == ["pass"] * 5
    assert [one.planted.outcome for one in done.tried] == ["fail"] * 5
    assert done.untried == ("f",)


def test_the_planted_drop_is_the_largest_of_three(gates):
    text = '[[rules]]\nid = "k"\nkind = "non_inferiority"\nmetric = "accuracy"\nmargin = {}\n'
    row = gates.run(ACCURACY, "bad", "good").comparison.rows.row(
        by_predicate=(pl.col("metric") == "accuracy") & (pl.col("slice_by") == "all"), named=True
    )
    assert tried(gates, text.format(0.3)).tried[0].shift == pytest.approx(0.6)
    assert tried(gates, text.format(0.1)).tried[0].shift == pytest.approx(2 * row["mde80"])
    assert tried(gates, ACCURACY, "same").tried[0].shift == pytest.approx(0.1)


def test_the_smallest_drop_follows_from_the_spread_of_the_two_runs(gates):
    row = gates.run(ACCURACY, "bad", "good").comparison.rows.row(
        by_predicate=(pl.col("metric") == "accuracy") & (pl.col("slice_by") == "all"), named=True
    )
    alone = tried(gates, ACCURACY).tried[0].smallest_drop
    assert alone == pytest.approx(row["mde80"])
    assert tried(gates, ACCURACY + RANKING).tried[0].smallest_drop > alone
    assert tried(gates, ACCURACY, "same").tried[0].smallest_drop is None


def test_a_planted_drop_on_the_log_scale_is_a_tenth(gates):
    for run, latency in (("quick", 100.0), ("slow", 101.0)):
        gates.bench.run(run, *results(36, latency_ms=latency))
    text = '[[rules]]\nid = "l"\nkind = "max_drop"\nmetric = "latency_ms"\nmax_drop = 0.01\n'
    one = tried(gates, "[requirements]\nmin_pairs = 20\n" + text, "slow", "quick").tried[0]
    assert (one.planted.outcome, one.is_log) == ("fail", True)
    assert "×1.10" in one.planted.reason


def test_a_gate_that_needs_more_items_than_there_are_is_told(gates):
    text = '[[rules]]\nid = "k"\nkind = "non_inferiority"\nmetric = "accuracy"\nmargin = 0.01\n'
    done = tried(gates, text)
    assert (done.outcome, done.exit_code) == ("inconclusive", 3)
    assert "40 items cannot show it, 300 can" in done.tried[0].unchanged.reason


def test_a_gate_without_a_comparing_rule_or_a_second_run_cannot_be_tried(gates):
    with pytest.raises(UsageError, match="no rule that compares"):
        tried(gates, FLOOR)
    gates.bench.run("ill", *results(36), status="failed")
    with pytest.raises(NotComparableError):
        tried(gates, ACCURACY, "good", "ill")


def test_a_self_test_writes_no_gate_results(gates):
    tried(gates, ACCURACY)
    written = [name for name in gates.bench.files() if "gate_results" in name]
    assert written == []


def test_the_judge_of_the_bench_is_the_one_pinned(gates):
    done = gates.run(ACCURACY, "same", "good")
    assert JUDGE in gate_text(done.verdict)
