"""Values of JSON objects as columns of contract types: one column at a time, each value checked.

A value of another type becomes null and a reason; nothing is converted that could be meant
otherwise: `7` is no id, `true` is no number, `"0.8"` is no number, `1.9` is no integer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from crucible_batch.contracts.table import Column, Kind
from crucible_batch.formats.chunk import reason


class CellError(Exception):
    """A value that its column cannot hold; the text names the check."""


class TypeCellError(CellError):
    """A value of another type than the column's."""


class _Missing:
    """Stands for a key that a row does not have."""


MISSING: Final = _Missing()

INT64 = range(-(2**63), 2**63)


def column_of(column: Column, values: list[Any]) -> tuple[pl.Series | None, dict[int, str]]:
    """Turn the values of one key into a column.

    Args:
        column: The contract's column.
        values: One value per row, `MISSING` where the row lacks the key.

    Returns:
        The column, or None when no row has the key; and reasons by position in `values`.
    """
    kinds = set(map(type, values))
    if kinds == {_Missing}:
        return None, {}
    if _Missing in kinds:
        values = [None if value is MISSING else value for value in values]
        kinds = kinds - {_Missing} | {type(None)}
    if kinds <= CLEAN.get(column.kind, frozenset()):
        try:
            series = pl.Series(column.name, values, dtype=column.dtype)
        except (OverflowError, TypeError):  # an integer beyond 64 bits
            return _checked(column, values)
        if column.kind is not Kind.FLOAT or series.is_finite().all():
            return series, {}
    return _checked(column, values)


def _checked(column: Column, values: list[Any]) -> tuple[pl.Series, dict[int, str]]:
    parse = PARSERS[column.kind]
    parsed: list[Any] = []
    problems: dict[int, str] = {}
    for at, value in enumerate(values):
        try:
            parsed.append(None if value is None else parse(value))
        except TypeCellError:
            parsed.append(None)
            as_written = json.dumps(value, ensure_ascii=False)  # "0.8" is text, 0.8 a number
            problems[at] = reason(column.name, f"not {column.expected}", as_written)
        except CellError as error:
            parsed.append(None)
            problems[at] = reason(column.name, str(error), value)
    return pl.Series(column.name, parsed, dtype=column.dtype), problems


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeCellError
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeCellError
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CellError("not finite")
        if not value.is_integer():
            raise CellError("not an integer")
    if int(value) not in INT64:
        raise CellError("too large")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeCellError
    try:
        number = float(value)
    except OverflowError:
        raise CellError("not finite") from None
    if not math.isfinite(number):
        raise CellError("not finite")
    return number


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeCellError
    return value


def _time(value: Any) -> datetime:
    """ISO 8601 with a zone, to the microsecond (further digits are cut)."""
    try:
        moment = datetime.fromisoformat(_text(value))
        if moment.tzinfo is None:
            raise CellError("no time zone")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise CellError("not an ISO 8601 time") from None


def _words(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise TypeCellError
    return value


def _json(value: Any) -> str:
    """Canonical text of an object or list; text is taken as JSON text already."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict | list):
        raise TypeCellError
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except ValueError:
        raise CellError("not finite") from None


PARSERS: dict[Kind, Callable[[Any], Any]] = {
    Kind.ID: _text,
    Kind.TEXT: _text,
    Kind.NONBLANK: _text,
    Kind.WORD: _text,
    Kind.JSON: _json,
    Kind.INT: _integer,
    Kind.FLOAT: _number,
    Kind.BOOL: _boolean,
    Kind.TIME: _time,
    Kind.WORDS: _words,
}

_NULL = type(None)
_TEXT_OR_NULL: frozenset[type] = frozenset({str, _NULL})
CLEAN: dict[Kind, frozenset[type]] = {
    Kind.ID: _TEXT_OR_NULL,
    Kind.TEXT: _TEXT_OR_NULL,
    Kind.NONBLANK: _TEXT_OR_NULL,
    Kind.WORD: _TEXT_OR_NULL,
    Kind.JSON: _TEXT_OR_NULL,
    Kind.BOOL: frozenset[type]({bool, _NULL}),
    Kind.INT: frozenset[type]({int, _NULL}),
    Kind.FLOAT: frozenset[type]({float, _NULL}),
}
"""Types that need no look at the single value, unless it is huge or not finite: the fast path."""
