"""HTML, Markdown and JSON say the same, because they print one model."""

from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from page import Page
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
    plain, html, markdown = forms(build_report(two_runs()))
    texts = figures(plain)
    assert len(texts) > 300
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


def test_a_section_that_is_not_there_is_there_in_no_form() -> None:
    report = build_report(one_run())
    assert json.loads(to_json(report))["moved"] is None
    assert 'id="moved"' not in to_html(report)
    assert "Items that moved" not in to_markdown(report)


def test_json_ends_with_a_line_feed_and_is_the_same_twice() -> None:
    assert to_json(build_report(one_run())) == to_json(build_report(one_run()))
    assert to_json(build_report(one_run())).endswith("}\n")


def test_markdown_is_the_same_twice() -> None:
    assert to_markdown(build_report(two_runs())) == to_markdown(build_report(two_runs()))
