"""Topics: `id TAB question` per line, as TREC tracks and MS MARCO publish their queries."""

from __future__ import annotations

from collections.abc import Iterator

from crucible_batch.contracts import TABLES
from crucible_batch.formats.chunk import Chunk, Findings, reason
from crucible_batch.formats.jsonl import Rows
from crucible_batch.formats.lines import numbered_lines, readable
from crucible_batch.formats.sources import Source

CHUNK_LINES = 100_000
COLUMNS = 2


def read_topics(source: Source, findings: Findings) -> Iterator[Chunk]:
    """Read one file of topics as golden items that are answerable and have no assertions.

    A line without exactly one tab, or with invalid UTF-8, is a row with a reason.

    Yields:
        Chunks of golden_items of at most `CHUNK_LINES` lines.
    """
    findings.reported.add("golden_items")
    items = Rows(TABLES["golden_items"])
    for number, raw in numbered_lines(source):
        _take(raw, number, items)
        if len(items.rows) == CHUNK_LINES:
            yield Chunk("golden_items", items.frame(source.name))
            items = Rows(TABLES["golden_items"])
    if items.rows:
        yield Chunk("golden_items", items.frame(source.name))


def _take(raw: bytes, number: int, items: Rows) -> None:
    try:
        text = raw.decode().rstrip("\r")
    except UnicodeDecodeError as error:
        text = readable(raw)
        check = f"not UTF-8 (byte {error.start + 1})"
        items.add_broken(text, number, reason("line", check, text))
        return
    parts = text.split("\t")
    if len(parts) != COLUMNS:
        check = f"{len(parts)} columns separated by tabs, not {COLUMNS}"
        items.add_broken(text, number, reason("line", check, text))
        return
    items.add({"item_id": parts[0].strip(), "question": parts[1], "answerable": True}, number)
