"""Pieces of Markdown: text of others made inert, tables, marks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from crucible_batch.report import words
from crucible_batch.report.figures import Badge

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~@&])")
_AT_THE_START = re.compile(r"^(\d*)([-+#=.)])")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto|www)([:.])")
"""What many renderers turn into a link by themselves."""


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


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> str:
    """A table; the first `text_columns` columns are left-aligned, the others right-aligned."""
    return markdown_table(header, rows, left=range(text_columns))


def mark(badge: Badge) -> str:
    """Glyph and word."""
    return f"{badge.glyph} {badge.word}"
