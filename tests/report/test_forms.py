"""HTML, Markdown and JSON say the same, because they print one model."""

from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from page import Page
from report_nights import a_night, dead, dead_row, night_rows, rule_row
from report_tables import KPIS, frame, metric_row, one_run, two_runs, unchanged_row

from crucible_batch.report import Report, build_report, to_html, to_json, to_markdown

shares = st.one_of(st.none(), st.floats(0, 1, allow_subnormal=False))


def figures(node) -> list[str]:
    """Every printed number of the JSON form."""
    if isinstance(node, dict):
        own = [node["text"]] if set(node) == {"value", "text"} else []
        return own + [text for inner in node.values() for text in figures(inner)]
    return [text for inner in node for text in figures(inner)] if isinstance(node, list) else []


def unescaped(markdown: str) -> str:
    return re.sub(r"\\(.)", r"\1", markdown)


def forms(report: Report) -> tuple[dict, str, str]:
    return (
        json.loads(to_json(report)),
        Page.of(to_html(report)).all("body")[0].text,
        unescaped(to_markdown(report)),
    )


def test_every_number_of_the_model_is_printed_in_every_form() -> None:
    plain, html, markdown = forms(build_report(two_runs(**a_night())))
    texts = figures(plain)
    assert len(texts) > 500
    assert [text for text in texts if text not in html] == []
    assert [text for text in texts if text not in markdown] == []


def test_every_verdict_and_remark_is_printed_in_every_form() -> None:
    plain, html, markdown = forms(build_report(two_runs()))
    said = [plain["verdict"], plain["run"]["counted"]]
    said += [row["verdict"]["word"] for row in plain["compared"]]
    said += [row["interval"] for row in plain["compared"]]
    assert all(text in html and text in markdown for text in said)


@settings(max_examples=12, deadline=None)
@given(means=st.tuples(*[shares] * 7), delta=st.floats(-1, 1, allow_subnormal=False))
def test_the_forms_agree_whatever_the_numbers(means, delta) -> None:
    rows = [
        metric_row(run_id, name, mean, 60)
        for run_id in ("cand", "base")
        for name, mean in zip(KPIS, means, strict=True)
    ]
    compared = [unchanged_row(name, delta=delta) for name in KPIS]
    report = build_report(
        two_runs(run_metrics=frame("run_metrics", rows), comparisons=frame("comparisons", compared))
    )
    plain, html, markdown = forms(report)
    assert all(text in html and text in markdown for text in figures(plain))
    assert [tile["percent"]["value"] for tile in plain["tiles"]] == list(means)
    assert {row["delta"]["value"] for row in plain["compared"]} == {delta}


numbers = st.one_of(st.none(), st.floats(-1e6, 1e6, allow_subnormal=False))
counts = st.integers(0, 10**9)


@settings(max_examples=6, deadline=None)
@given(
    delta=st.one_of(st.none(), st.floats(-1, 1, allow_subnormal=False)),
    limit=numbers,
    value=numbers,
    statistic=st.sampled_from(["doc_churn_ratio", "document_age"]),
    n=counts,
    rate=shares,
)
def test_the_forms_agree_on_a_night_whatever_its_numbers(
    delta, limit, value, statistic, n, rate
) -> None:
    night = a_night()
    rows = night_rows(12, delta=delta, drop_limit=limit, slide_limit=limit, verdict="drop")
    report = build_report(
        two_runs(
            **night
            | {
                "nightly_metrics": frame("nightly_metrics", rows),
                "drift_evaluations": frame(
                    "drift_evaluations", [rule_row("r", statistic=statistic, value=value)]
                ),
                "dead_deliveries": dead(dead_row("evt", n_tries=n)),
                "policy_stats": night["policy_stats"].with_columns(n=n, mean_confidence=rate),
                "cache_stats": night["cache_stats"].with_columns(active=n, hit_rate=rate),
            }
        )
    )
    plain, html, markdown = forms(report)
    assert [t for t in figures(plain) if t not in html or t not in markdown] == []
    assert plain["watched"]["rules"][0]["value"]["value"] == value
    assert plain["watched"]["dead"][0]["n_tries"]["value"] == n
    assert plain["answer_path"]["cache"]["tiles"][0]["figure"]["value"] == rate
    assert {row["delta"]["value"] for row in plain["history"]["standings"]} <= {delta}


def test_words_of_a_night_stand_in_every_form() -> None:
    plain, html, markdown = forms(build_report(two_runs(**a_night())))
    html = html.replace("\xa0", " ")
    said = [*plain["history"]["said"], plain["watched"]["scan"], *plain["gate"]["notes"]]
    marked = [row["verdict"] for row in plain["watched"]["rules"]]
    marked += [row["severity"] for row in plain["watched"]["alerts"]]
    marked += [row["state"] for row in plain["watched"]["dead"]]
    marked += [row["verdict"] for row in plain["answer_path"]["decisions"]]
    marked += [row["verdict"] for row in plain["history"]["standings"]]
    said += [f"{mark['glyph']} {mark['word']}" for mark in marked]
    said += [row["limit"] for row in plain["watched"]["rules"]]
    said += [row["opened"] for row in plain["watched"]["alerts"]]
    said += [row["event_id"] for row in plain["watched"]["dead"]]
    said += [fact["text"] for fact in plain["provenance"]]
    assert [text for text in said if text not in html or text not in markdown] == []


def test_a_report_has_one_order_in_every_form() -> None:
    report = build_report(two_runs(**a_night()))
    page = [tag.text for tag in Page.of(to_html(report)).all("h2")]
    markdown = re.findall(r"^## (.*)$", to_markdown(report), re.MULTILINE)
    assert page == [
        "Key numbers",
        "Abstention",
        "Risk over coverage",
        "Comparison",
        "Gate",
        "Slices",
        "Error classes",
        "Items that moved most on Recall@10",
        "Night after night",
        "Corpus and alerts",
        "What could not be measured",
        "Answer policy and cache",
        "Provenance",
    ]
    assert [unescaped(title) for title in markdown] == page


def test_a_section_that_is_not_there_is_there_in_no_form() -> None:
    report = build_report(one_run())
    plain = json.loads(to_json(report))
    absent = ("moved", "history", "watched", "answer_path", "gate")
    assert [plain[name] for name in absent] == [None] * len(absent)
    ids = {tag.attributes.get("id") for tag in Page.of(to_html(report)).all("h2")}
    assert not ids & {"moved", "history", "watch", "answer-path", "gate"}
    assert "Items that moved" not in to_markdown(report)


def test_json_ends_with_a_line_feed_and_is_the_same_twice() -> None:
    assert to_json(build_report(one_run())) == to_json(build_report(one_run()))
    assert to_json(build_report(one_run())).endswith("}\n")


def test_every_form_is_the_same_twice() -> None:
    for write in (to_html, to_markdown, to_json):
        one, other = (write(build_report(two_runs(**a_night()))) for _ in range(2))
        assert one == other
