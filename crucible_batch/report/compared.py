"""Run against baseline: the comparison table and the chart of all items."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.blocked import Reasons, mark
from crucible_batch.report.facts import KPIS, Catalog, badge
from crucible_batch.report.figures import Figure, Pair
from crucible_batch.report.focus import compared_rows, focus
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.lines import (
    SMALL_SAMPLE,
    Row,
    comparison_line,
    counts_text,
    delta_text,
    digits,
    has_too_few,
    interval_text,
    is_of_run,
    remarks,
    shown_p,
)
from crucible_batch.report.model import Compared, HeadToHead, Quiet
from crucible_batch.report.verdicts import headline_rows


def compared(inputs: ReportInputs, catalog: Catalog, blocked: Reasons) -> tuple[Compared, ...]:
    """The headline rows over all items, in the order of the tiles."""
    rows = headline_rows(inputs.comparisons, catalog.frame)
    rows.sort(key=lambda row: KPIS.index(row["metric"]) if row["metric"] in KPIS else len(KPIS))
    return tuple(_compared(row, catalog, blocked) for row in rows)


QUIET = ("no_significant_change", "no_test")
"""Verdicts of rows that there is little to say of."""


class Others(NamedTuple):
    """The rows beside the headline: those to be read, and those of which there is nothing to say.

    Attributes:
        told: Rows with a verdict that says something, without one, or with a remark.
        quiet: Rows that are no significant change or are not tested, and nothing else.
    """

    told: tuple[Compared, ...]
    quiet: tuple[Quiet, ...]


def others(inputs: ReportInputs, catalog: Catalog, blocked: Reasons) -> Others:
    """The other overall rows that have a delta, in catalog order."""
    overall = inputs.comparisons.filter(pl.col("slice_by") == "all", pl.col("delta").is_not_null())
    rows = [r for r in overall.iter_rows(named=True) if not catalog[r["metric"]]["headline"]]
    rows.sort(key=lambda row: (catalog.order(row["metric"]), row["metric"]))
    quiet = [r for r in rows if r["verdict"] in QUIET and set(remarks(r)) <= {SMALL_SAMPLE}]
    told = [_compared(row, catalog, blocked) for row in rows if row not in quiet]
    return Others(tuple(told), tuple(_quiet(row, catalog) for row in quiet))


def _quiet(row: Row, catalog: Catalog) -> Quiet:
    metric = catalog[row["metric"]]
    is_tested = row["verdict"] != "no_test"
    return Quiet(
        metric=row["metric"],
        title=str(metric["title"]),
        delta=Figure(row["delta"], delta_text(row, metric)),
        interval="" if row["ci_low"] is None else interval_text(row, metric),
        basis=", ".join([f"n {row['n_pairs']:,}" if is_tested else "no test", *remarks(row)]),
    )


def _compared(row: Row, catalog: Catalog, blocked: Reasons) -> Compared:
    metric = catalog[row["metric"]]
    method = words.CI_METHODS.get(row["ci_method"] or "", "")
    return Compared(
        metric=row["metric"],
        title=str(metric["title"]),
        baseline=catalog.figure(row["metric"], row["mean_baseline"], digits(row)),
        candidate=catalog.figure(row["metric"], row["mean_candidate"], digits(row)),
        delta=Figure(row["delta"], delta_text(row, metric)),
        ci_low=row["ci_low"],
        ci_high=row["ci_high"],
        interval=interval_text(row, metric),
        method=method,
        p_adjusted=Figure(shown_p(row), words.probability(shown_p(row))),
        p_note=_p_note(row),
        n_pairs=row["n_pairs"],
        n_units=row["n_units"],
        unit=row["unit"],
        counts=counts_text(row, spaced=False),
        verdict=badge(mark(row, blocked)),
        remarks=tuple(remarks(row)),
        is_dim=row["ci_label"] == "insufficient items" and not is_of_run(row),
        line=comparison_line(row, catalog.frame, blocked),
    )


def _p_note(row: Row) -> str:
    if row["p_value"] is None or has_too_few(row):
        return ""
    raw = f"raw {words.probability(row['p_value'])} {words.P_METHODS[row['p_method']]}"
    if row["adjust_method"] is None or row["family_size"] is None:
        return raw
    return f"{raw}, {words.ADJUSTED[row['adjust_method']]} of {row['family_size']}"


def head_to_head(inputs: ReportInputs, catalog: Catalog) -> HeadToHead | None:
    """Every item on nDCG@10, which tells more than two values apart; else on the focus metric."""
    rows = compared_rows(inputs.comparisons)
    chosen = focus(inputs.comparisons)
    name = "ndcg_at_10" if "ndcg_at_10" in rows else chosen[0] if chosen else None
    if name is None:
        return None
    items = inputs.comparison_items.filter(pl.col("metric") == name).sort("item_id")
    if items.is_empty():
        return None
    pairs = tuple(Pair(*row) for row in items.select("item_id", "baseline", "candidate").rows())
    values = [value for pair in pairs for value in pair[1:]]
    low, high = catalog[name].get("low"), catalog[name].get("high")
    direction = catalog.direction(name)
    return HeadToHead(
        metric=name,
        title=catalog.title(name),
        counts=counts_text(rows[name], spaced=True) if name in rows else "",
        low=min(values) if low is None else low,
        high=max(values) if high is None else high,
        higher_is_better=direction > 0 if direction else None,
        pairs=pairs,
    )
