"""The report as Markdown: the same sections as the page, tables instead of charts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from crucible_batch.report import words
from crucible_batch.report.figures import Badge, Figure
from crucible_batch.report.model import Bin, Compared, Moved, MovedItems, Report

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~@&])")
_AT_THE_START = re.compile(r"^(\d*)([-+#=.)])")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto|www)([:.])")
"""What many renderers turn into a link by themselves."""


def to_markdown(report: Report) -> str:
    """Print the model as Markdown (CommonMark with tables).

    Args:
        report: The model.

    Returns:
        Text in which ids, questions and answers cannot form markup.
    """
    sections = (
        _header(report),
        _gate(report),
        _tiles(report),
        _badges(report),
        _curves(report),
        _compared(report),
        _slices(report),
        _errors(report),
        _moved(report),
        _corpus(report),
        _coverage(report),
        _provenance(report),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def plain(text: str) -> str:
    """Text of others, inert: one line, controls visible, Markdown's characters escaped."""
    one_line = re.sub(r"\s+", " ", words.visible(text)).strip()
    escaped = _ADDRESS.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", one_line))
    return _AT_THE_START.sub(r"\1\\\2", escaped)


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[int]
) -> str:
    """A table of cells that are Markdown already; columns that are not `left` are right-aligned."""
    rule = ["---" if place in left else "---:" for place in range(len(header))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *rows))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> str:
    """A table; the first `text_columns` columns are left-aligned, the others right-aligned."""
    return markdown_table(header, rows, left=range(text_columns))


def _mark(badge: Badge) -> str:
    return f"{badge.glyph} {badge.word}"


def _header(report: Report) -> str:
    lines = [f"# {plain(report.title)}", "", f"**{plain(report.verdict)}**", ""]
    for side, run in (("Run", report.run), ("Baseline", report.baseline)):
        if run is None:
            continue
        label = f" ({plain(run.label)})" if run.label else ""
        reason = f": {plain(run.status_reason)}" if run.status_reason else ""
        lines.append(
            f"- {side} {plain(run.run_id)}{label}: {_mark(run.status)}{reason}; {run.counted}; "
            f"golden set {plain(run.golden_set)}"
        )
    if report.as_of:
        lines.append(f"- As of {report.as_of}")
    return "\n".join(lines)


def _gate(report: Report) -> str:
    if report.gate is None:
        return ""
    rows = [
        [plain(rule.rule_id), _mark(rule.outcome), rule.severity, plain(rule.reason)]
        for rule in report.gate.rules
    ]
    table = _table(["Rule", "Outcome", "Severity", "Why"], rows, text_columns=4)
    return f"## Gate\n\n**{plain(words.dotted(report.gate.line))}**\n\n{table}"


def _tiles(report: Report) -> str:
    header = ["KPI", "Value", "95 % interval", "Results", "Items", "Remarks"]
    if report.baseline:
        header.insert(2, "Baseline")
    rows = []
    for tile in report.tiles:
        said = [f"not measured: {tile.reason}"] if tile.reason else []
        remarks = "; ".join([*said, *filter(None, [tile.label, tile.paired]), *tile.notes])
        counts = [tile.interval or words.DASH, f"{tile.n_scored:,}", f"{tile.n_items:,}"]
        row = [tile.title, tile.percent.text, *counts, plain(remarks)]
        if tile.baseline:
            over = f" ({tile.baseline_over})" if tile.baseline_over else ""
            row.insert(2, tile.baseline.text + over)
        rows.append(row)
    return "## Key numbers\n\n" + _table(header, rows)


def _badges(report: Report) -> str:
    header = ["Abstention", "Run", *(["Baseline"] if report.baseline else [])]
    rows = [
        [one.title, _of(one.figure, one.note)]
        + ([_of(one.baseline, one.baseline_note)] if one.baseline else [])
        for one in report.badges
    ]
    return "## Abstention\n\n" + _table(header, rows)


def _of(figure: Figure, note: str) -> str:
    """A number and what it is of."""
    return f"{figure.text} ({note})" if note and figure.value is not None else figure.text


def _curves(report: Report) -> str:
    if not report.curves:
        return ""
    header = ["Coverage", *(f"Risk of {plain(curve.run_id)}" for curve in report.curves)]
    rows = [[step.coverage, *(risk.text for risk in step.risks)] for step in report.curve_steps]
    says = [
        f"{plain(curve.run_id)}: {curve.n_pairs:,} of {curve.n_results:,} results are answered, "
        f"labelled and have a confidence; AURC {curve.aurc.text} (lower is better)."
        for curve in report.curves
    ]
    if report.curves[0].is_baseline:
        says.append(words.NO_CURVE)
    parts = ["## Risk over coverage", *says, _table(header, rows)]
    if report.bins:
        sides = [report.run, *([report.baseline] if report.baseline else [])]
        of = ("Results", "Mean confidence", "Accuracy")
        head = ["Bin", *(f"{what} of {plain(side.run_id)}" for side in sides for what in of)]
        bins = [
            [str(row.bin), *(text for one in row.sides for text in _bin(one))]
            for row in report.bins
        ]
        parts += ["### Confidence against accuracy", _table(head, bins)]
    return "\n\n".join(parts)


def _bin(one: Bin | None) -> tuple[str, str, str]:
    if one is None:
        return (words.DASH,) * 3
    return f"{one.n:,}", one.confidence.text, one.accuracy.text


def _compared(report: Report) -> str:
    if not report.compared and not report.compared_more:
        return ""
    means = "Means are of the items measured in both runs; the key numbers are of all results."
    parts = ["## Comparison", means, _comparisons(report.compared)]
    if report.compared_more:
        parts += ["### Other metrics", _comparisons(report.compared_more)]
    return "\n\n".join(parts)


def _comparisons(rows: Sequence[Compared]) -> str:
    header = ["Metric", "Baseline", "Candidate", "Delta", "95 % interval", "p adjusted"]
    header += ["Pairs", "Better/same/worse", "Verdict"]
    cells = []
    for row in rows:
        notes = f" ({', '.join(row.remarks)})" if row.remarks else ""
        numbers = [row.baseline.text, row.candidate.text, row.delta.text, row.interval]
        counts = [row.p_adjusted.text, f"{row.n_pairs:,}", row.counts]
        cells.append([plain(row.title), *numbers, *counts, f"{plain(_mark(row.verdict))}{notes}"])
    return _table(header, cells)


def _slices(report: Report) -> str:
    if report.slices is None:
        return ""
    rows = []
    for row in report.slices.rows:
        cells = [
            " ".join(
                filter(
                    None,
                    (
                        cell.value.text,
                        f"(n {cell.n_items:,})",
                        cell.delta.text if cell.delta else "",
                        _mark(cell.verdict) if cell.verdict else "",
                    ),
                )
            )
            for cell in row.cells
        ]
        rows.append([f"{plain(row.slice_by)} = {plain(row.slice)}", *cells])
    left = report.slices.n_left_out
    note = f"\n\n{words.count(left, 'smaller tag')} not shown." if left else ""
    said = "In parentheses: deltas with insufficient items.\n\n" * bool(report.compared)
    return f"## Slices\n\n{said}" + _table(["Slice", *report.slices.titles], rows) + note


def _errors(report: Report) -> str:
    if report.errors is None:
        return ""
    header = ["Error class", *map(plain, report.errors.run_ids)]
    rows = [
        [
            plain(row.name),
            *(f"{n.text} ({part.text})" for n, part in zip(row.counts, row.shares, strict=True)),
        ]
        for row in report.errors.rows
    ]
    parts = ["## Error classes", _table(header, rows)]
    if report.errors.n_unchanged is not None:
        flows = [[plain(f.before), plain(f.after), f"{f.n:,}"] for f in report.errors.flows]
        parts.append(f"{words.count(report.errors.n_unchanged, 'result')} kept their class.")
        if flows:
            parts.append(_table(["Baseline class", "Class now", "Results"], flows, text_columns=2))
    return "\n\n".join(parts)


def _moved(report: Report) -> str:
    if report.moved is None:
        return ""
    moved: MovedItems = report.moved
    parts = [f"## Items that moved most on {plain(moved.title)}", f"Shown because {moved.why}."]
    for word, n, items in (
        ("Worse", moved.n_worse, moved.worse),
        ("Better", moved.n_better, moved.better),
    ):
        parts.append(f"### {word}: {len(items)} of {words.count(n, 'item')}")
        parts.append("\n".join(_item(item) for item in items) or "None.")
    return "\n\n".join(parts)


def _item(item: Moved) -> str:
    change = f"{item.delta.text} ({item.baseline.text} → {item.candidate.text})"
    lines = [f"- {plain(item.item_id)}: {change}"]
    said = {
        "Question": item.question,
        "Also moved": item.also,
        "Baseline answered": item.answer_baseline,
        "Run answered": item.answer_candidate,
    }
    return "\n".join(lines + [f"  - {key}: {plain(text)}" for key, text in said.items() if text])


def _corpus(report: Report) -> str:
    rows = [[fact.label, plain(fact.text), plain(fact.note)] for fact in report.corpus]
    return "## Corpus\n\n" + _table(["Fact", "Value", "Remark"], rows) if rows else ""


def _coverage(report: Report) -> str:
    header = ["Metric", "Measured", "Not applicable", "Missing", "Coverage", "Mean", "Worst case"]
    header += ["Best case", "Why not measured"]
    rows = []
    for row in report.coverage:
        missing = f"{row.n_missing:,}" + (f" ({row.n_errored:,} errored)" * bool(row.n_errored))
        counts = [f"{row.n_scored:,}", f"{row.n_not_applicable:,}", missing]
        figures: list[Figure] = [row.coverage, row.mean, row.worst, row.best]
        texts = [figure.text for figure in figures]
        rows.append([row.title, *counts, *texts, plain(row.why) or words.DASH])
    parts = ["## What could not be measured", _table(header, rows)]
    if report.unmeasured:
        others = [
            [f"{o.n_scored:,}", f"{o.n_not_applicable:,}", f"{o.n_missing:,}", plain(o.why), titles]
            for o in report.unmeasured
            for titles in [plain(o.titles)]
        ]
        head = ["Measured", "Not applicable", "Missing", "Why not measured", "Metrics"]
        parts += ["### Other metrics", _table(head, others)]
    return "\n\n".join(parts)


def _provenance(report: Report) -> str:
    rows = [[plain(fact.label), plain(fact.text), plain(fact.note)] for fact in report.provenance]
    return "## Provenance\n\n" + _table(["What", "Value", "Remark"], rows, text_columns=3)
