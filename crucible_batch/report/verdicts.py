"""The answer in one plain sentence: is the candidate better than the baseline?"""

from __future__ import annotations

import polars as pl

from crucible_batch.report import words
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


def verdict_sentence(comparisons: pl.DataFrame, catalog: pl.DataFrame) -> str:
    """What the headline metrics say together, for people.

    Never "equal" where only a difference was not found, and never "better" without saying where it
    is worse. Metrics without a verdict are counted.

    Args:
        comparisons: Rows of one comparison; only overall rows of headline metrics are read.
        catalog: `metric_catalog`.
    """
    rows = headline_rows(comparisons, catalog)
    if not any(row["n_pairs"] for row in rows):
        return "No verdict: no item carries a headline metric in both runs."
    blocked = [row for row in rows if row["verdict"] is None]
    if len(blocked) == len(rows):
        reasons = sorted({words.verdict(None, row["blocked_reason"]).word for row in blocked})
        return f"No verdict: {'; '.join(r.removeprefix('no verdict: ') for r in reasons)}."
    few = [row for row in rows if row["verdict"] == "insufficient_items"]
    if len(few) + len(blocked) == len(rows):
        most = max(row["n_units"] for row in few)
        return f"No verdict: too few {_units(rows)}s are paired ({most} at most)."
    return " ".join(filter(None, (_decided(rows, catalog), _open(rows), _caveat(rows))))


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


def _open(rows: list[Row]) -> str:
    """How many headline metrics have no verdict, and why."""
    unmeasured = sum(not row["n_pairs"] for row in rows)
    few = sum(row["verdict"] == "insufficient_items" and row["n_pairs"] > 0 for row in rows)
    blocked = sum(row["verdict"] is None and row["n_pairs"] > 0 for row in rows)
    causes = {
        f"too few {_units(rows)}s": few,
        "blocked": blocked,
        "not measured in both runs": unmeasured,
    }
    open_ = {cause: n for cause, n in causes.items() if n}
    if not open_:
        return ""
    why = [f"{n} {cause}" if len(open_) > 1 else cause for cause, n in open_.items()]
    total = words.count(len(rows), "headline metric")
    return f"No verdict on {sum(open_.values())} of {total} ({', '.join(why)})."


def _caveat(rows: list[Row]) -> str:
    if any(row["unequal_judging"] for row in rows):
        return "A regression may come from unequal judging of the two runs."
    return ""


def _units(rows: list[Row]) -> str:
    return "cluster" if any(row["unit"] == "cluster" for row in rows) else "item"
