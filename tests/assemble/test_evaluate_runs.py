"""Runs of every kind are scored: empty, partial, judged by nobody, without retrieval or answers."""

from __future__ import annotations

import polars as pl
import pytest
from bench import Bench, item, number, result, score_of

from crucible_batch.errors import ContractError


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    """One store, a run of each kind over items q1 to q5; q3 is judged by nobody, q4 gives contexts.

    q5 is retired at last.
    """
    bench = Bench(tmp_path_factory.mktemp("runs"))
    bench.golden(
        item("q1", must=1, required=("d1",), shape="lookup", tags=["x", "y"]),
        item("q2", must=1, required=("d2",)),
        item("q3", must=1),
        item("q4", must=1, contexts=["Given."]),
        item("q5", must=1),
    )
    bench.run("plain", *_results(1, 2, 3, 4, 5))
    return bench


def _results(*numbers: int) -> list[dict]:
    return [result(f"q{n}", f"d{n}", verdict="supported") for n in numbers]


def test_a_run_without_any_result_is_degraded_and_every_result_is_missing(bench):
    (plain,) = (row for row in bench.rows("runs") if row["run_id"] == "plain")
    bench.append("runs", plain | {"run_id": "empty"})
    bench.append("run_events", {"run_id": "empty", "seq": 1, "status": "succeeded"})
    done = bench.score("empty")
    assert done.row["n_results"] == 0
    assert done.row["status"] == "degraded"
    row = number(done, "accuracy")
    assert (row["mean"], row["n_scored"], row["n_missing"], row["coverage"]) == (None, 0, 5, 0.0)
    assert (row["worst_case"], row["best_case"]) == (0.0, 1.0)
    assert set(done.read("scores")["null_reason"]) <= {
        "no_result",
        "no_required_citations",
        "no_concepts",
        "no_assertions",
    }  # facts of the items come first
    assert done.read("risk_coverage").is_empty()
    assert done.read("error_classes").is_empty()


def test_errors_over_the_threshold_degrade_the_evaluation_and_say_how_many(bench):
    failing = [result("q1", error="timeout", answer=None), *_results(2, 3, 4, 5)]
    bench.run("failing", *failing)
    done = bench.score("failing")
    assert done.row["status"] == "degraded"
    assert done.row["status_reason"] == "1 of 5 results errored or are missing"
    assert set(done.read("run_metrics")["status"]) == {"degraded"}


def test_errors_at_the_threshold_do_not_degrade(bench):
    bench.settings("[scoring]\nerror_threshold = 0.2\n")
    assert bench.score("failing").row["status"] == "succeeded"
    bench.settings("")


def test_a_running_run_is_served_and_says_so(bench):
    bench.run("running", *_results(1, 2), status="running")
    done = bench.score("running")
    assert (done.row["status"], done.row["n_results"]) == ("running", 2)
    assert number(done, "accuracy")["mean"] == 1.0
    assert number(done, "accuracy")["coverage"] == 0.4


def test_an_item_nobody_judged_is_missing_from_retrieval_and_scored_in_the_rest(bench):
    done = bench.score("plain")
    assert score_of(done, "ndcg_at_10", "q3") == (None, "no_qrels")
    assert score_of(done, "accuracy", "q3") == (1.0, None)
    row = number(done, "ndcg_at_10")
    assert (row["mean"], row["n_scored"], row["n_missing"]) == (1.0, 2, 2)
    assert row["n_not_applicable"] == 1  # q4 gives its contexts


def test_given_contexts_leave_retrieval_out_and_keep_the_answer(bench):
    done = bench.score("plain")
    assert score_of(done, "recall_at_10", "q4")[1] in {"contexts_provided", "no_qrels"}
    assert score_of(done, "accuracy", "q4") == (1.0, None)


def test_slices_are_facets_and_tags_and_a_null_facet_is_named(bench):
    done = bench.score("plain")
    found = done.read("run_metrics").select("slice_by", "slice").unique().rows()
    assert {("tag", "x"), ("tag", "y"), ("shape", "lookup"), ("shape", "(none)")} <= set(found)
    assert number(done, "accuracy", "tag", "x")["n_expected"] == 1


def test_a_run_of_rankings_alone_has_no_answer_metrics(bench):
    rankings = [result(f"q{n}", f"d{n}", answer=None) for n in (1, 2, 3, 4, 5)]
    bench.run("rankings", *rankings, judge=None)
    done = bench.score("rankings")
    assert number(done, "ndcg_at_10")["mean"] == 1.0
    assert number(done, "accuracy")["mean"] is None
    assert number(done, "accuracy")["n_not_applicable"] == 5
    assert done.row["n_answered"] == 0
    assert done.row["status"] == "succeeded"


def test_a_run_without_retrieval_has_no_retrieval_metrics(bench):
    answers = [result(f"q{n}", verdict="supported") for n in (1, 2, 3, 4, 5)]
    bench.run("answers", *answers)
    done = bench.score("answers")
    assert score_of(done, "ndcg_at_10", "q1") == (None, "not_reported")
    assert number(done, "accuracy")["mean"] == 1.0


def test_a_mean_over_samples_weighs_results_and_the_item_mean_weighs_items(bench):
    two = [
        result("q1", "d1", verdict="supported", sample_index=0),
        result("q1", "d1", verdict="missing", sample_index=1),
        result("q2", "d2", verdict="supported", sample_index=0),
    ]
    bench.run("two", *two, samples_n=2)
    row = number(bench.score("two"), "accuracy")
    assert (row["mean"], row["item_mean"]) == (2 / 3, 0.75)
    assert (row["n_expected"], row["n_scored"], row["n_items"]) == (10, 3, 2)


def test_blank_answers_and_contexts_are_counted(bench):
    blank = result("q1", "d1", answer=" ")
    blank["retrievals"][0]["text"] = " \n"
    bench.run("blank", blank, *_results(2, 3, 4, 5))
    done = bench.score("blank")
    assert (done.row["n_blank_answers"], done.row["n_blank_contexts"]) == (1, 1)


def test_plugin_metrics_of_results_and_of_the_run_stand_beside_ours(bench):
    scored = [
        result(f"q{n}", f"d{n}", scores=[{"metric": "plugin.lab.depth", "value": float(n)}])
        for n in (1, 2, 3, 4, 5)
    ]
    path = bench.file({"run": {"run_id": "plug", "golden_set": "g"}}, *scored)
    whole = bench.folder / "external_run_metrics.jsonl"
    whole.write_text('{"metric": "plugin.lab.total", "value": 7.5}\n')
    from crucible_batch.assemble.load import load_run

    load_run(bench.store, [path, whole], run="plug")
    done = bench.score("plug")
    assert number(done, "plugin.lab.depth")["mean"] == 3.0
    assert number(done, "plugin.lab.depth", "shape", "lookup")["mean"] == 1.0
    assert number(done, "plugin.lab.total")["mean"] == 7.5
    slices = done.read("run_metrics").filter(pl.col("metric") == "plugin.lab.total")["slice_by"]
    assert slices.to_list() == ["all"]
    assert not [name for name in done.read("result_metrics").columns if name.startswith("plugin")]


def test_a_plugin_name_for_results_and_for_the_run_at_once_is_refused_in_words(bench):
    scored = result("q1", "d1", scores=[{"metric": "plugin.lab.both", "value": 1.0}])
    path = bench.file({"run": {"run_id": "both", "golden_set": "g"}}, scored)
    whole = bench.folder / "external_run_metrics.jsonl"
    whole.write_text('{"metric": "plugin.lab.both", "value": 2.0}\n')
    from crucible_batch.assemble.load import load_run

    load_run(bench.store, [path, whole], run="both")
    with pytest.raises(ContractError, match="per result and for the whole run") as raised:
        bench.score("both")
    assert "plugin.lab.both" in str(raised.value)


def test_a_run_keeps_the_set_it_was_pinned_to_when_an_item_is_retired(bench):
    before = bench.score("plain")
    bench.golden(item("q5", must=1, retired=True), golden_set="g")
    bench.run("later", *_results(1, 2, 3, 4))
    assert not bench.score("plain").created
    assert before.row["n_expected"] == 5
    assert bench.score("later").row["n_expected"] == 4


@pytest.mark.parametrize(("source", "expected"), [("human", 0.0), ("llm", 0.2), ("resolved", 0.0)])
def test_grades_of_people_and_of_llms_stand_side_by_side(graded, source, expected):
    done = graded.score("r", qrel_source=source)
    assert score_of(done, "precision_at_5", "q1")[0] == expected
    place = "marts" if source == "resolved" else "variants"
    assert done.paths["scores"].parts[-3] == place


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Bench:
    """A person finds d1 irrelevant, so does one llm judge; another one finds it relevant."""
    bench = Bench(tmp_path_factory.mktemp("graded"))
    bench.golden(item("q1"))
    bench.qrels(("q1", "d1", 0))
    bench.qrels(("q1", "d1", 0), source="llm")
    bench.qrels(("q1", "d1", 3), source="llm", judge="n@1", judge_model="n")
    bench.run("r", result("q1", "d1"))
    return bench


@pytest.mark.parametrize(("lane", "expected"), [("m@1", 0.0), ("n@1", 0.2)])
def test_only_the_llm_judges_of_the_setting_count(graded, lane, expected):
    graded.settings(f'[scoring]\nllm_lanes = ["{lane}"]\n')
    done = graded.score("r", qrel_source="llm")
    graded.settings("")
    assert score_of(done, "precision_at_5", "q1")[0] == expected
