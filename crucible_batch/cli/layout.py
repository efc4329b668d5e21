"""Tables of text: whole in a pipe, and as wide as the terminal where a person reads.

What is cut carries an ellipsis, and what is left out is counted below the table: a number is never
cut, and nothing goes missing unsaid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from crucible_batch.printable import one_line

GAP = "  "
NARROW = 16
"""The narrowest a text column becomes before a column is left out."""
DIGITS = 6
"""Significant digits of a number where a table is too wide for all of them."""
NULL = "—"


@dataclass(frozen=True)
class Column:
    """One column as it is printed.

    Attributes:
        name: Its header.
        cells: Texts, one line each.
        is_number: Aligned to the right, and never cut.
    """

    name: str
    cells: tuple[str, ...]
    is_number: bool

    @property
    def needed(self) -> int:
        """Characters the cells take."""
        return max(map(cell_len, self.cells), default=0)

    @property
    def natural(self) -> int:
        """Characters the header and the cells take."""
        return max(cell_len(self.name), self.needed)

    @property
    def narrowest(self) -> int:
        """Characters it cannot do without."""
        least = min(self.natural, NARROW)
        return max(least, self.needed) if self.is_number else least


def fitted(header: Sequence[str], rows: Iterable[Sequence[object]], width: int | None) -> str:
    """Lay rows out in columns; numbers are right-aligned, null is an em dash.

    Args:
        header: Names of the columns.
        rows: Their values.
        width: Characters of a line; None: as many as it takes.
    """
    values = [list(row) for row in rows]
    exact = columns = _columns(header, values, digits=None)
    if width is not None and _total([column.natural for column in exact]) > width:
        columns = _columns(header, values, digits=DIGITS)
    widths = _widths(columns, width)
    shown = columns[: len(widths)]
    said = []
    if shown != exact[: len(widths)]:
        said.append(f"numbers are shown to {DIGITS} digits")
    if any(column.natural > size for column, size in zip(shown, widths, strict=True)):
        said.append("… marks what was cut")
    if left := columns[len(widths) :]:
        some = ", ".join(one_line(column.name) for column in left[:3])
        more = ", …" if len(left) > 3 else ""
        said.append(f"{len(left)} of {len(columns)} columns do not fit: {some}{more}")
    lines = [_line(shown, widths, at) for at in range(-1, len(values))]
    return "\n".join([*lines, *([f"({'; '.join(said)})"] if said else [])])


def _columns(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, digits: int | None
) -> list[Column]:
    return [
        Column(
            name=one_line(name),
            cells=tuple(_cell(row[at], digits) for row in rows),
            is_number=bool(rows) and all(_is_number(row[at]) for row in rows),
        )
        for at, name in enumerate(header)
    ]


def _cell(value: object, digits: int | None) -> str:
    if value is None:
        return NULL
    if isinstance(value, float) and digits is not None:
        return f"{value:.{digits}g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(str(value))


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * max(len(widths) - 1, 0)


def _widths(columns: Sequence[Column], width: int | None) -> list[int]:
    """Widths of the columns that are shown: at least one, the last ones left out first."""
    if width is None:
        return [column.natural for column in columns]
    count = len(columns)
    while count > 1 and _total([column.narrowest for column in columns[:count]]) > width:
        count -= 1
    widths = [column.narrowest for column in columns[:count]]
    free = width - _total(widths)
    while free > 0:  # the narrowest of those that want more grow first
        wanting = [at for at, size in enumerate(widths) if size < columns[at].natural]
        if not wanting:
            break
        least = min(widths[at] for at in wanting)
        for at in [at for at in wanting if widths[at] == least][:free]:
            widths[at] += 1
            free -= 1
    return widths


def _line(columns: Sequence[Column], widths: Sequence[int], at: int) -> str:
    """The header (at −1) or a row."""
    parts = []
    for column, width in zip(columns, widths, strict=True):
        text = column.name if at < 0 else column.cells[at]
        if cell_len(text) > width:
            text = set_cell_size(text, width - 1) + "…"
        space = " " * (width - cell_len(text))
        parts.append(space + text if column.is_number else text + space)
    return GAP.join(parts).rstrip()
