"""Lines of text files and objects of JSON lines, from streams that may hold anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any

from crucible_batch.formats.sources import Source, skip_bom, unreadable

BLOCK_BYTES = 1 << 22
MAX_LINE_BYTES = 1 << 28
"""A longer line (256 MiB) is no row: it is cut here, so that it cannot fill the memory."""

KEPT_BYTES = 1 << 20
"""How much of a line that is no JSON the quarantine keeps."""

MAX_DEPTH = 200
"""Deeper nesting is refused: writing the row again would exhaust the stack."""

SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
SURROGATE = re.compile("[\ud800-\udfff]")


class LineError(Exception):
    """A line that is no JSON object.

    Attributes:
        check: What is wrong with it.
        text: The line, readable.
    """

    def __init__(self, check: str, text: str) -> None:
        self.check, self.text = check, text
        super().__init__(check)


class DuplicateKeyError(Exception):
    """One object states a key twice, so one of the values would be lost."""


def blocks(source: Source, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Read whole lines, about `size` bytes at a time; a byte-order mark is left out.

    A line longer than `MAX_LINE_BYTES` is cut to one byte more than that.

    Raises:
        ContractError: The file is cut off or damaged.
    """
    try:
        with source.open() as stream:
            yield from skip_bom(_whole_lines(iter(lambda: bytes(stream.read(size)), b"")))
    except OSError as error:
        raise unreadable(source.name, error) from error


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    pending: list[bytes] = []
    n_pending = 0
    for piece in pieces:
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield b"".join([*pending, piece[:cut]])
            pending, n_pending, piece = [], 0, piece[cut:]  # noqa: PLW2901
        room = MAX_LINE_BYTES + 1 - n_pending
        pending.append(piece[:room])
        n_pending += len(pending[-1])
    if n_pending:
        yield b"".join(pending)


def numbered_lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    number = 0
    for block in blocks(source):
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for line in lines:
            number += 1
            if line and not line.isspace():
                yield number, line


def readable(raw: bytes) -> str:
    """The text of a broken line, invalid bytes replaced, at most `KEPT_BYTES` long."""
    return raw[:KEPT_BYTES].decode(errors="replace").rstrip("\r")


def decode(raw: bytes) -> tuple[dict[str, Any], int]:
    """Parse one line.

    NaN and infinite numbers are kept as such: the cell they stand in is the problem, not the line.

    Returns:
        The object, and how many lone surrogates in it were replaced by U+FFFD.

    Raises:
        LineError: The line is no JSON object, or states a key twice.
    """
    if len(raw) > MAX_LINE_BYTES:
        raise LineError(f"longer than {MAX_LINE_BYTES:,} bytes", readable(raw))
    try:
        text, n_replaced = decode_text(raw)
        value = DECODER.decode(text)
        if _too_deep(text, value):
            raise LineError("nested too deeply", readable(raw))
        if SURROGATE_ESCAPE.search(text):
            value, n_more = without_surrogates(value)
            n_replaced += n_more
    except UnicodeDecodeError as error:
        check = f"not UTF-8 (byte {error.start + 1})"
        raise LineError(check, readable(raw)) from error
    except JSONDecodeError as error:
        check = f"not JSON ({error.msg} at character {error.pos + 1})"
        raise LineError(check, readable(raw)) from error
    except DuplicateKeyError as error:
        raise LineError(f"key {error} stands twice in one object", readable(raw)) from error
    except RecursionError as error:
        raise LineError("nested too deeply", readable(raw)) from error
    except ValueError as error:  # an integer of thousands of digits
        raise LineError("a number is too long", readable(raw)) from error
    if not isinstance(value, dict):
        raise LineError("not a JSON object", readable(raw))
    return value, n_replaced


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DuplicateKeyError(repr(twice))
    return found


DECODER = JSONDecoder(object_pairs_hook=_once)


def decode_text(raw: bytes) -> tuple[str, int]:
    """Decode UTF-8; surrogates encoded as if they were characters count as lone ones.

    Returns:
        The text, and how many surrogates in it were replaced by U+FFFD.

    Raises:
        UnicodeDecodeError: The bytes are not UTF-8, surrogates or not.
    """
    try:
        return raw.decode(), 0
    except UnicodeDecodeError as broken:
        try:
            text = raw.decode(errors="surrogatepass")
        except UnicodeDecodeError:
            raise broken from None
    return SURROGATE.subn("\ufffd", text)


def _too_deep(text: str, value: object) -> bool:
    """Whether `value` is nested deeper than `MAX_DEPTH`; walks without recursion."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        inner = [
            v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)
        ]
        level = [child for group in inner for child in group if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def without_surrogates(value: Any) -> tuple[Any, int]:
    """`value` with lone surrogates replaced, and how many there were."""
    if isinstance(value, str):
        return SURROGATE.subn("\ufffd", value)
    if isinstance(value, list):
        items = [without_surrogates(item) for item in value]
        return [item for item, _ in items], sum(n for _, n in items)
    if isinstance(value, dict):
        pairs = [(without_surrogates(k), without_surrogates(v)) for k, v in value.items()]
        return {k[0]: v[0] for k, v in pairs}, sum(k[1] + v[1] for k, v in pairs)
    return value, 0


def row_text(row: dict[str, Any]) -> str:
    """A row as JSON text that any parser reads again: NaN and infinities become text."""
    try:
        return json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        safe = json.loads(json.dumps(row), parse_constant=str)
        return json.dumps(safe, ensure_ascii=False, separators=(",", ":"))
