"""The league page: who is ranked with whom, in which order, and what stands beside a rank."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from league_tables import league_of, name
from page import Page

from crucible_batch.errors import ContractError
from crucible_batch.report import (
    League,
    build_league,
    league_html,
    league_markdown,
    to_json,
)
from crucible_batch.report.league_chart import league_chart

TIED = {0: 0.5, 1: 0.7, 2: 0.5, 3: 0.5, 4: 0.1, 5: 0.7}


def places(league: League) -> list[tuple[str, int | None]]:
    return [(entry.run_id, entry.rank) for entry in league.entries]


def test_runs_are_ordered_by_accuracy_and_ties_by_id_share_a_rank() -> None:
    league = build_league(league_of(means=TIED))
    assert places(league) == [
        ("run-001", 1),
        ("run-005", 1),
        ("run-000", 3),
        ("run-002", 3),
        ("run-003", 3),
        ("run-004", 6),
    ]
    assert league.said.startswith("run-001 and run-005 share the highest Accuracy of 6 ranked runs")


def test_the_order_of_the_inputs_changes_nothing() -> None:
    inputs = league_of(means=TIED)
    turned = {
        table: getattr(inputs, table).reverse() for table in ("runs", "evaluations", "run_metrics")
    }
    other = replace(inputs, run_ids=inputs.run_ids[::-1], **turned)
    assert to_json(build_league(other)) == to_json(build_league(inputs))


def test_without_accuracy_the_order_is_by_ndcg() -> None:
    league = build_league(league_of(means=dict.fromkeys(range(6))))
    assert league.key == "ndcg_at_10"
    assert [entry.rank for entry in league.entries] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (
            {"status": "degraded", "status_reason": "9 of 120 results errored"},
            "the run is degraded",
        ),
        ({"status": "failed"}, "the run failed"),
        ({"status": "running"}, "the run is still running"),
        ({"golden_set_hash": "sha256:" + "00" * 32}, "another version of the golden set"),
        ({"ruler_hash": "00" * 32}, "other judgments"),
        ({"judge": "another@2"}, "another judge"),
    ],
)
def test_a_run_of_other_ground_is_shown_last_and_never_ranked(facts, why) -> None:
    league = build_league(league_of(means={2: 1.0}, facts={2: facts}))
    last = league.entries[-1]
    assert (last.run_id, last.rank, last.outside) == ("run-002", None, why)
    assert [entry.rank for entry in league.entries[:-1]] == [1, 2, 3, 4, 5]
    assert "1 run cannot be ranked with them." in league.said
    assert f"not ranked: {why}" in Page.of(league_html(league)).all("main")[0].text
    assert f"not ranked: {why}" in league_markdown(league)


def test_a_run_without_the_deciding_metric_is_not_ranked() -> None:
    league = build_league(league_of(means={3: None}))
    assert league.entries[-1].outside == "Accuracy is not measured"
    assert league.entries[-1].cells[0].value.text == "—"


def test_another_judge_does_not_matter_where_no_judge_decides() -> None:
    league = build_league(league_of(means=dict.fromkeys(range(6)), facts={1: {"judge": "other@1"}}))
    assert len([entry for entry in league.entries if entry.rank]) == 6


def test_the_ground_is_that_of_the_baseline_where_there_is_one() -> None:
    other = {"golden_set_hash": "sha256:" + "00" * 32}
    league = build_league(league_of(baseline=0, facts={0: other, 1: other}))
    assert {entry.run_id for entry in league.entries if entry.rank} == {"run-000", "run-001"}


def test_without_a_baseline_the_ground_is_that_of_most_runs() -> None:
    other = {"golden_set_hash": "sha256:" + "00" * 32}
    league = build_league(league_of(facts={0: other, 1: other}))
    assert {entry.run_id for entry in league.entries if not entry.rank} == {"run-000", "run-001"}


def test_where_no_run_can_be_ranked_the_page_says_so() -> None:
    league = build_league(league_of(3, facts={k: {"status": "failed"} for k in range(3)}))
    assert league.said == "No run can be ranked by Accuracy."
    assert league_html(league)


def test_every_other_run_is_held_against_the_baseline() -> None:
    league = build_league(league_of(baseline=2))
    for entry in league.entries:
        verdicts = [cell.verdict for cell in entry.cells]
        assert all(verdict is None for verdict in verdicts) == entry.is_baseline
        assert bool(entry.against) != entry.is_baseline
    assert [entry.run_id for entry in league.entries if entry.is_baseline] == ["run-002"]


def test_a_degraded_run_gets_its_reason_instead_of_a_verdict() -> None:
    inputs = league_of(baseline=0, facts={1: {"status": "degraded"}})
    blocked = inputs.comparisons.with_columns(
        verdict=pl.lit(None, pl.String), blocked_reason=pl.lit("degraded")
    )
    league = build_league(replace(inputs, comparisons=blocked))
    (entry,) = [entry for entry in league.entries if entry.run_id == "run-001"]
    assert entry.cells[0].verdict.word == "no verdict: run-001 is degraded"


def test_a_run_that_shares_no_item_with_the_baseline_is_said_to_share_none() -> None:
    league = build_league(league_of(3, baseline=0, paired=frozenset({1})))
    (entry,) = [entry for entry in league.entries if entry.run_id == "run-002"]
    assert {cell.verdict.word for cell in entry.cells} == {"no shared item"}
    assert {cell.delta.text for cell in entry.cells} == {"—"}


def test_tables_that_do_not_fit_are_refused() -> None:
    inputs = league_of(3)
    with pytest.raises(ContractError, match="runs has 0 rows of run 'nobody'"):
        replace(inputs, run_ids=(*inputs.run_ids, "nobody"))
    with pytest.raises(ContractError, match="is none of the runs"):
        replace(inputs, baseline_run_id="nobody")
    with pytest.raises(ContractError, match="compares with 'run-001'"):
        replace(league_of(3, baseline=1), baseline_run_id=None)


def test_the_chart_has_a_dot_for_every_run_that_has_a_number() -> None:
    league = build_league(league_of(baseline=1, means={4: None}, facts={0: {"status": "failed"}}))
    chart = league_chart(league)
    assert [dot.title for dot in chart.dots] == [entry.run_id for entry in league.entries]
    assert [dot.at is None for dot in chart.dots] == [
        entry.run_id == "run-004" for entry in league.entries
    ]
    assert {dot.title for dot in chart.dots if dot.is_dim} == {"run-000", "run-004"}
    assert len(Page.of(league_html(league)).all("circle")) == 5


def test_a_league_without_any_number_has_no_chart() -> None:
    inputs = league_of(2)
    empty = inputs.run_metrics.with_columns(
        mean=pl.lit(None, pl.Float64),
        ci_low=pl.lit(None, pl.Float64),
        ci_high=pl.lit(None, pl.Float64),
    )
    league = build_league(replace(inputs, run_metrics=empty))
    assert league_chart(league) is None
    assert "<figure" not in league_html(league)


def figures(node) -> list[str]:
    """Every printed number of the JSON form."""
    if isinstance(node, dict):
        own = [node["text"]] if set(node) == {"value", "text"} else []
        return own + [text for inner in node.values() for text in figures(inner)]
    return [text for inner in node for text in figures(inner)] if isinstance(node, list) else []


accuracies = st.one_of(st.none(), st.floats(0, 1, allow_subnormal=False))


@settings(max_examples=15, deadline=None)
@given(
    means=st.lists(accuracies, min_size=2, max_size=5),
    baseline=st.one_of(st.none(), st.just(0)),
)
def test_the_three_forms_carry_the_same_numbers_and_words(means, baseline) -> None:
    inputs = league_of(len(means), baseline=baseline, means=dict(enumerate(means)))
    league = build_league(inputs)
    plain = json.loads(to_json(league))
    html = Page.of(league_html(league)).all("body")[0].text
    markdown = re.sub(r"\\(.)", r"\1", league_markdown(league))
    said = [plain["said"], plain["order"], *plain["notes"], *plain["metrics"]]
    for entry in plain["entries"]:
        said += [entry["run_id"], entry["counted"], entry["outside"], entry["against"]]
        said += entry["rests_on"]
        for cell in entry["cells"]:
            said += [cell["interval"], cell["over"], cell["label"], cell["delta_interval"]]
            said += [cell["verdict"]["word"]] if cell["verdict"] else []
    assert len(figures(plain)) >= 8 * len(means)
    for text in figures(plain) + said:
        assert text in html
        assert text in markdown
    assert [entry["cells"][0]["value"]["value"] for entry in plain["entries"]] == [
        means[int(entry["run_id"][-3:])] for entry in plain["entries"]
    ]


def test_equal_inputs_give_equal_bytes() -> None:
    one, other = (build_league(league_of(baseline=1)) for _ in range(2))
    assert league_html(one) == league_html(other)
    assert league_markdown(one) == league_markdown(other)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "safe\u202etxt", "| a | `b` |"])
def test_ids_of_others_are_inert(text) -> None:
    def renamed(column: str) -> pl.Expr:
        return pl.lit(text) + pl.col(column)

    inputs = league_of(3, baseline=0)
    league = build_league(
        replace(
            inputs,
            run_ids=tuple(text + one for one in inputs.run_ids),
            baseline_run_id=text + name(0),
            runs=inputs.runs.with_columns(
                run_id=renamed("run_id"), label=renamed("label"), golden_set=renamed("golden_set")
            ),
            evaluations=inputs.evaluations.with_columns(run_id=renamed("run_id")),
            run_metrics=inputs.run_metrics.with_columns(run_id=renamed("run_id")),
            comparisons=inputs.comparisons.with_columns(
                baseline_run_id=renamed("baseline_run_id"),
                candidate_run_id=renamed("candidate_run_id"),
            ),
        )
    )
    page, harmless = (
        Page.of(league_html(one)) for one in (league, build_league(league_of(3, baseline=0)))
    )
    assert [tag.name for tag in page.tags] == [tag.name for tag in harmless.tags]
    assert "\u202e" not in league_html(league)
    tables = [line for line in league_markdown(league).splitlines() if line.startswith("| ")]
    columns = {re.sub(r"\\.", "", line).count("|") for line in tables}
    assert columns == {4, 6, 11, 12}


def test_a_page_of_two_hundred_runs_stays_small() -> None:
    page = league_html(build_league(league_of(200, baseline=0)))
    assert len(page.encode()) < 600 * 1024
    assert len(Page.of(page).all("circle")) == 200
