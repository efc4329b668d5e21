"""The report as Markdown: the same sections as the page, tables instead of charts."""

from __future__ import annotations

from collections.abc import Sequence

from crucible_batch.report import markdown_nights, words
from crucible_batch.report.figures import Figure
from crucible_batch.report.markdown_text import mark, plain, table
from crucible_batch.report.model import Bin, Compared, Quiet, Report
from crucible_batch.report.moved_items import Moved, MovedItems, Place


def to_markdown(report: Report) -> str:
    """Print the model as Markdown (CommonMark with tables).

    Args:
        report: The model.

    Returns:
        Text in which ids, questions and answers cannot form markup.
    """
    sections = (
        _header(report),
        _tiles(report),
        _badges(report),
        _curves(report),
        _compared(report),
        _gate(report),
        _slices(report),
        _errors(report),
        _moved(report),
        markdown_nights.history(report),
        markdown_nights.watch(report),
        _coverage(report),
        markdown_nights.answer_path(report),
        _provenance(report),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _header(report: Report) -> str:
    lines = [f"# {plain(report.title)}", "", f"**{plain(report.verdict)}**", ""]
    for side, run in (("Run", report.run), ("Baseline", report.baseline)):
        if run is None:
            continue
        label = f" ({plain(run.label)})" if run.label else ""
        reason = f": {plain(run.status_reason)}" if run.status_reason else ""
        lines.append(
            f"- {side} {plain(run.run_id)}{label}: {mark(run.status)}{reason}; {run.counted}; "
            f"golden set {plain(run.golden_set)}"
        )
    if report.as_of:
        lines.append(f"- As of {report.as_of}")
    elif report.commit is not None:
        lines.append(f"- As of commit {report.commit} of the store")
    if report.gate:
        lines.append(f"- {report.gate.outcome.glyph} {plain(words.dotted(report.gate.line))}")
        lines += [f"- ! {plain(note)}" for note in report.gate.notes]
    return "\n".join(lines)


def _gate(report: Report) -> str:
    if report.gate is None:
        return ""
    rows = [
        [plain(rule.rule_id), mark(rule.outcome), rule.severity, plain(rule.reason)]
        for rule in report.gate.rules
    ]
    return "## Gate\n\n" + table(["Rule", "Outcome", "Severity", "Why"], rows, text_columns=4)


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
    return "## Key numbers\n\n" + table(header, rows)


def _badges(report: Report) -> str:
    header = ["Abstention", "Run", *(["Baseline"] if report.baseline else [])]
    rows = [
        [one.title, _of(one.figure, one.note)]
        + ([_of(one.baseline, one.baseline_note)] if one.baseline else [])
        for one in report.badges
    ]
    return "## Abstention\n\n" + table(header, rows)


def _of(figure: Figure, note: str) -> str:
    """A number and what it is of."""
    return f"{figure.text} ({note})" if note else figure.text


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
    parts = ["## Risk over coverage", *says, table(header, rows)]
    if report.bins:
        sides = [report.run, *([report.baseline] if report.baseline else [])]
        of = ("Results", "Mean confidence", "Accuracy")
        head = ["Bin", *(f"{what} of {plain(side.run_id)}" for side in sides for what in of)]
        bins = [
            [str(row.bin), *(text for one in row.sides for text in _bin(one))]
            for row in report.bins
        ]
        parts += ["### Confidence against accuracy", table(head, bins)]
    return "\n\n".join(parts)


def _bin(one: Bin | None) -> tuple[str, str, str]:
    if one is None:
        return (words.DASH,) * 3
    return f"{one.n:,}", one.confidence.text, one.accuracy.text


def _compared(report: Report) -> str:
    if not (report.compared or report.compared_more or report.compared_quiet):
        return ""
    means = "Means are of the items measured in both runs; the key numbers are of all results."
    parts = ["## Comparison", means, _comparisons(report.compared)]
    if report.compared_more:
        parts += [
            "### Other metrics with a verdict or a remark",
            _comparisons(report.compared_more),
        ]
    if report.compared_quiet:
        parts += ["### Other metrics without a significant change, or without a test"]
        parts.append(_quiet(report.compared_quiet))
    return "\n\n".join(parts)


def _quiet(rows: Sequence[Quiet]) -> str:
    header = ["Metric", "Basis", "Delta", "95 % interval"]
    cells = [
        [plain(row.title), row.basis, row.delta.text, row.interval or words.DASH] for row in rows
    ]
    return table(header, cells, text_columns=2)


def _comparisons(rows: Sequence[Compared]) -> str:
    header = ["Metric", "Baseline", "Candidate", "Delta", "95 % interval", "p adjusted"]
    header += ["Pairs", "Better/same/worse", "Verdict"]
    cells = []
    for row in rows:
        notes = f" ({', '.join(row.remarks)})" if row.remarks else ""
        numbers = [row.baseline.text, row.candidate.text, row.delta.text, row.interval]
        counts = [row.p_adjusted.text, f"{row.n_pairs:,}", row.counts]
        cells.append([plain(row.title), *numbers, *counts, f"{plain(mark(row.verdict))}{notes}"])
    return table(header, cells)


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
                        mark(cell.verdict) if cell.verdict else "",
                    ),
                )
            )
            for cell in row.cells
        ]
        rows.append([f"{plain(row.slice_by)} = {plain(row.slice)}", *cells])
    left = report.slices.n_left_out
    note = f"\n\n{words.count(left, 'smaller slice')} not shown." if left else ""
    said = "In parentheses: deltas with insufficient items.\n\n" * bool(report.compared)
    return f"## Slices\n\n{said}" + table(["Slice", *report.slices.titles], rows) + note


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
    parts = ["## Error classes", table(header, rows)]
    if report.errors.n_unchanged is not None:
        flows = [[plain(f.before), plain(f.after), f"{f.n:,}"] for f in report.errors.flows]
        parts.append(f"{words.count(report.errors.n_unchanged, 'result')} kept their class.")
        if flows:
            parts.append(table(["Baseline class", "Class now", "Results"], flows, text_columns=2))
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
        "Top k": _places(item),
        "Baseline answered": item.answer_baseline,
        "Run answered": item.answer_candidate,
    }
    return "\n".join(lines + [f"  - {key}: {plain(text)}" for key, text in said.items() if text])


def _places(item: Moved) -> str:
    """What changed in the top k of an item."""
    more = f" · {item.n_more_documents} more" if item.n_more_documents else ""
    return " · ".join(map(_place, item.documents)) + more


def _place(one: Place) -> str:
    part = "" if one.part is None else f", {one.part.text}"
    return f"{one.doc_id} {one.place}, {one.grade}{part}"


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
    parts = ["## What could not be measured", table(header, rows)]
    if report.unmeasured:
        others = [
            [f"{o.n_scored:,}", f"{o.n_not_applicable:,}", f"{o.n_missing:,}", plain(o.why), titles]
            for o in report.unmeasured
            for titles in [plain(o.titles)]
        ]
        head = ["Measured", "Not applicable", "Missing", "Why not measured", "Metrics"]
        parts += ["### Other metrics", table(head, others)]
    return "\n\n".join(parts)


def _provenance(report: Report) -> str:
    rows = [[plain(fact.label), plain(fact.text), plain(fact.note)] for fact in report.provenance]
    return "## Provenance\n\n" + table(["What", "Value", "Remark"], rows, text_columns=3)
