"""Ids, questions and answers of others are inert in every form of the report."""

from __future__ import annotations

import json
import re
from functools import cache

import polars as pl
import pytest
from page import Page
from report_nights import a_night
from report_tables import evaluation_row, frame, item, one_run, run_row, two_runs

from crucible_batch.report import (
    Report,
    ReportInputs,
    build_report,
    to_html,
    to_json,
    to_markdown,
    words,
)
from crucible_batch.report.figures import InputFile

ATTACKS = {
    "script": "<script>alert(1)</script>",
    "attribute": '"><img src=x onerror=alert(1)>',
    "svg title": "</title></svg><svg onload=alert(1)>",
    "style": "</style><style>*{display:none}",
    "comment": "<!-- --><![CDATA[ ]]>",
    "template": "{{ 7 * 7 }}{% raw %}",
    "entity": "&lt;b&gt;&#x3C;i&#x3E;",
    "override": "safe\u202etxt.exe\u2066\u200f",
    "controls": "bell\x07 null\x00 escape\x1b[31m c1\x9b31m",
    "markdown": "| a | b |\n# head\n[x](javascript:alert(1)) `code` **bold** <https://e.example>",
    "long": "w" * 10_000,
}
each_attack = pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS.keys())


def attacked(text: str) -> ReportInputs:
    """A report with the text as label, reason, question, answer and note."""
    runs = frame("runs", [run_row(run_id, label=text) for run_id in ("cand", "base")])
    evaluations = [
        evaluation_row(run_id, 60, status="degraded", status_reason=text)
        for run_id in ("cand", "base")
    ]
    golden = [{"item_id": item(k), "revision": 1, "question": text} for k in range(60)]
    answers = [
        {"run_id": run_id, "item_id": item(k), "answer": text, "retrieval_ran": True}
        for run_id in ("cand", "base")
        for k in range(60)
    ]
    plain = two_runs()
    hurt = text[:200]
    night = a_night()
    night |= {
        "alerts": night["alerts"].with_columns(rule_id=pl.lit(hurt)),
        "drift_evaluations": night["drift_evaluations"].with_columns(
            rule_id=pl.lit(hurt), statistic=pl.lit(hurt), reason=pl.lit(hurt)
        ),
        "dead_deliveries": night["dead_deliveries"].with_columns(
            endpoint=pl.lit(hurt), event_id=pl.lit(hurt), last_error=pl.lit(text)
        ),
        "judge_drift": night["judge_drift"].with_columns(judge=pl.lit(hurt)),
        "policy_stats": night["policy_stats"].with_columns(
            surface=pl.lit(hurt), verdict=pl.lit(hurt)
        ),
        "comparison_documents": night["comparison_documents"].with_columns(doc_id=pl.lit(hurt)),
        "charts_said": (hurt,),
        "files": (InputFile(hurt, hurt, "ab" * 32),),
    }
    return two_runs(
        **night,
        runs=runs,
        evaluations=frame("evaluations", evaluations),
        golden_items=frame("golden_items", golden),
        results=frame("results", answers),
        run_metrics=plain.run_metrics.with_columns(notes=[text]),
    )


@cache
def report_of(text: str) -> Report:
    """The model of an attacked report."""
    return build_report(attacked(text))


@each_attack
def test_a_page_keeps_its_tags_whatever_the_text(text: str) -> None:
    harmless = Page.of(to_html(report_of("words")))
    page = Page.of(to_html(report_of(text)))
    assert [tag.name for tag in page.tags] == [tag.name for tag in harmless.tags]
    assert [set(tag.attributes) for tag in page.tags] == [set(t.attributes) for t in harmless.tags]


@each_attack
def test_no_control_or_direction_override_is_in_the_page(text: str) -> None:
    page = to_html(report_of(text))
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", page
    )


@each_attack
def test_markdown_keeps_its_lines_whatever_the_text(text: str) -> None:
    def shape(one: str) -> list[str]:
        return [re.match(r"(#+ |\| ?|- | {2}- )?", line)[0] for line in one.splitlines()]

    harmless = to_markdown(report_of("words"))
    assert shape(to_markdown(report_of(text))) == shape(harmless)


@each_attack
def test_markdown_tables_keep_their_columns(text: str) -> None:
    for line in to_markdown(report_of(text)).splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
            assert "\\" not in line or not re.search(r"(?<!\\)[<>`*]", line)


@each_attack
def test_json_carries_the_text_as_it_is(text: str) -> None:
    report = json.loads(to_json(report_of(text)))
    assert report["run"]["label"] == words.shortened(text)
    assert report["moved"]["worse"][0]["question"].startswith(text[:300])


def test_no_text_of_others_fills_the_page() -> None:
    assert len(to_html(report_of("w" * 100_000))) < 150_000


@each_attack
def test_long_words_of_others_can_wrap(text: str) -> None:
    page = to_html(report_of(text))
    assert "overflow-wrap:anywhere" in page


def test_text_of_others_is_isolated_from_the_direction_of_its_surroundings() -> None:
    page = Page.of(to_html(report_of("שלום")))
    holders = [k for k, tag in enumerate(page.tags) if tag.text.strip() == "שלום"]
    assert holders
    for k in holders:
        around = page.tags[k]
        inner = page.tags[k + 1] if k + 1 in holders else around
        assert inner.name == "bdi" or inner.attributes.get("dir") == "auto"


def test_a_hostile_run_id_is_inert_in_title_heading_and_chart() -> None:
    name = '</title><script>alert("x")</script>'
    inputs = one_run()
    renamed = {
        table: getattr(inputs, table).with_columns(run_id=pl.lit(name))
        for table in ("runs", "evaluations", "run_metrics", "risk_coverage", "reliability_bins")
    }
    page = Page.of(to_html(build_report(one_run(run_id=name, **renamed))))
    assert page.all("title")[0].text == f"Run {name}"
    assert page.all("h1")[0].text == f"Run {name}"
    assert not page.all("script")
