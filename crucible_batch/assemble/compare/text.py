"""A comparison as text: for a terminal, for a paper, for a pull request."""

from __future__ import annotations

import polars as pl

from crucible_batch.assemble.compare.run import Comparison
from crucible_batch.assemble.summary import JUDGED, judging_hint
from crucible_batch.errors import UnknownNameError, UsageError, suggestion
from crucible_batch.metrics import catalog
from crucible_batch.report import (
    comparison_latex,
    comparison_line,
    comparison_markdown,
    comparison_table,
    moved_text,
    verdict_sentence,
    words,
)
from crucible_batch.report.blocked import Reasons, mark, reasons
from crucible_batch.report.detail import FACETS
from crucible_batch.report.verdicts import headline_rows

CHANGES = ("improved", "regressed", "changed")
TABLES_OF = {"latex": comparison_latex, "markdown": comparison_markdown}
"""Tables for people who publish, by name of the format."""


def check_facet(slice_by: str) -> str:
    """Return the facet if items can be sliced by it; checked before any work.

    Raises:
        UnknownNameError: No facet has this name.
    """
    if slice_by not in FACETS:
        raise UnknownNameError("facet", slice_by, list(FACETS))
    return slice_by


def check_form(form: str) -> str:
    """Return the format if a comparison can be published in it; checked before any work.

    Raises:
        UsageError: There is no such format.
    """
    if form not in TABLES_OF:
        raise UsageError(f"format is {form!r}", fix=suggestion(form, list(TABLES_OF)))
    return form


def comparison_text(done: Comparison, *, width: int | None = None) -> str:
    """The verdict in one sentence, and the headline metrics as a table.

    A table wider than `width` characters takes two lines per row.
    """
    headline = _headline(done)
    table = comparison_table(headline, catalog.to_frame(), _blocked(done), width=width)
    return "\n".join([*_head(done), table, "", *_notes(done, headline)])


def compared_text(
    done: Comparison, slice_by: str | None = None, *, width: int | None = None
) -> str:
    """A comparison in full: headline metrics, slices, the items that moved most and why.

    Args:
        done: The comparison.
        slice_by: Print every slice of this facet; None: the slices that changed, of any facet.
        width: Characters of a line; a table that is wider takes two lines per row.

    Raises:
        UnknownNameError: No facet has this name.
    """
    known, headline, blocked = catalog.to_frame(), _headline(done), _blocked(done)
    lines = _head(done)
    lines += [comparison_line(row, known, blocked) for row in headline.iter_rows(named=True)]
    lines += ["", *_notes(done, headline)]
    of_slices = _of_slices(done, headline, slice_by)
    if slice_by is not None:
        nothing = f"no item with a value in both runs has a {slice_by}"
        table = comparison_table(of_slices, known, blocked, width=width)
        lines += ["", table if of_slices.height else nothing]
    elif of_slices.height:
        lines += ["", "slices that changed:"]
        lines += [
            f"  {comparison_line(row, known, blocked)}" for row in of_slices.iter_rows(named=True)
        ]
    if moved := moved_text(done.rows, done.items, done.documents, known):
        lines += ["", moved]
    return "\n".join(lines)


def comparison_as(done: Comparison, form: str, slice_by: str | None = None) -> str:
    """The headline metrics, and one facet if asked for, as a table to be published.

    Args:
        done: The comparison.
        form: `latex` or `markdown`.
        slice_by: Also the slices of this facet.

    Raises:
        UsageError: There is no such format.
        UnknownNameError: No facet has this name.
    """
    rows = _headline(done)
    if slice_by is not None:
        rows = pl.concat([rows, _of_slices(done, rows, slice_by)])
    return TABLES_OF[check_form(form)](rows, catalog.to_frame())


def _headline(done: Comparison) -> pl.DataFrame:
    """The overall rows of the headline metrics, in catalog order."""
    return pl.DataFrame(headline_rows(done.rows, catalog.to_frame()), schema=done.rows.schema)


def _head(done: Comparison) -> list[str]:
    baseline, candidate = done.baseline.row["run_id"], done.candidate.row["run_id"]
    said = verdict_sentence(done.rows, catalog.to_frame(), _blocked(done))
    return [f"{baseline} → {candidate}", said, ""]


def _blocked(done: Comparison) -> Reasons:
    """Words for what stands against a verdict of these two runs."""
    return reasons(done.baseline.row, done.candidate.row)


def _of_slices(done: Comparison, headline: pl.DataFrame, slice_by: str | None) -> pl.DataFrame:
    """Rows of the headline metrics in the slices of a facet; without one, where they changed.

    A slice of all the pairs says the overall row again: it is told only of a facet asked for.
    """
    names = headline["metric"].implode()
    rows = done.rows.filter(pl.col("metric").is_in(names), pl.col("slice_by") != "all")
    if slice_by is None:
        every = headline.select("metric", n_overall="n_pairs")
        parts = rows.join(every, on="metric").filter(pl.col("n_pairs") < pl.col("n_overall"))
        changed = parts.filter(pl.col("verdict").is_in(CHANGES)).drop("n_overall")
        return changed.sort("metric", "slice_by", "slice")
    return rows.filter(pl.col("slice_by") == check_facet(slice_by)).sort("metric", "slice")


def _notes(done: Comparison, headline: pl.DataFrame) -> list[str]:
    """What to know beside the headline metrics."""
    row = (headline if headline.height else done.rows).row(0, named=True)
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
    right = headline.filter(pl.col("metric") == JUDGED)
    if right.height and right["n_identical_answers"][0]:
        alike = right["n_identical_answers"][0], right["delta_identical_answers"][0]
        notes.append(_on_identical(*alike))
    if hint := judging_hint([done.baseline.evaluation, done.candidate.evaluation]):
        notes.append(hint)
    return notes


def _on_identical(n: int, change: float) -> str:
    """What the judge made of answers that did not change."""
    said = "did not change"
    if change:
        said = f"changed by {words.signed(change)}, which is the judge's doing"
    alike = words.count(n, "answer is", "answers are")
    return f"{alike} the same in both runs; on these {JUDGED} {said}"


def artifact_rows(done: Comparison) -> list[dict[str, str]]:
    """The headline metrics as rows of text, for tables that other programs show."""
    known, blocked = catalog.to_frame(), _blocked(done)
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
