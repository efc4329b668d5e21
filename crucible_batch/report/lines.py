"""A comparison as text for terminals: one line per metric, or an aligned table (STATISTICS.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.blocked import UNNAMED, Reasons, mark

Row = Mapping[str, Any]
"""A row of `comparisons`, of `metric_catalog`, … as `DataFrame.row(named=True)` gives it."""

UNDECLARED = {"unit": "fraction", "scale": "linear", "better": "none", "headline": False}
"""What is assumed of a metric that the catalog does not list (an undeclared plugin metric)."""


SMALL_SAMPLE = "small sample"
"""What is remarked of 20 to 39 items."""


def declarations(catalog: pl.DataFrame) -> dict[str, Row]:
    """The rows of `metric_catalog` by metric."""
    return {row["metric"]: row for row in catalog.iter_rows(named=True)}


def declared(metrics: Mapping[str, Row], metric: str) -> Row:
    """The declaration of a metric; of an unknown one what can be assumed."""
    return metrics.get(metric) or {"metric": metric, "title": metric, **UNDECLARED}


def comparison_line(row: Row, catalog: pl.DataFrame, blocked: Reasons = UNNAMED) -> str:
    """One comparison on one line.

    Args:
        row: A row of `comparisons`.
        catalog: `metric_catalog`; its unit and scale decide how numbers are printed.
        blocked: Words for what stands against a verdict.

    Returns:
        E.g. ``ndcg_at_10  0.612 → 0.648  +0.036 [+0.009, +0.064] 95 % BCa  p 0.012 (exact),
        Holm 0.048  21 better / 24 same / 5 worse  n 50  IMPROVED``. With too few items there is no
        p and no verdict, and the counts stand with the pairs.
    """
    metric = declared(declarations(catalog), row["metric"])
    if is_of_run(row):
        said = mark(row, blocked).word
        ends = f"{_means(row, metric)}  {delta_text(row, metric)}"
        return f"{_name(row)}  {ends}  one number per run, {said}"
    if not row["n_pairs"]:
        return f"{_name(row)}  {words.DASH}  no pairs, no verdict"
    head = f"{_name(row)}  {_means(row, metric)}  {delta_text(row, metric)}"
    interval = interval_text(row, metric)
    if interval != words.DASH:
        head += f" {interval}"
    if has_too_few(row):
        counts = f"{_pairs(row)} ({counts_text(row, spaced=True)})"
        return f"{head} insufficient items  {counts}, no verdict"
    parts = [head + _how(row), _p_text(row), counts_text(row, spaced=True), _n(row)]
    return "  ".join([part for part in parts if part] + [_shout(row, blocked)])


FOLD = 5
"""Columns of a row's first line where a table is too wide for one."""


def comparison_table(
    rows: pl.DataFrame,
    catalog: pl.DataFrame,
    blocked: Reasons = UNNAMED,
    *,
    width: int | None = None,
) -> str:
    """Comparisons as an aligned table, in the order given.

    Args:
        rows: Rows of `comparisons`, overall or of slices.
        catalog: `metric_catalog`.
        blocked: Words for what stands against a verdict.
        width: Characters of a line; a table that is wider takes two lines per row. None: no limit.
    """
    metrics = declarations(catalog)
    header = ("metric", "baseline", "candidate", "delta", "95 % interval", "p adj.", "pairs")
    cells = [(*header, "better/same/worse", "verdict")]
    for row in rows.iter_rows(named=True):
        metric = declared(metrics, row["metric"])
        verdict = mark(row, blocked)
        cells.append(
            (
                _name(row),
                words.amount(row["mean_baseline"], metric["unit"], digits(row)),
                words.amount(row["mean_candidate"], metric["unit"], digits(row)),
                delta_text(row, metric),
                interval_text(row, metric),
                words.probability(shown_p(row)),
                f"{row['n_pairs']:,}",
                counts_text(row, spaced=False),
                f"{verdict.glyph} {verdict.word}{_remarks(row)}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [_aligned(line, widths) for line in cells]
    if width is None or max(map(len, lines)) <= width:
        return "\n".join(lines)
    return "\n".join(_folded(line, widths) for line in cells)


def _folded(line: tuple[str, ...], widths: list[int]) -> str:
    """One row on two lines: the numbers, and below them, indented, the evidence and the verdict."""
    head, rest = _aligned(line[:FOLD], widths[:FOLD]), _aligned(line[FOLD:], widths[FOLD:])
    return f"{head}\n  {rest}"


def digits(row: Row) -> int:
    """Decimals that the evidence carries: two with too few items, else three."""
    return 2 if row["ci_label"] == "insufficient items" and not is_of_run(row) else 3


def is_of_run(row: Row) -> bool:
    """Whether the row holds one number per run: there are means, but no pairs behind them."""
    means = (row.get("mean_baseline"), row.get("mean_candidate"))
    return row.get("n_pairs") == 0 and means != (None, None)


def delta_text(row: Row, metric: Row) -> str:
    """The delta with its sign; on the log scale the factor."""
    if metric["scale"] == "log":
        return words.ratio(row["delta"])
    return words.signed(row["delta"], digits(row))


def interval_text(row: Row, metric: Row) -> str:
    """`[+0.009, +0.064]`, or an em dash."""
    if row["ci_low"] is None:
        return words.DASH
    shown = words.ratio if metric["scale"] == "log" else words.signed
    places = 2 if metric["scale"] == "log" else digits(row)
    return f"[{shown(row['ci_low'], places)}, {shown(row['ci_high'], places)}]"


def counts_text(row: Row, *, spaced: bool) -> str:
    """How many items got better, stayed, got worse; without a direction, how many moved."""
    if row["n_same"] is None:
        return "" if spaced else words.DASH
    if row["n_better"] is None:
        moved = row["n_pairs"] - row["n_same"]
        return f"{moved} moved / {row['n_same']} same" if spaced else f"{moved} moved"
    better, same, worse = row["n_better"], row["n_same"], row["n_worse"]
    if spaced:
        return f"{better} better / {same} same / {worse} worse"
    return f"{better}/{same}/{worse}"


def shown_p(row: Row) -> float | None:
    """The adjusted p; None with too few items, where no verdict may rest on it.

    Overall it counts in its family all the same, on a slice it does not: a page that printed the
    one beside a dash for the other would only puzzle.
    """
    return None if has_too_few(row) else row["p_adjusted"]


def has_too_few(row: Row) -> bool:
    """Whether there are too few items for a verdict."""
    return bool(row["verdict"] == "insufficient_items")


def remarks(row: Row) -> list[str]:
    """What must be known beside the verdict."""
    found = {
        "negligible": row["negligible"],
        _unequal(row): row["unequal_judging"],
        "interval and raw p disagree": row["ci_p_disagree"],
        "all deltas equal": row["degenerate"] and row["delta"] != 0,
        SMALL_SAMPLE: row["ci_label"] == SMALL_SAMPLE,
    }
    return [text for text, holds in found.items() if holds]


def _unequal(row: Row) -> str:
    if row["delta_judged_only"] is None:
        return "unequal judging"
    return f"unequal judging, {words.signed(row['delta_judged_only'])} on judged documents alone"


def _remarks(row: Row) -> str:
    return f" ({', '.join(remarks(row))})" if remarks(row) else ""


def _name(row: Row) -> str:
    if row["slice_by"] == "all":
        return words.one_line(row["metric"])
    return words.one_line(f"{row['metric']} {row['slice_by']}={row['slice']}")


def _means(row: Row, metric: Row) -> str:
    before = words.amount(row["mean_baseline"], metric["unit"], digits(row))
    return f"{before} → {words.amount(row['mean_candidate'], metric['unit'], digits(row))}"


def _how(row: Row) -> str:
    if row["ci_method"] is None:
        return ""
    level = words.percent(row["ci_level"]).replace(words.NBSP, " ")
    return f" {level} {words.CI_METHODS[row['ci_method']]}"


def _p_text(row: Row) -> str:
    if row["p_value"] is None:
        return ""
    text = f"p {words.probability(row['p_value'])} ({words.P_METHODS[row['p_method']]})"
    if row["p_adjusted"] is None or row["adjust_method"] is None:
        return text
    adjusted = words.probability(row["p_adjusted"])
    return f"{text}, {words.ADJUSTED[row['adjust_method']]} {adjusted}"


def _pairs(row: Row) -> str:
    text = words.count(row["n_pairs"], "pair")
    return text if row["unit"] == "item" else f"{text} in {words.count(row['n_units'], 'cluster')}"


def _n(row: Row) -> str:
    text = f"n {row['n_pairs']:,}"
    return text if row["unit"] == "item" else f"{text} in {words.count(row['n_units'], 'cluster')}"


def _shout(row: Row, blocked: Reasons) -> str:
    """The verdict; one that names a real change in capitals."""
    word = mark(row, blocked).word
    loud = row["verdict"] in {"improved", "regressed", "changed", "equivalent"}
    return (word.upper() if loud else word) + _remarks(row)


def _aligned(line: tuple[str, ...], widths: list[int]) -> str:
    """Numbers to the right, the first and the last column to the left."""
    last = len(line) - 1
    cells = [
        cell.ljust(width) if place in {0, last} else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
