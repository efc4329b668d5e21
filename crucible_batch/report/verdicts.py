"""The answer in one plain sentence: is the candidate better than the baseline?"""

from __future__ import annotations

from collections import Counter

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.blocked import UNNAMED, Reasons, reason
from crucible_batch.report.lines import Row, declarations, declared, delta_text


def headline_rows(comparisons: pl.DataFrame, catalog: pl.DataFrame) -> list[Row]:
    """The overall rows of the headline metrics, in catalog order."""
    metrics = declarations(catalog)
    order = {name: place for place, name in enumerate(metrics)}
    overall = comparisons.filter(pl.col("slice_by") == "all")
    rows = [
        row for row in overall.iter_rows(named=True) if declared(metrics, row["metric"])["headline"]
    ]
    return sorted(rows, key=lambda row: order[row["metric"]])


def verdict_sentence(
    comparisons: pl.DataFrame, catalog: pl.DataFrame, blocked: Reasons = UNNAMED
) -> str:
    """What the headline metrics say together, for people.

    Never "equal" where only a difference was not found, and never "better" without saying where it
    is worse. Metrics without a verdict are counted.

    Args:
        comparisons: Rows of one comparison; only overall rows of headline metrics are read.
        catalog: `metric_catalog`.
        blocked: Words for what stands against a verdict.
    """
    rows = headline_rows(comparisons, catalog)
    if not any(row["n_pairs"] for row in rows):
        return "No verdict: no item carries a headline metric in both runs."
    if all(row["verdict"] is None for row in rows):
        return f"No verdict: {'; '.join(_said(rows, blocked))}."
    few = [row for row in rows if row["verdict"] == "insufficient_items"]
    if all(row["verdict"] in {None, "insufficient_items"} for row in rows):
        most = max(row["n_units"] for row in few)
        too_few = f"too few {_units(rows)}s are paired ({most} at most)"
        return f"No verdict: {'; '.join([too_few, *_said(rows, blocked)])}."
    return " ".join(filter(None, (_decided(rows, catalog), _open(rows, blocked), _caveat(rows))))


def _decided(rows: list[Row], catalog: pl.DataFrame) -> str:
    metrics = declarations(catalog)

    def named(verdict: str) -> str:
        return words.listed(
            [
                f"{declared(metrics, row['metric'])['title']} "
                f"({delta_text(row, declared(metrics, row['metric']))})"
                for row in rows
                if row["verdict"] == verdict
            ]
        )

    found = {row["verdict"] for row in rows}
    n_tested = sum(row["verdict"] not in {None, "insufficient_items", "no_test"} for row in rows)
    tested = f"the {words.count(n_tested, 'headline metric')} with a verdict"
    if {"improved", "regressed"} <= found:
        return f"Mixed: better on {named('improved')}, worse on {named('regressed')}."
    if "regressed" in found:
        return f"Worse: {named('regressed')} regressed, and none of {tested} improved."
    if "improved" in found:
        return f"Better: {named('improved')} improved, and none of {tested} regressed."
    if found <= {"equivalent", "insufficient_items", "no_test", None}:
        return f"Equivalent within the margin on {tested}."
    return f"No difference is established on {tested}; that is no proof that the runs are equal."


def _open(rows: list[Row], blocked: Reasons) -> str:
    """How many headline metrics have no verdict, and why."""
    causes = [cause for row in rows if (cause := _cause(row, rows, blocked))]
    if not causes:
        return ""
    counts = Counter(causes)
    why = [f"{cause}: {n}" if len(counts) > 1 else cause for cause, n in counts.items()]
    total = words.count(len(rows), "headline metric")
    return f"No verdict on {len(causes)} of {total} ({', '.join(why)})."


def _cause(row: Row, rows: list[Row], blocked: Reasons) -> str | None:
    """Why a metric has no verdict; None where it has one."""
    if row["verdict"] is None:
        return reason(row, blocked).short
    if not row["n_pairs"]:
        return "not measured in both runs"
    return f"too few {_units(rows)}s" if row["verdict"] == "insufficient_items" else None


def _said(rows: list[Row], blocked: Reasons) -> list[str]:
    """What stands against verdicts, each once."""
    return sorted({reason(row, blocked).said for row in rows if row["verdict"] is None})


def _caveat(rows: list[Row]) -> str:
    if any(row["unequal_judging"] for row in rows):
        return "A regression may come from unequal judging of the two runs."
    return ""


def _units(rows: list[Row]) -> str:
    return "cluster" if any(row["unit"] == "cluster" for row in rows) else "item"
