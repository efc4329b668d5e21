"""The model: what is taken from which table, and what is left out."""

from __future__ import annotations

import json

import polars as pl
import pytest
from report_tables import (
    KPIS,
    comparison_row,
    curve_rows,
    evaluation_row,
    frame,
    item,
    item_rows,
    metric_row,
    one_run,
    regressed_row,
    run_row,
    two_runs,
    unchanged_row,
)

from crucible_batch.errors import ContractError
from crucible_batch.report import build_report, to_html, to_markdown


def run_metrics(*rows: dict) -> pl.DataFrame:
    return frame("run_metrics", rows)


def test_there_are_seven_tiles_in_their_order_even_when_nothing_was_measured() -> None:
    report = build_report(one_run(run_metrics=run_metrics()))
    assert tuple(tile.metric for tile in report.tiles) == KPIS
    assert {tile.percent.text for tile in report.tiles} == {"—"}


def test_a_null_tile_has_its_reason_and_no_meter() -> None:
    report = build_report(
        one_run(run_metrics=run_metrics(metric_row("cand", "groundedness", None, 60)))
    )
    tile = report.tiles[1]
    assert (tile.percent.value, tile.fill) == (None, None)
    assert tile.reason == "does not apply to 118 results, missing for 2 results"


def test_reasons_are_named_and_counted_when_scores_are_given() -> None:
    scores = [
        {
            "evaluation_id": "e-cand",
            "run_id": "cand",
            "item_id": item(k),
            "metric": "groundedness",
            "null_reason": "errored" if k < 2 else "no_claims",
        }
        for k in range(5)
    ]
    report = build_report(
        one_run(
            run_metrics=run_metrics(metric_row("cand", "groundedness", None, 60)),
            scores=frame("scores", scores),
        )
    )
    assert report.tiles[1].reason == "the answer makes no claim (3), the result is an error (2)"


def test_a_measured_zero_is_zero_and_has_a_meter() -> None:
    report = build_report(one_run(run_metrics=run_metrics(metric_row("cand", "accuracy", 0.0, 60))))
    assert report.tiles[0].percent.text == "0\u00a0%"
    assert report.tiles[0].fill == 0.0


def test_a_run_of_a_shallow_depth_says_so_beside_ranked_tiles() -> None:
    report = build_report(one_run(runs=frame("runs", [run_row("cand", top_k=5)])))
    noted = {tile.metric for tile in report.tiles if "retrieves 5 documents" in "".join(tile.notes)}
    assert noted == {"retrieval_hit_rate", "recall_at_10", "ndcg_at_10"}


def test_the_mean_of_item_means_is_printed_when_it_differs() -> None:
    row = metric_row("cand", "accuracy", 0.5, 60, item_mean=0.4375)
    report = build_report(one_run(run_metrics=run_metrics(row)))
    assert report.tiles[0].notes == ("mean of item means 0.438",)


@pytest.mark.parametrize(
    ("status", "tone"),
    [("succeeded", "good"), ("failed", "bad"), ("degraded", "warn"), ("running", "warn")],
)
def test_a_status_has_glyph_word_and_tone(status: str, tone: str) -> None:
    row = evaluation_row("cand", 60, status=status, status_reason="9 of 120 errored")
    run = build_report(one_run(evaluations=frame("evaluations", [row]))).run
    assert (run.status.word, run.status.tone) == (status, tone)
    assert run.status.glyph
    assert run.status_reason == "9 of 120 errored"


def test_badges_print_truthfulness_signed_and_aurc_with_four_decimals() -> None:
    badges = {one.title: one for one in build_report(one_run()).badges}
    assert badges["Mean truthfulness"].figure.text == "+0.42"
    assert badges["AURC"].figure.text == "0.1234"
    assert badges["AURC"].note == "lower is better, over 118 results"
    assert badges["Abstained"].figure.value == 12


def test_a_run_that_reports_no_abstention_did_not_abstain_zero_times() -> None:
    row = evaluation_row("cand", 60, n_abstained=0, n_answered=0)
    report = build_report(
        one_run(run_metrics=run_metrics(), evaluations=frame("evaluations", [row]))
    )
    assert [one.figure.text for one in report.badges] == ["—"] * 5


def test_the_curve_has_one_point_per_answered_result_and_its_tie_blocks() -> None:
    (curve,) = build_report(one_run(n_curve=10)).curves
    assert len(curve.points) == curve.n_pairs == 10
    assert [(tie.first, tie.last) for tie in curve.ties] == [(1, 3), (4, 6), (7, 9)]


def test_curve_steps_take_the_first_point_that_reaches_a_tenth() -> None:
    report = build_report(one_run(n_curve=7))
    risks = [row["risk"] for row in curve_rows("cand", 7)]
    positions = [1, 2, 3, 3, 4, 5, 5, 6, 7, 7]
    assert [step.risks[0].value for step in report.curve_steps] == [risks[k - 1] for k in positions]


def test_sections_without_tables_are_left_out() -> None:
    report = build_report(
        one_run(
            risk_coverage=frame("risk_coverage", []),
            reliability_bins=frame("reliability_bins", []),
            error_classes=frame("error_classes", []),
        )
    )
    assert (report.baseline, report.slices is None) == (None, False)
    assert (report.curves, report.bins, report.compared, report.corpus) == ((), (), (), ())
    assert (report.errors, report.moved, report.head_to_head) == (None, None, None)


def test_a_report_out_of_turn_says_up_to_which_commit_it_saw() -> None:
    report = build_report(one_run(as_of=None, commit=57))
    assert "as of commit 57 of the store" in to_html(report)
    assert "- As of commit 57 of the store" in to_markdown(report)
    assert build_report(one_run(commit=57)).commit is None


def test_one_run_says_its_accuracy_and_that_nothing_is_compared() -> None:
    assert build_report(one_run()).verdict == (
        "Accuracy is 90\u00a0% over 118 results of 60 items; no baseline."
    )


def test_the_comparison_table_follows_the_tiles() -> None:
    report = build_report(two_runs())
    assert tuple(row.metric for row in report.compared) == (*KPIS, "mean_truthfulness")
    assert [row.metric for row in report.compared if row.is_dim] == ["groundedness"]


def test_other_metrics_without_a_delta_are_left_to_the_coverage_section() -> None:
    rows = [
        unchanged_row("accuracy"),
        unchanged_row("mrr_at_10"),
        comparison_row("bpref", n_pairs=0, delta=None, verdict="insufficient_items"),
    ]
    report = build_report(two_runs(comparisons=frame("comparisons", rows)))
    assert report.compared_more == ()
    assert [row.metric for row in report.compared_quiet] == ["mrr_at_10"]


def test_other_metrics_with_a_verdict_or_a_remark_are_told_apart_from_the_quiet_ones() -> None:
    rows = [
        unchanged_row("accuracy"),
        unchanged_row("mrr_at_10"),
        comparison_row("precision_at_10"),
        unchanged_row("map_at_10", ci_p_disagree=True),
        comparison_row("aurc", verdict="no_test", p_value=None, n_pairs=0),
    ]
    report = build_report(two_runs(comparisons=frame("comparisons", rows)))
    assert {row.metric for row in report.compared_more} == {"precision_at_10", "map_at_10"}
    quiet = {row.metric: row.basis for row in report.compared_quiet}
    assert quiet == {"mrr_at_10": "n 50", "aurc": "no test"}


def test_the_focus_is_the_first_kpi_that_regressed() -> None:
    report = build_report(two_runs())
    assert report.moved is not None
    assert (report.moved.metric, report.moved.why) == ("recall_at_10", "it regressed")


def test_without_a_verdict_the_focus_is_the_kpi_on_which_most_items_moved() -> None:
    rows = [unchanged_row("accuracy", n_nonzero=3), unchanged_row("ndcg_at_10", n_nonzero=30)]
    report = build_report(two_runs(comparisons=frame("comparisons", rows)))
    assert report.moved is not None
    assert report.moved.metric == "ndcg_at_10"


def test_moved_items_are_the_largest_each_way_and_say_what_else_moved() -> None:
    moved = build_report(two_runs()).moved
    assert moved is not None
    assert len(moved.worse) == len(moved.better) == 10
    losses = [one.delta.value for one in moved.worse]
    assert losses == sorted(losses)
    assert losses[-1] < 0 < moved.better[-1].delta.value
    assert (moved.n_worse, moved.n_better) == (20, 20)
    assert moved.worse[0].question
    assert "Recall@10" not in moved.worse[0].also


def test_on_a_lower_is_better_metric_a_rise_is_worse() -> None:
    rows = [regressed_row("accuracy")]
    pairs = item_rows("accuracy", 3)
    catalog = two_runs().metric_catalog.with_columns(
        better=pl.when(pl.col("metric") == "accuracy")
        .then(pl.lit("lower"))
        .otherwise(pl.col("better"))
    )
    moved = build_report(
        two_runs(
            comparisons=frame("comparisons", rows),
            comparison_items=frame("comparison_items", pairs),
            metric_catalog=catalog,
        )
    ).moved
    assert moved is not None
    assert [one.delta.value > 0 for one in moved.worse] == [True]


def test_a_long_answer_is_cut_and_says_how_much_is_missing() -> None:
    moved = build_report(two_runs()).moved
    assert moved is not None
    ids = [one.item_id for one in moved.worse]
    answers = [
        {"run_id": "cand", "item_id": ids[0], "answer": "x" * 10_000, "retrieval_ran": True},
        {"run_id": "base", "item_id": ids[0], "answer": "", "retrieval_ran": True},
        {"run_id": "cand", "item_id": ids[1], "error": "timeout", "retrieval_ran": True},
        {"run_id": "base", "item_id": ids[1], "answer": "", "abstained": True},
    ]
    again = build_report(two_runs(results=frame("results", answers))).moved
    assert again is not None
    first, second, third = again.worse[:3]
    assert first.answer_candidate == "x" * 1_000 + " … (9,000 more characters)"
    assert first.answer_baseline == "[blank]"
    assert (second.answer_candidate, second.answer_baseline) == ("[error] timeout", "[abstained]")
    assert (third.answer_candidate, third.answer_baseline) == (None, None)


def test_error_classes_stand_side_by_side_with_the_flow_between_them() -> None:
    errors = build_report(two_runs()).errors
    assert errors is not None
    assert errors.run_ids == ("cand", "base")
    assert [figure.value for figure in errors.rows[0].counts] == [20, 20]
    moved = sum(flow.n for flow in errors.flows)
    assert errors.n_unchanged is not None
    assert moved + errors.n_unchanged == 120
    assert all(flow.before != flow.after for flow in errors.flows)


def test_a_run_without_classified_results_has_no_numbers_not_zeros() -> None:
    only = two_runs().error_classes.filter(pl.col("run_id") == "cand")
    errors = build_report(two_runs(error_classes=only)).errors
    assert errors is not None
    assert [figure.text for figure in errors.rows[0].counts] == ["20", "—"]


def test_slices_follow_the_vocabulary_and_bracket_short_deltas() -> None:
    slices = build_report(two_runs()).slices
    assert slices is not None
    names = [(row.slice_by, row.slice) for row in slices.rows]
    assert names[:3] == [
        ("question_type", "simple"),
        ("question_type", "comparison"),
        ("question_type", "multi_hop"),
    ]
    assert names[-1] == ("tag", "tag-3")
    recall = slices.rows[0].cells[5]
    assert recall.delta is not None
    assert recall.delta.text == "(+0.30)"


def test_hundreds_of_slices_are_cut_to_those_of_most_items_and_counted() -> None:
    rows = [
        metric_row("cand", "accuracy", 0.5, k + 1, slice_by="tag", slice=f"t{k:03d}")
        for k in range(100)
    ]
    slices = build_report(one_run(run_metrics=run_metrics(*rows))).slices
    assert slices is not None
    assert (len(slices.rows), slices.n_left_out) == (20, 80)
    assert slices.rows[0].slice == "t080"


def test_coverage_shows_counts_and_both_bounds() -> None:
    row = build_report(one_run()).coverage[0]
    assert (row.n_expected, row.n_scored, row.n_missing, row.n_errored) == (120, 118, 2, 2)
    assert row.worst.value is not None
    assert row.mean.value is not None
    assert row.best.value is not None
    assert row.worst.value < row.mean.value < row.best.value


def test_other_metrics_with_the_same_gap_share_a_row() -> None:
    rows = build_report(one_run()).unmeasured
    assert "Faithfulness, ECE" in {row.titles for row in rows}


def test_provenance_tells_what_both_runs_share_once() -> None:
    labels = [fact.label for fact in build_report(two_runs()).provenance]
    assert labels.count("golden_set_hash") == 1
    assert "run run_id" in labels
    assert "baseline run_id" in labels
    assert "seed" in labels


def test_the_newest_corpus_snapshot_is_reported() -> None:
    rows = [
        {"snapshot_id": "a", "corpus_version": "v1", "doc_count": 40, "entity_count": 10},
        {
            "snapshot_id": "b",
            "corpus_version": "v2",
            "doc_count": 44,
            "doc_added": 5,
            "doc_removed": 1,
            "doc_churn_ratio": 0.125,
        },
    ]
    facts = build_report(one_run(drift_snapshots=frame("drift_snapshots", rows))).corpus
    texts = {fact.label: (fact.text, fact.note) for fact in facts}
    assert texts["Corpus version"][0] == "v2"
    assert texts["Documents"] == ("44", "5 added, 1 removed")
    assert texts["Churn"][0] == "13\u00a0%"


def test_two_evaluations_of_a_run_are_refused() -> None:
    rows = [evaluation_row("cand", 60), evaluation_row("cand", 60, evaluation_id="other", seq=2)]
    with pytest.raises(ContractError, match="do not make a report of run 'cand'") as error:
        one_run(evaluations=frame("evaluations", rows))
    assert error.value.problems == ("evaluations has 2 rows of run 'cand', not one",)


def test_metrics_of_two_evaluations_of_a_run_are_refused() -> None:
    rows = [
        metric_row("cand", "accuracy", 0.5, 60),
        metric_row("cand", "groundedness", 0.5, 60, evaluation_id="other"),
    ]
    with pytest.raises(ContractError) as error:
        one_run(run_metrics=run_metrics(*rows))
    assert error.value.problems == ("run_metrics mixes evaluations of run 'cand'",)


def test_a_comparison_of_other_runs_is_refused() -> None:
    rows = [comparison_row(baseline_run_id="other")]
    with pytest.raises(ContractError) as error:
        two_runs(comparisons=frame("comparisons", rows))
    assert error.value.problems == ("comparisons compares 'other' with 'cand'",)


def test_row_order_does_not_change_the_report() -> None:
    straight = two_runs()
    tables = ("run_metrics", "comparisons", "comparison_items", "risk_coverage", "result_metrics")
    tables += ("error_classes", "reliability_bins", "golden_items", "evaluations", "runs")
    shuffled = {
        name: getattr(straight, name).sample(fraction=1, shuffle=True, seed=7) for name in tables
    }
    assert build_report(two_runs(**shuffled)) == build_report(straight)


def test_the_model_is_plain_json() -> None:
    plain = build_report(two_runs()).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["tiles"][0]["percent"] == {"value": 0.9, "text": "90\u00a0%"}
