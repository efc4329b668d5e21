"""A comparison as text for a terminal."""

from __future__ import annotations

from typing import Any

import polars as pl

from crucible_batch.assemble.compare.run import Comparison
from crucible_batch.errors import UnknownNameError
from crucible_batch.metrics import catalog
from crucible_batch.report import comparison_table, verdict_sentence, words
from crucible_batch.report.blocked import mark, reasons
from crucible_batch.report.detail import FACETS
from crucible_batch.report.verdicts import headline_rows


def check_facet(slice_by: str) -> str:
    """Return the facet if items can be sliced by it; checked before any work.

    Raises:
        UnknownNameError: No facet has this name.
    """
    if slice_by not in FACETS:
        raise UnknownNameError("facet", slice_by, list(FACETS))
    return slice_by


def comparison_text(
    done: Comparison, slice_by: str | None = None, *, width: int | None = None
) -> str:
    """The verdict in one sentence, the headline metrics, and one facet if asked for.

    Tables wider than `width` characters take two lines per row.

    Raises:
        UnknownNameError: No facet has this name.
    """
    known = catalog.to_frame()
    baseline, candidate = done.baseline.row["run_id"], done.candidate.row["run_id"]
    headline = pl.DataFrame(headline_rows(done.rows, known), schema=done.rows.schema)
    blocked = reasons(done.baseline.row, done.candidate.row)
    lines = [f"{baseline} → {candidate}", verdict_sentence(done.rows, known, blocked), ""]
    lines.append(comparison_table(headline, known, blocked, width=width))
    lines += _notes(done, headline.row(0, named=True) if headline.height else None)
    if slice_by is not None:
        names = headline["metric"].implode()
        own = (pl.col("slice_by") == check_facet(slice_by)) & pl.col("metric").is_in(names)
        rows = done.rows.filter(own).sort("metric", "slice")
        nothing = f"no item with a value in both runs has a {slice_by}"
        table = comparison_table(rows, known, blocked, width=width)
        lines += ["", table if rows.height else nothing]
    return "\n".join(lines)


def _notes(done: Comparison, first: dict[str, Any] | None) -> list[str]:
    """What to know beside the table whose first row is given."""
    row = done.rows.row(0, named=True) if first is None else first
    notes = [
        f"unit: {row['unit']} ({row['n_units']} of them behind the first row), "
        f"{row['n_resamples']:,} resamples, seed {row['seed']}"
    ]
    if row["golden_set_changed"]:
        notes.append(
            f"golden set changed: {words.count(row['n_content_changed'], 'item')} left out, "
            f"{row['n_only_baseline']} only in the baseline, "
            f"{row['n_only_candidate']} only in the candidate"
        )
    return ["", *notes]


def artifact_rows(done: Comparison) -> list[dict[str, str]]:
    """The headline metrics as rows of text, for tables that other programs show."""
    known, blocked = catalog.to_frame(), reasons(done.baseline.row, done.candidate.row)
    rows = []
    for row in headline_rows(done.rows, known):
        numbers = {
            name: "—" if row[name] is None else f"{row[name]:.4g}"
            for name in (
                "mean_baseline",
                "mean_candidate",
                "delta",
                "ci_low",
                "ci_high",
                "p_adjusted",
            )
        }
        verdict = row["verdict"] or mark(row, blocked).word
        rows.append(
            {"metric": row["metric"], **numbers, "n": str(row["n_pairs"]), "verdict": verdict}
        )
    return rows
