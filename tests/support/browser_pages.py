"""The pages that tests open in a browser, by name: what makes each is a function without input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import polars as pl
from league_tables import league_of
from report_nights import a_night
from report_tables import KPIS, evaluation_row, frame, item, metric_row, one_run, two_runs

from crucible_batch.contracts import TABLES, Kind
from crucible_batch.report import (
    LeagueInputs,
    ReportInputs,
    build_league,
    build_report,
    league_html,
    to_html,
)
from crucible_batch.report.figures import Badge, GateRule, GateSummary

RAN = "document.documentElement.dataset.ran = 1; alert(1)"
MARKUP = "".join(
    (
        "{{ 7 * 7 }} &lt;b&gt; \u202etxt.exe\u2066\u200f \x07\x1b[31m ",
        f"<script>{RAN}</script>",
        f'"><img src=x onerror="{RAN}">',
        f"</title></svg><svg onload='{RAN}'></svg>",
        "</style><style>*{display:none}</style>",
        f"<a href=\"javascript:{RAN}\" autofocus onfocus='{RAN}'>x</a>",
        f"<!-- --><iframe srcdoc='<script>{RAN}</script>'></iframe>",
    )
)
"""Markup that would run, fetch, hide or turn around; where it is inert it is text."""

RIGHT_TO_LEFT = "מדד 12 של פריט "
LONG = "w" * 10_000
LONGEST_ID = 256

OURS = {"metric", "slice_by", "slice", "error_class", "evaluation_id", "comparison_id"}
"""Text that no person and no pipeline hands in, and ids that only find rows again."""


def attacked(inputs: ReportInputs, text: str) -> ReportInputs:
    """The same report with the text before every name, question, answer, reason and note."""
    changed: dict[str, Any] = {}
    for field in fields(inputs):
        value = getattr(inputs, field.name)
        if field.name in TABLES and field.name != "metric_catalog":
            changed[field.name] = value.with_columns(_attacked(field.name, value, text))
        elif field.name.endswith("run_id") and value is not None:
            changed[field.name] = _as_id(text) + value
    columns = {name: pl.lit(text) + pl.col(name) for name in ("event_id", "endpoint", "last_error")}
    return replace(
        inputs,
        **changed,
        dead_deliveries=inputs.dead_deliveries.with_columns(**columns),
        files=tuple(one._replace(name=text + one.name) for one in inputs.files),
        gate=_gate(text),
    )


def _attacked(table: str, rows: pl.DataFrame, text: str) -> list[pl.Expr]:
    made = [
        _behind(text, column.kind, column.name)
        for column in TABLES[table].columns
        if not column.allowed and column.name in rows.columns and column.name not in OURS
    ]
    if {"slice_by", "slice"} <= set(rows.columns):
        is_tag = pl.col("slice_by") == "tag"
        named = pl.when(is_tag).then(_behind(text, Kind.ID, "slice")).otherwise("slice")
        made.append(named.alias("slice"))
    return made


def _behind(text: str, kind: Kind, column: str) -> pl.Expr:
    """A column with the text before its values, as much of it as its kind has room for."""
    if kind is Kind.ID:
        return (pl.lit(_as_id(text)) + pl.col(column)).alias(column)
    if kind in {Kind.TEXT, Kind.NONBLANK}:
        return (pl.lit(text) + pl.col(column)).alias(column)
    if kind is Kind.WORDS:
        return pl.concat_list(pl.lit(text), column).alias(column)
    return pl.col(column)


def _as_id(text: str) -> str:
    return text[: LONGEST_ID - 40]


def _gate(text: str) -> GateSummary:
    failed = Badge("✕", "fail", "bad")
    return GateSummary(text, failed, (GateRule(text, failed, "error", text),), notes=(text,))


def answered() -> ReportInputs:
    """A whole night: a comparison with answers to every item, charts, drift, alerts, policy."""
    answers = [
        {"run_id": run_id, "item_id": item(k), "answer": f"Answer {k}.", "retrieval_ran": True}
        for run_id in ("cand", "base")
        for k in range(60)
    ]
    evaluations = [
        evaluation_row(run_id, 60, status="degraded", status_reason="8 % of results errored")
        for run_id in ("cand", "base")
    ]
    return two_runs(
        **a_night(n_nights=24),
        results=frame("results", answers),
        evaluations=frame("evaluations", evaluations),
    )


def unmeasured() -> ReportInputs:
    """A run on which nothing could be measured."""
    rows = [metric_row("cand", name, None, 60) for name in KPIS]
    return one_run(run_metrics=frame("run_metrics", rows), n_curve=0)


def many_runs(text: str = "") -> LeagueInputs:
    """A league of ranked runs, one without accuracy and one that is degraded; names after text."""
    facts = {3: {"status": "degraded", "status_reason": text or "9 of 120 results errored"}}
    league = league_of(12, baseline=5, means={4: None}, facts=facts)
    changed = {
        table: getattr(league, table).with_columns(_attacked(table, getattr(league, table), text))
        for table in ("runs", "evaluations", "run_metrics", "comparisons")
    }
    return replace(
        league,
        run_ids=tuple(_as_id(text) + run_id for run_id in league.run_ids),
        baseline_run_id=_as_id(text) + str(league.baseline_run_id),
        **changed,
    )


INPUTS: Mapping[str, Callable[[], ReportInputs]] = {
    "one run": one_run,
    "two runs": answered,
    "nothing measured": unmeasured,
    "markup": lambda: attacked(answered(), MARKUP),
    "right to left": lambda: attacked(answered(), RIGHT_TO_LEFT),
    "long words": lambda: attacked(answered(), LONG),
}
LEAGUES: Mapping[str, str] = {
    "league": "",
    "league of markup": MARKUP,
    "league of long words": LONG,
}
"""The text that its names begin with."""

PAGES: Mapping[str, Callable[[], str]] = {
    **{name: lambda make=make: to_html(build_report(make())) for name, make in INPUTS.items()},
    **{
        name: lambda text=text: league_html(build_league(many_runs(text)))
        for name, text in LEAGUES.items()
    },
}
