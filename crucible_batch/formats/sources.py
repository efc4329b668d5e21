"""From the paths on a command line to files with a known format."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import pyarrow as pa

from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats.folders import (
    COMPRESSED_SUFFIXES,
    KNOWN_SUFFIXES,
    expand,
    named_folders,
    plain_name,
    relative_name,
)
from crucible_batch.formats.verbs import Verb, named_table

HEAD_BYTES = 1 << 16
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
"""Compression by the first bytes: the content decides, and a name that says another is refused."""

SHEETS = (".csv", ".xlsx", ".xls", ".ods")
"""Names of tables that are not read: their cells have no types."""

TEXT_SUFFIXES = (".md", ".markdown", ".txt")
"""Names of documents, when a corpus is loaded."""

YAML_SUFFIXES = (".yaml", ".yml")
"""Taken from a folder too, but only for golden items: elsewhere they are somebody's settings."""

BOM = b"\xef\xbb\xbf"
WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")


class Format(StrEnum):
    """A format that can be read."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    GOLDSET = "goldset"
    TREC = "trec"
    TOPICS = "topics"
    YAML = "yaml"
    TEXT = "text"


SERVES: dict[Format, tuple[Verb, ...]] = {
    Format.PARQUET: tuple(Verb),
    Format.JSONL: tuple(Verb),
    Format.GOLDSET: (Verb.GOLDEN,),
    Format.TREC: (Verb.RUN, Verb.QRELS),
    Format.TOPICS: (Verb.GOLDEN,),
    Format.YAML: (Verb.GOLDEN,),
    Format.TEXT: (Verb.CORPUS,),
}

TREC_COLUMNS = {Verb.RUN: 6, Verb.QRELS: 4}


@dataclass(frozen=True)
class Source:
    """One input file.

    Attributes:
        path: Where it is.
        name: How the user named it; what `_source_file` says.
        format: How it is read.
        compression: pyarrow's name of its compression, or None.
        relative: Its path below the folder that was named.
    """

    path: Path
    name: str
    format: Format
    compression: str | None = None
    relative: str = ""

    def open(self) -> pa.NativeFile:
        """Open the (decompressed) bytes as a stream."""
        return pa.input_stream(str(self.path), compression=self.compression)


def identify(path: Path, verb: Verb, wanted: Format | None = None) -> Source:
    """Find out how a file is compressed and which format it has.

    Args:
        path: The file.
        verb: What is loaded; decides between text formats.
        wanted: The format the user asked for, which overrides what name and content suggest.

    Raises:
        UsageError: The format cannot be told, or does not serve the verb.
        ContractError: The file is empty, damaged, or in an encoding that is not UTF-8.
    """
    compression, head = _peek(path)
    is_text = verb is Verb.CORPUS and plain_name(path).endswith(TEXT_SUFFIXES)
    if not head and not (is_text or wanted is Format.TEXT):
        raise ContractError(f"{path} is empty", fix="write it again, or leave it out")
    chosen = wanted or (Format.TEXT if is_text else _guess(path, head, verb))
    if chosen is None:
        raise _unknown(path, head, verb)
    if verb not in SERVES[chosen]:
        raise UsageError(
            f"{path} is {chosen}, which `load {verb}` does not take",
            fix=f"{chosen} is for load {' and load '.join(SERVES[chosen])}",
        )
    if chosen is Format.PARQUET and compression:
        raise ContractError(
            f"{path} is a compressed Parquet file", fix="decompress it: Parquet compresses inside"
        )
    return Source(path, str(path), chosen, compression)


def _unknown(path: Path, head: bytes, verb: Verb) -> UsageError:
    """The error for a file of no format that the verb takes."""
    formats = [str(member) for member in Format if verb in SERVES[member]]
    if plain_name(path).endswith(SHEETS):
        return UsageError(
            f"{path} is a table of a spreadsheet (CSV and the like), which is not read",
            fix=f"write it as {' or '.join(formats)}: in polars, "
            "pl.read_csv(FILE).write_parquet(TABLE.parquet)",
        )
    return UsageError(
        f"The format of {path} cannot be told from its name or content",
        problems=[f"it begins with {head[:40].decode(errors='replace')!r}"],
        fix=f"say --format {'|'.join(formats)}; CSV is not read",
    )


def _peek(path: Path) -> tuple[str | None, bytes]:
    """Compression and the first decompressed bytes of a file."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        compression = next((c for m, c in COMPRESSIONS.items() if magic.startswith(m)), None)
        named = COMPRESSED_SUFFIXES.get(path.suffix.lower(), compression)
        if magic and named != compression:
            raise ContractError(
                f"{path} is named like {named}, and its content is not {named}",
                problems=[f"it begins with the bytes {magic.hex(' ')}"],
                fix=f"write it again with {named}, or name it after what it holds",
            )
        with pa.input_stream(str(path), compression=compression) as stream:
            head = bytes(stream.read(HEAD_BYTES))
    except OSError as error:
        raise unreadable(path, error) from error
    if head.startswith(WIDE_BOMS):
        raise ContractError(f"{path} is UTF-16, not UTF-8", fix="save it as UTF-8")
    return compression, head


def unreadable(path: Path | str, error: Exception) -> ContractError:
    """The error for a file that the system or its compression does not give out."""
    return ContractError(
        f"{path} cannot be read", problems=[str(error)], fix="see that it is whole and may be read"
    )


def _guess(path: Path, head: bytes, verb: Verb) -> Format | None:
    name = plain_name(path)
    if head.startswith(b"PAR1") or name.endswith((".parquet", ".pq")):
        return Format.PARQUET
    if name.endswith((*SHEETS, *YAML_SUFFIXES)):
        return Format.YAML if name.endswith(YAML_SUFFIXES) else None
    text = head.removeprefix(BOM).lstrip()
    if text.startswith(b"{"):
        return _guess_json(name, text, verb)
    if name.endswith((".jsonl", ".ndjson")):
        return Format.JSONL
    if text.startswith(b"["):
        raise ContractError(
            f"{path} is one JSON list", fix="write one object per line: jq -c '.[]' FILE"
        )
    line = text.split(b"\n", 1)[0]
    if verb is Verb.GOLDEN:
        return Format.TOPICS if b"\t" in line else None
    named = name.endswith((".trec", ".run", ".qrels", ".qrel"))
    fits = len(line.split()) == TREC_COLUMNS.get(verb)
    return Format.TREC if verb in TREC_COLUMNS and (named or fits) else None


def _guess_json(name: str, text: bytes, verb: Verb) -> Format:
    """Gold set or JSON Lines: by the first line if it is whole, else by the key `pairs`."""
    if verb is not Verb.GOLDEN:
        return Format.JSONL
    try:
        first = json.loads(text.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        pairs = re.search(rb'"pairs"\s*:', text) is not None
        return Format.GOLDSET if pairs or name.endswith(".json") else Format.JSONL
    return Format.GOLDSET if "pairs" in first else Format.JSONL


def sha256(path: Path) -> str:
    """SHA-256 of the file as it is on disk, in hex; read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find(
    paths: Iterable[str | Path], verb: Verb, wanted: Format | None = None
) -> tuple[tuple[Source, ...], tuple[Path, ...]]:
    """Expand `paths` and identify each file; the second part is what folders left aside."""
    given = list(paths)
    by_hand = (*YAML_SUFFIXES,) if verb in SERVES[Format.YAML] else ()
    texts = (*TEXT_SUFFIXES,) if verb in SERVES[Format.TEXT] else ()
    suffixes = (*KNOWN_SUFFIXES, *by_hand, *texts)
    expanded = expand(given, every_file=wanted is not None, suffixes=suffixes)
    folders = named_folders(given)
    found = [
        replace(identify(path, verb, wanted), relative=relative_name(path, folders))
        for path in expanded.files
    ]
    if wanted is not None:
        return tuple(found), expanded.skipped
    # A folder of tables may hold a README: beside a table of documents no text is one.
    tables = {named_table(s.path.name, verb) for s in found if s.format is not Format.TEXT}
    left = [s for s in found if s.format is Format.TEXT and "documents" in tables]
    return (
        tuple(s for s in found if s not in left),
        (*expanded.skipped, *(s.path for s in left)),
    )


def skip_bom(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks without the byte-order mark that some editors write first."""
    for number, block in enumerate(blocks):
        yield block.removeprefix(BOM) if number == 0 else block
