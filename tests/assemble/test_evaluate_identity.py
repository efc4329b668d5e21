"""Which evaluation is the same, which is another, where each stands, and when nothing is done."""

from __future__ import annotations

import polars as pl
import pytest
from bench import Bench, item, number, result

from crucible_batch.assemble.evaluate import evaluate_run
from crucible_batch.errors import UnknownNameError, UsageError

ITEM, RESULT = item("q1", must=1), result("q1", "d1", "d2", verdict="supported")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Items q1 and q2, run r, a human judgment of d1 for q1; r is scored. Never written to."""
    bench = Bench(tmp_path_factory.mktemp("template"))
    bench.golden(ITEM, item("q2", must=1))
    bench.qrels(("q1", "d1", 3), ("q2", "d9", 1))
    bench.run("r", RESULT, result("q2", "d3", verdict="missing"))
    assert bench.score("r").created
    return bench.store.root


@pytest.fixture
def bench(tmp_path, template, monkeypatch) -> Bench:
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    return Bench(tmp_path, template)


def test_the_default_evaluation_stands_in_marts_under_the_name_of_the_run(bench):
    done = bench.score("r")
    assert {path.relative_to(bench.root).as_posix() for path in done.paths.values()} == {
        f"marts/{table}/r.parquet"
        for table in (
            "scores",
            "result_metrics",
            "run_metrics",
            "risk_coverage",
            "reliability_bins",
            "error_classes",
        )
    }


def test_scoring_again_writes_nothing(bench):
    first = bench.score("r")
    head, files = bench.head(), bench.files()
    again = bench.score("r")
    assert not again.created
    assert again.row == first.row
    assert (bench.head(), bench.files()) == (head, files)


def test_scoring_again_writes_nothing_for_a_pinned_evaluation_either(bench):
    pin = bench.head()
    assert bench.score("r", pin=pin, relevant_at=3).created
    head = bench.head()
    assert not bench.score("r", pin=pin, relevant_at=3).created
    assert bench.head() == head


@pytest.mark.parametrize(
    "options",
    [
        {"qrel_source": "human"},
        {"qrel_source": "llm"},
        {"relevant_at": 3},
        {"granularity": "chunk"},
    ],
)
def test_other_options_write_variants_beside_the_default(bench, options):
    bench.score("r")
    marts = bench.files("marts")
    done = bench.score("r", **options)
    assert done.created
    assert {path.parts[-3] for path in done.paths.values()} == {"variants"}
    assert {path.stem for path in done.paths.values()} == {done.row["evaluation_id"]}
    assert bench.files("marts") == marts


def test_options_that_say_the_default_are_the_default(bench):
    first = bench.score("r")
    again = bench.score("r", relevant_at=2, qrel_source="resolved", judge="judge@1")
    assert not again.created
    assert again.row["evaluation_id"] == first.row["evaluation_id"]


def test_a_new_judgment_makes_a_new_evaluation_and_keeps_the_old_one_as_a_variant(bench):
    old = bench.score("r")
    before = {path.parent.name: path.read_bytes() for path in old.paths.values()}
    bench.qrels(("q1", "d2", 3))
    new = bench.score("r")
    assert new.row["evaluation_id"] != old.row["evaluation_id"]
    for table, content in before.items():
        kept = bench.root / f"variants/{table}/{old.row['evaluation_id']}.parquet"
        assert kept.read_bytes() == content
    assert set(new.read("scores")["evaluation_id"]) == {new.row["evaluation_id"]}


def test_a_judgment_that_changes_no_effective_grade_changes_no_evaluation(bench):
    bench.score("r")
    bench.qrels(("q1", "d1", 0), source="llm")  # a human has judged it
    assert not bench.score("r").created


def test_a_judgment_of_another_set_changes_no_evaluation(bench):
    bench.score("r")
    bench.qrels(("q77", "d1", 3))
    assert not bench.score("r").created


def test_an_override_is_read_when_scoring_and_the_row_stays(bench):
    before = bench.score("r")
    bench.override("qrels", "grade", ["q1", "doc:d1", "human", "human"], "0")
    after = bench.score("r")
    assert number(before, "recall_at_5")["mean"] == 1.0
    assert number(after, "recall_at_5")["mean"] is None
    assert {row["grade"] for row in bench.rows("qrels") if row["query_id"] == "q1"} == {3}


def test_a_verdict_override_changes_the_score_and_the_ruler(bench):
    before = bench.score("r")
    key = ["r", "q2", 0, "a0", "judge@1"]
    bench.override("assertion_verdicts", "verdict", key, "supported")
    after = bench.score("r")
    assert (number(before, "accuracy")["mean"], number(after, "accuracy")["mean"]) == (0.5, 1.0)
    assert before.row["ruler_hash"] != after.row["ruler_hash"]
    assert before.row["rows_hash"] == after.row["rows_hash"]


def test_a_pin_scores_the_store_as_it_was(bench):
    old, pin = bench.score("r"), bench.head()
    bench.qrels(("q1", "d2", 3))
    bench.score("r")
    pinned = bench.score("r", pin=pin)
    assert pinned.row["evaluation_id"] == old.row["evaluation_id"]
    assert {path.parts[-3] for path in pinned.paths.values()} == {"variants"}


def test_a_pin_from_before_the_run_knows_no_such_run(bench):
    with pytest.raises(UnknownNameError, match="loaded after commit 1"):
        bench.score("r", pin=1)
    with pytest.raises(UnknownNameError, match="No run is called"):
        bench.score("s", pin=1)


def test_document_judgments_change_a_chunk_evaluation_because_citations_read_them(bench):
    before = bench.score("r", granularity="chunk")
    bench.qrels(("q1", "d2", 3))
    after = bench.score("r", granularity="chunk")
    assert before.row["evaluation_id"] != after.row["evaluation_id"]


def test_a_judgment_without_a_place_is_counted_though_it_changes_no_grade(tmp_path):
    bench = Bench(tmp_path)
    bench.golden(item("q1"))
    bench.run("r", result("q1", "d1"))
    before = bench.score("r")
    lane = {"query_id": "q1", "chunk_id": "c9", "grade": 3, "source": "human"}
    from crucible_batch.assemble.load import load_qrels

    load_qrels(bench.store, [bench.file(lane)])
    after = bench.score("r")
    assert after.row["evaluation_id"] == before.row["evaluation_id"]
    assert (after.created, after.row["seq"]) == (True, 2)
    assert after.row["n_unplaced_judgments"] == 1
    reasons = after.read("scores").filter(pl.col("metric") == "recall_at_5")["null_reason"]
    assert reasons.to_list() == ["unplaced"]


def test_a_changed_status_adds_a_row_under_the_same_id(bench):
    bench.run("part", RESULT, result("q2", "d3"), status="running")
    first = bench.score("part")
    assert (first.row["status"], first.row["seq"]) == ("running", 1)
    bench.append(
        "run_events", {"run_id": "part", "seq": 2, "status": "failed", "reason": "power cut"}
    )
    second = bench.score("part")
    assert second.row["evaluation_id"] == first.row["evaluation_id"]
    assert (second.row["status"], second.row["status_reason"]) == ("failed", "power cut")
    assert second.row["seq"] == 2
    assert set(second.read("run_metrics")["status"]) == {"failed"}


def test_settings_that_scoring_reads_make_another_evaluation_and_others_do_not(bench):
    first = bench.score("r")
    bench.settings('[statistics]\nadjust = "by"\n[machine]\nbucket_rows = 10000\n')
    assert not bench.score("r").created
    bench.settings("[scoring]\nks = [3]\n")
    assert bench.score("r").row["evaluation_id"] != first.row["evaluation_id"]


def test_an_evaluation_that_comes_back_takes_its_place_in_marts_again(bench):
    first = bench.score("r")
    before = bench.files("marts/scores")
    bench.settings("[scoring]\nrelevant_at = 1\n")
    other = bench.score("r")
    bench.settings("")
    again = bench.score("r")
    assert again.row["evaluation_id"] == first.row["evaluation_id"] != other.row["evaluation_id"]
    assert bench.files("marts/scores") == before
    by_seq = [
        r["seq"]
        for r in bench.rows("evaluations")
        if r["evaluation_id"] == first.row["evaluation_id"]
    ]
    assert by_seq == [1, 2]
    from crucible_batch.store.doctor import diagnose

    findings = diagnose(bench.store.workspace("default"))
    assert [finding.what for finding in findings if finding.level == "error"] == []


def test_a_mart_that_was_lost_is_written_again_with_the_same_bytes(bench):
    done = bench.score("r")
    before, head = bench.files(), bench.head()
    done.paths["scores"].unlink()
    bench.score("r")
    assert bench.files() == before
    assert bench.head() == head  # nothing differs, so no row is added


def test_marts_of_another_version_of_the_package_are_made_again(bench, monkeypatch):
    first = bench.score("r")
    monkeypatch.setattr("crucible_batch.assemble.evaluate.run._own_version", lambda: "999.1")
    monkeypatch.setattr("crucible_batch.store.marts.version", lambda _: "999.1")
    again = bench.score("r")
    assert again.created
    assert (again.row["evaluation_id"], again.row["seq"]) == (first.row["evaluation_id"], 2)
    assert not bench.score("r").created


def test_two_judges_and_no_pin_ask_which_one_counts(bench):
    both = result("q1", verdict="supported", judges=("a@1", "b@1"))
    bench.run("two", both, result("q2"), judge=None)
    with pytest.raises(UsageError, match="2 judges") as raised:
        bench.score("two")
    assert raised.value.exit_code == 2
    assert "--judge a@1" in str(raised.value)
    assert bench.score("two", judge="b@1").row["judge"] == "b@1"


def test_the_pinned_judge_counts_among_several(bench):
    both = result("q1", verdict="supported", judges=("a@1", "b@1"))
    bench.run("two", both, result("q2"), judge="b@1")
    assert bench.score("two").row["judge"] == "b@1"


def test_a_judge_who_judged_nothing_is_unknown(bench):
    with pytest.raises(UnknownNameError, match="judge@2"):
        bench.score("r", judge="judge@2")


def test_a_run_of_another_workspace_is_not_found(bench):
    bench.store.workspace("other", create=True)
    with pytest.raises(UnknownNameError):
        evaluate_run(bench.store, "other", "r")


def test_declaring_a_plugin_metric_changes_only_the_runs_that_carry_it(bench):
    bench.run("p", result("q1", scores=[{"metric": "plugin.x.y", "value": 0.5}]), result("q2"))
    plain, carrying = bench.score("r"), bench.score("p")
    bench.append(
        "plugin_metrics",
        {"metric": "plugin.x.y", "title": "Y", "unit": "share", "better": "higher", "low": 0.0,
         "high": 1.0},
    )  # fmt: skip
    assert not bench.score("r").created
    after = bench.score("p")
    assert after.row["evaluation_id"] != carrying.row["evaluation_id"]
    assert plain.row["evaluation_id"] != carrying.row["evaluation_id"]
    assert number(carrying, "plugin.x.y")["worst_case"] is None
    assert number(after, "plugin.x.y")["worst_case"] == 0.25
