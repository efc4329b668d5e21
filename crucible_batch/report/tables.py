"""A comparison as a table for papers and pull requests: LaTeX and Markdown from the same cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.blocked import mark
from crucible_batch.report.lines import Row, declarations, declared, delta_text, digits, shown_p
from crucible_batch.report.lines import interval_text as interval
from crucible_batch.report.lines import remarks as remarks_of
from crucible_batch.report.markdown_text import markdown_table, plain

HEADER = ("Metric", "Baseline", "Candidate", "Delta", "95 % CI", "p adjusted", "n", "Verdict")
LEFT = (0, 7)
"""Columns of words; the others hold numbers and stand to the right."""

_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "[": "{[}",  # after the end of a row it would be an argument
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    words.MINUS: "$-$",
    "×": r"$\times$",
    "→": r"$\to$",
    words.DASH: "---",
    words.NBSP: "~",
}


def comparison_markdown(rows: pl.DataFrame, catalog: pl.DataFrame) -> str:
    """Comparisons as a Markdown table, and under it what the numbers rest on.

    Args:
        rows: Rows of `comparisons` of one comparison, overall or of slices; at least one.
        catalog: `metric_catalog`.
    """
    cells = [
        [plain(text) if place in LEFT else text for place, text in enumerate(line)]
        for line in _cells(rows, catalog)
    ]
    table = markdown_table(HEADER, cells, left=LEFT)
    return f"{table}\n\n{plain(basis(rows))}"


def comparison_latex(rows: pl.DataFrame, catalog: pl.DataFrame) -> str:
    r"""Comparisons as a LaTeX table in the style of booktabs, with what the numbers rest on.

    Args:
        rows: Rows of `comparisons` of one comparison, overall or of slices; at least one.
        catalog: `metric_catalog`.

    Returns:
        A `tabular` that needs `\usepackage{booktabs}`; ids and names cannot form commands.
    """
    columns = "".join("l" if place in LEFT else "r" for place in range(len(HEADER)))
    lines = [" & ".join(map(latex, line)) + r" \\" for line in _cells(rows, catalog)]
    return "\n".join(
        (
            f"% {' '.join(words.one_line(basis(rows)).split())}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(latex, HEADER)) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
        )
    )


def latex(text: str) -> str:
    """Text as LaTeX prints it; nothing in it is a command."""
    return "".join(_LATEX.get(character, character) for character in words.one_line(text))


def basis(rows: pl.DataFrame) -> str:
    """What the numbers of a comparison rest on, in one sentence."""
    row = rows.row(0, named=True)
    adjusted = sorted({words.ADJUSTED[name] for name in rows["adjust_method"].drop_nulls()})
    by = f", p adjusted by {words.listed(adjusted)}" if adjusted else ""
    return (
        f"{row['candidate_run_id']} against {row['baseline_run_id']}; unit: {row['unit']}; "
        f"BCa bootstrap, {row['n_resamples']:,} resamples, seed {row['seed']}; "
        f"sign-flip test{by}; comparison {row['comparison_id'][:12]}."
    )


def _cells(rows: pl.DataFrame, catalog: pl.DataFrame) -> Iterable[Sequence[str]]:
    metrics = declarations(catalog)
    return [_line(row, declared(metrics, row["metric"])) for row in rows.iter_rows(named=True)]


def _line(row: Row, metric: Row) -> Sequence[str]:
    title = str(metric["title"])
    if row["slice_by"] != "all":
        title += f" ({row['slice_by']} = {row['slice']})"
    notes = ", ".join(remarks_of(row))
    verdict = mark(row)
    return (
        title,
        words.amount(row["mean_baseline"], metric["unit"], digits(row)),
        words.amount(row["mean_candidate"], metric["unit"], digits(row)),
        delta_text(row, metric),
        interval(row, metric),
        words.probability(shown_p(row)),
        f"{row['n_pairs']:,}",
        f"{verdict.word} ({notes})" if notes else verdict.word,
    )
