"""Texts of documents: JSON Lines or Parquet files with doc_id and text, or files of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from crucible_batch.errors import ContractError
from crucible_batch.formats.chunk import Findings
from crucible_batch.formats.documents import document_text
from crucible_batch.formats.lines import LineError, decode, numbered_lines
from crucible_batch.formats.sources import Format, Source, find, unreadable
from crucible_batch.formats.verbs import Verb

COLUMNS = ("doc_id", "text")


def read_texts(paths: Iterable[str | Path]) -> dict[str, str]:
    """Read the text of every document; other columns are ignored.

    Args:
        paths: Files, folders or globs.

    Returns:
        Text by doc_id.

    Raises:
        UsageError: A path is not there, or holds no file.
        ContractError: A row has no doc_id or no text, or a document has two different texts; names
            file and row.
    """
    found: dict[str, str] = {}
    sources, _ = find(paths, Verb.CORPUS, None)
    for source in sources:
        for number, doc_id, text in _rows(source):
            if not (isinstance(doc_id, str) and doc_id and isinstance(text, str)):
                raise _fault(source, number, f"doc_id {doc_id!r} with text {text!r:.60}")
            if found.setdefault(doc_id, text) != text:
                raise _fault(source, number, f"document {doc_id!r} has another text before")
    return found


def _rows(source: Source) -> Iterator[tuple[int, object, object]]:
    """Number from 1, doc_id and text of every row."""
    if source.format is Format.TEXT:
        try:
            document = document_text(source, Findings())
        except UnicodeDecodeError as error:
            raise _fault(source, 1, f"not UTF-8 (byte {error.start + 1})") from error
        yield 1, document.doc_id, document.text
        return
    if source.format is Format.PARQUET:
        try:
            with pq.ParquetFile(source.path) as file:
                there = [name for name in COLUMNS if name in file.schema_arrow.names]
                rows = file.read(there).to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise unreadable(source.name, error) from error
        for number, row in enumerate(rows, start=1):
            yield number, row.get("doc_id"), row.get("text")
        return
    for number, raw in numbered_lines(source):
        try:
            row, _ = decode(raw)
        except LineError as error:
            raise _fault(source, number, str(error)) from error
        yield number, row.get("doc_id"), row.get("text")


def _fault(source: Source, number: int, what: str) -> ContractError:
    return ContractError(
        f"{source.name} does not hold texts of documents",
        problems=[f"row {number}: {what}"],
        fix='every row needs a text of its document: {"doc_id": "d1", "text": "…"}.',
    )
