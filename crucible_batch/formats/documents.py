"""Folders of text and Markdown files as documents of a corpus version: one file, one row.

A document is its text, not its file: dates of the file system say when a copy was made, so the
source time comes from the front matter or is not known.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.formats.chunk import Chunk, Findings, reason
from crucible_batch.formats.jsonl import Rows
from crucible_batch.formats.lines import BLOCK_BYTES, decode_text, readable
from crucible_batch.formats.sources import Source, skip_bom, unreadable

DOCUMENTS = TABLES["documents"]
CHUNK_FILES = 20_000

HASH_VERSION = "sha256-nfc-lf-1"
"""How `content_hash` is made: SHA-256 of title, blank line and text in NFC with LF, as UTF-8."""

FRONT_MATTER = re.compile(
    r"\A---[ \t]*\n(?P<head>.*?)(?<=\n)---[ \t]*(?:\n(?P<body>.*))?\Z", re.DOTALL
)
FIELD = re.compile(
    r"^(?P<name>doc_id|title|source_updated_at)[ \t]*:[ \t]*(?P<value>.*?)[ \t]*$", re.MULTILINE
)


@dataclass(frozen=True)
class TextDocument:
    """One file.

    Attributes:
        doc_id: That of the front matter, else the path below the folder that was named.
        text: Title, blank line and text where the front matter has a title; else the text.
        source_updated_at: As the front matter says it; None: it does not.
    """

    doc_id: str
    text: str
    source_updated_at: str | None

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text, 64 hex digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def parse_document(text: str, *, name: str) -> TextDocument:
    """Read the text of a file.

    Front matter between two `---` lines is no content, but for its title; blank lines around the
    text below it do not count. Keys other than doc_id, title and source_updated_at are somebody
    else's. A text without front matter is taken as it stands.

    Args:
        text: The text of the file.
        name: Its path below the folder that was named, with `/`.
    """
    text = canonical(text)
    found = FRONT_MATTER.match(text)
    if found is None:
        return TextDocument(name, text, None)
    fields = {field["name"]: _unquoted(field["value"]) for field in FIELD.finditer(found["head"])}
    body = (found["body"] or "").strip("\n")
    title = fields.get("title")
    return TextDocument(
        doc_id=fields.get("doc_id") or name,
        text=f"{title}\n\n{body}\n" if title else f"{body}\n",
        source_updated_at=fields.get("source_updated_at") or None,
    )


def canonical(text: str) -> str:
    """The text in Unicode normal form C, with line feeds only."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def read_documents(sources: Sequence[Source], findings: Findings) -> Iterator[Chunk]:
    """Read files of text, each a row of `documents`; one that is no UTF-8 is a row with a reason.

    Yields:
        Chunks of at most `CHUNK_FILES` rows; the texts themselves are not kept.

    Raises:
        ContractError: A file cannot be read.
    """
    for first in range(0, len(sources), CHUNK_FILES):
        files = sources[first : first + CHUNK_FILES]
        findings.reported.add(DOCUMENTS.name)
        rows = Rows(DOCUMENTS)
        for source in files:
            _take(source, rows, findings)
        names = pl.Series("_source_file", [source.name for source in files], dtype=pl.String)
        yield Chunk(DOCUMENTS.name, rows.frame("").with_columns(names))


def document_text(source: Source, findings: Findings) -> TextDocument:
    """One file as a document.

    Raises:
        ContractError: The file cannot be read.
        UnicodeDecodeError: It is not UTF-8.
    """
    text, n_replaced = decode_text(_content(source))
    findings.n_replaced_surrogates += n_replaced
    return parse_document(text, name=source.relative)


def _take(source: Source, rows: Rows, findings: Findings) -> None:
    try:
        document = document_text(source, findings)
    except UnicodeDecodeError as error:
        text = readable(error.object)
        rows.add_broken(text, 1, reason("text", f"not UTF-8 (byte {error.start + 1})", text))
        return
    row = {
        "doc_id": document.doc_id,
        "content_hash": document.content_hash,
        "hash_version": HASH_VERSION,
    }
    if document.source_updated_at is not None:
        row["source_updated_at"] = document.source_updated_at
    rows.add(row, 1)


def _content(source: Source) -> bytes:
    try:
        with source.open() as stream:
            return b"".join(skip_bom(iter(lambda: bytes(stream.read(BLOCK_BYTES)), b"")))
    except OSError as error:
        raise unreadable(source.name, error) from error


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value
