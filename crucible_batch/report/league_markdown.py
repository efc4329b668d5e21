"""The league page as Markdown: the same numbers as the page, tables instead of the chart."""

from __future__ import annotations

from crucible_batch.report import words
from crucible_batch.report.league import Cell, Entry, League
from crucible_batch.report.markdown_text import markdown_table, plain


def league_markdown(league: League) -> str:
    """Print the model as Markdown (CommonMark with tables).

    Args:
        league: The model.

    Returns:
        Text in which ids and labels cannot form markup.
    """
    sections = [
        f"# {plain(league.title)}\n\n**{plain(league.said)}**\n\n{plain(league.order)}",
        "\n".join(f"- {plain(note)}" for note in league.notes),
        f"## Runs\n\n{_runs(league)}",
        f"## Against {plain(league.baseline)}\n\n{_against(league)}" if league.baseline else "",
        f"## What the numbers rest on\n\n{_grounds(league)}",
        f"## Provenance\n\n{_provenance(league)}",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _name(entry: Entry) -> str:
    label = f" ({plain(entry.label)})" if entry.label else ""
    return f"{plain(entry.run_id)}{label}{', baseline' if entry.is_baseline else ''}"


def _runs(league: League) -> str:
    header = ["Rank", "Run", "Status", *league.metrics]
    rows = []
    for entry in league.entries:
        reason = f" ({plain(entry.status_reason)})" if entry.status_reason else ""
        status = f"{entry.status.glyph} {entry.status.word}{reason}; {entry.counted}"
        left = f"; not ranked: {entry.outside}" if entry.outside else ""
        rank = words.DASH if entry.rank is None else str(entry.rank)
        rows.append([rank, _name(entry), f"{status}{left}", *map(_value, entry.cells)])
    return markdown_table(header, rows, left=(1, 2))


def _value(cell: Cell) -> str:
    return ", ".join(
        filter(None, (f"{cell.value.text} {cell.interval}".rstrip(), cell.over, cell.label))
    )


def _against(league: League) -> str:
    rows = [
        [_name(entry), *map(_delta, entry.cells), entry.against or words.DASH]
        for entry in league.entries
        if not entry.is_baseline
    ]
    return markdown_table(["Run", *league.metrics, "Verdicts"], rows, left=(0,))


def _delta(cell: Cell) -> str:
    if cell.delta is None or cell.verdict is None:
        return words.DASH
    number = f"{cell.delta.text} {cell.delta_interval}".rstrip()
    return f"{number} {cell.verdict.glyph} {plain(cell.verdict.word)}"


def _grounds(league: League) -> str:
    rows = [[plain(entry.run_id), *map(plain, entry.rests_on)] for entry in league.entries]
    return markdown_table(["Run", *league.grounds], rows, left=range(5))


def _provenance(league: League) -> str:
    rows = [[plain(fact.label), plain(fact.text), plain(fact.note)] for fact in league.provenance]
    return markdown_table(["What", "Value", "Remark"], rows, left=range(3))
