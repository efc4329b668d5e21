"""The metric whose items are worth a look."""

from __future__ import annotations

import polars as pl

from crucible_batch.report.facts import KPIS
from crucible_batch.report.lines import Row


def focus(comparisons: pl.DataFrame) -> tuple[str, str] | None:
    """The metric whose items are shown, and why this one.

    The first KPI that regressed, else the first that improved, else the one on which most items
    moved; None when no item has a headline metric in both runs.
    """
    rows = compared_rows(comparisons)
    for verdict, why in (("regressed", "it regressed"), ("improved", "it improved")):
        for name in KPIS:
            if name in rows and rows[name]["verdict"] == verdict:
                return name, why
    moved = {name: rows[name]["n_nonzero"] or 0 for name in KPIS if name in rows}
    most = max(moved, key=lambda name: moved[name], default=None)
    if most is None or not moved[most]:
        return None
    return most, "most items moved on it"


def compared_rows(comparisons: pl.DataFrame) -> dict[str, Row]:
    """The overall rows with pairs by metric."""
    overall = comparisons.filter(pl.col("slice_by") == "all", pl.col("n_pairs") > 0)
    return {row["metric"]: row for row in overall.iter_rows(named=True)}
