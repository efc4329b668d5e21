"""A readiness report and a difference of versions, for people."""

from __future__ import annotations

from typing import Any

from crucible_batch.assemble.golden.diff import ItemChange
from crucible_batch.assemble.golden.material import MISSING, OK, WARN
from crucible_batch.assemble.golden.readiness import Readiness
from crucible_batch.report import words
from crucible_batch.report.markdown_text import plain

GLYPHS = {OK: "✓", WARN: "!", MISSING: "✕"}
SHOWN_ITEMS = 8
LONGEST = 80


def readiness_text(report: Readiness) -> str:
    """One line per check, the items concerned and the command that helps below it."""
    width = max(len(line.check) for line in report.lines)
    lines = [f"{report.golden_set}: {report.n_items:,} items, {report.golden_set_hash}"]
    for line in report.lines:
        lines.append(f"{GLYPHS[line.status]} {line.status:<7}  {line.check:<{width}}  {line.what}")
        if line.items:
            lines.append(f"{'':{width + 13}}{_items(line.items)}")
        if line.help:
            lines.append(f"{'':{width + 13}}{line.help}")
    return "\n".join([*lines, _sum(report)])


def readiness_markdown(report: Readiness) -> str:
    """The report as a table, for a wiki or a pull request."""
    head = [
        f"## {GLYPHS[report.status]} golden set {plain(report.golden_set)}",
        "",
        f"{_sum(report)}. {report.n_items:,} items, `{report.golden_set_hash}`",
        "",
        "| status | check | found | items | what helps |",
        "|---|---|---|---|---|",
    ]
    rows = [
        f"| {GLYPHS[line.status]} {line.status} | {line.check} | {plain(line.what)} "
        f"| {plain(_items(line.items))} | {f'`{line.help}`' if line.help else ''} |"
        for line in report.lines
    ]
    return "\n".join([*head, *rows]) + "\n"


def diff_text(changes: tuple[ItemChange, ...]) -> str:
    """What changed, item by item."""
    lines = []
    for change in changes:
        lines.append(f"{change.kind:<8} {change.item_id}: {change.question}")
        for name, (before, after) in change.fields.items():
            if isinstance(before, list) and isinstance(after, list):
                lines += [f"    {name} − {_short(value)}" for value in before]
                lines += [f"    {name} + {_short(value)}" for value in after]
            else:
                lines.append(f"    {name}: {_short(before)} → {_short(after)}")
    kinds = [change.kind for change in changes]
    counts = [f"{kinds.count(kind)} {kind}" for kind in ("added", "removed", "changed")]
    return "\n".join([*lines, ", ".join(counts)])


def _sum(report: Readiness) -> str:
    statuses = [line.status for line in report.lines]
    return ", ".join(f"{statuses.count(status)} {status}" for status in GLYPHS)


def _items(items: tuple[str, ...]) -> str:
    more = f" and {len(items) - SHOWN_ITEMS:,} more" if len(items) > SHOWN_ITEMS else ""
    return ", ".join(items[:SHOWN_ITEMS]) + more


def _short(value: Any) -> str:
    if value is None:
        return words.DASH
    if isinstance(value, dict):
        return _short(" · ".join(str(part) for part in value.values() if part is not None))
    return words.shortened(str(value), LONGEST)
