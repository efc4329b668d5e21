"""The corpus an embedded target reads: Markdown files with front matter, and a list of entities."""

from __future__ import annotations

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from crucible_batch.errors import ContractError

HASH_VERSION = "sha256-nfc-lf-1"
"""How `content_hash` is made: SHA-256 of title, blank line and text in NFC with LF, as UTF-8."""

FRONT_MATTER = re.compile(r"\A---\n(?P<head>.*?)\n---\n(?P<body>.*)\Z", re.DOTALL)
FIELD = re.compile(r"\A(?P<name>\w+): (?P<value>.+)\Z")
KNOWN = ("doc_id", "title", "source_updated_at", "superseded_by")


@dataclass(frozen=True)
class Document:
    """One document of a corpus version.

    Attributes:
        text: The body, paragraphs separated by a blank line.
        source_updated_at: Source time, ISO 8601 in UTC.
        superseded_by: The document that replaces this one, if any.
    """

    doc_id: str
    title: str
    text: str
    source_updated_at: str | None = None
    superseded_by: str | None = None

    @property
    def content_hash(self) -> str:
        """SHA-256 of the canonical text, 64 hex digits; metadata are left out on purpose."""
        return hashlib.sha256(f"{self.title}\n\n{self.text}\n".encode()).hexdigest()


@dataclass(frozen=True)
class Entity:
    """Something the corpus speaks of, with the names it is mentioned by."""

    entity_id: str
    entity_type: str
    names: tuple[str, ...]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        names = "|".join(re.escape(name.lower()) for name in self.names)
        return re.compile(rf"(?<!\w)(?:{names})(?!\w)")

    def is_in(self, lowered: str) -> bool:
        """Whether a lower-case text has one of the names as whole words."""
        # Most names are in no text at all, and `in` is much faster than the pattern.
        near = any(name.lower() in lowered for name in self.names)
        return near and self._pattern.search(lowered) is not None


@dataclass(frozen=True)
class Chunk:
    """A piece of a document: `doc_id#n`, n from 0."""

    chunk_id: str
    document: Document
    text: str


def read_documents(folder: Path) -> list[Document]:
    """Read every Markdown file of a folder, sorted by doc_id.

    Raises:
        ContractError: The folder has no document, a file has no or a broken front matter, or two
            files name the same document.
    """
    documents = [
        parse_document(path.read_text(encoding="utf-8"), source=str(path))
        for path in sorted(folder.glob("*.md"))
    ]
    if not documents:
        raise ContractError(f"{folder} has no *.md file", fix="name the folder of one version")
    ids = [document.doc_id for document in documents]
    if twice := sorted({doc_id for doc_id in ids if ids.count(doc_id) > 1}):
        raise ContractError(
            f"{folder} names a document twice",
            problems=[f"doc_id {doc_id}" for doc_id in twice],
            fix="give each file a doc_id of its own",
        )
    return sorted(documents, key=lambda document: document.doc_id)


def parse_document(text: str, *, source: str) -> Document:
    """Parse one Markdown document; its text is brought to NFC and line feeds.

    Args:
        text: Front matter between two `---` lines, then the body.
        source: Name of the file, for messages.

    Raises:
        ContractError: The front matter is absent, or a line of it is not a known `name: value`.
    """
    found = FRONT_MATTER.match(canonical(text))
    if found is None:
        raise ContractError(
            f"{source} has no front matter",
            fix="begin the file with a `---` line, doc_id, title, and another `---` line",
        )
    fields = dict(_field(line, source) for line in found["head"].split("\n"))
    if missing := [name for name in ("doc_id", "title") if name not in fields]:
        raise ContractError(f"{source} names no {' and no '.join(missing)}", fix="add the line")
    return Document(
        doc_id=fields["doc_id"],
        title=fields["title"],
        text=found["body"].strip("\n"),
        source_updated_at=fields.get("source_updated_at"),
        superseded_by=fields.get("superseded_by"),
    )


def _field(line: str, source: str) -> tuple[str, str]:
    found = FIELD.match(line)
    if found is None or found["name"] not in KNOWN:
        raise ContractError(
            f"{source} has a front matter line that is not understood",
            problems=[line[:80]],
            fix=f"use `name: value` with one of {', '.join(KNOWN)}",
        )
    return found["name"], found["value"].strip().strip('"')


def canonical(text: str) -> str:
    """The text in Unicode normal form C, with line feeds only."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def read_entities(path: Path) -> list[Entity]:
    """Read `[[entities]]` (id, type, names) from a TOML file, sorted by id.

    Raises:
        ContractError: The file is no TOML, or an entity lacks one of its three keys.
    """
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("entities", [])
        entities = [Entity(row["id"], row["type"], tuple(row["names"])) for row in rows]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise ContractError(
            f"{path} is not a list of entities",
            problems=[f"{type(error).__name__}: {error}"],
            fix="write [[entities]] with id, type and names",
        ) from error
    return sorted(entities, key=lambda entity: entity.entity_id)


def mentioned(texts: Iterable[str], entities: Sequence[Entity]) -> list[str]:
    """The ids of the entities that any of the texts names, in the order of `entities`.

    A name counts as whole words, in any case.
    """
    lowered = [text.lower() for text in texts]
    return [e.entity_id for e in entities if any(e.is_in(text) for text in lowered)]


def split_chunks(documents: Iterable[Document], *, max_words: int) -> list[Chunk]:
    """Cut documents into chunks of whole paragraphs.

    Args:
        documents: Documents, whose order the chunks keep.
        max_words: Neighbouring paragraphs are joined while they have at most this many words; one
            longer paragraph stays whole.
    """
    chunks: list[Chunk] = []
    for document in documents:
        parts: list[str] = []
        for paragraph in document.text.split("\n\n"):
            joined = f"{parts[-1]}\n\n{paragraph}" if parts else paragraph
            if parts and len(joined.split()) <= max_words:
                parts[-1] = joined
            else:
                parts.append(paragraph)
        chunks += [Chunk(f"{document.doc_id}#{n}", document, part) for n, part in enumerate(parts)]
    return chunks
