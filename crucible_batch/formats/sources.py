"""From the paths on a command line to files with a known format."""

from __future__ import annotations

import glob
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa

from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats.verbs import Verb

HEAD_BYTES = 1 << 16
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
"""Compression by the first bytes: the content decides, and a name that says another is refused."""

COMPRESSED_SUFFIXES = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
KNOWN_SUFFIXES = (
    *(".parquet", ".pq", ".jsonl", ".ndjson", ".json"),
    *(".trec", ".run", ".qrels", ".qrel", ".txt", ".tsv"),
)
"""What is taken from a folder when no format is asked for."""

SHEETS = (".csv", ".xlsx", ".xls", ".ods")
"""Names of tables that are not read: their cells have no types."""

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


SERVES: dict[Format, tuple[Verb, ...]] = {
    Format.PARQUET: tuple(Verb),
    Format.JSONL: tuple(Verb),
    Format.GOLDSET: (Verb.GOLDEN,),
    Format.TREC: (Verb.RUN, Verb.QRELS),
    Format.TOPICS: (Verb.GOLDEN,),
    Format.YAML: (Verb.GOLDEN,),
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
    """

    path: Path
    name: str
    format: Format
    compression: str | None = None

    def open(self) -> pa.NativeFile:
        """Open the (decompressed) bytes as a stream."""
        return pa.input_stream(str(self.path), compression=self.compression)


@dataclass(frozen=True)
class Expanded:
    """Files found under the given paths, and those of a folder left aside as no known format."""

    files: tuple[Path, ...]
    skipped: tuple[Path, ...]


def expand(
    paths: Iterable[str | Path],
    *,
    every_file: bool = False,
    suffixes: tuple[str, ...] = KNOWN_SUFFIXES,
) -> Expanded:
    """Turn files, folders and globs into files, each once, in the order of their names.

    Args:
        paths: What the user gave. A folder is searched with its subfolders; files and folders
            whose names begin with a dot or an underscore are left out.
        every_file: Take files of any name from a folder (a format was asked for).
        suffixes: What the names of the files taken from a folder end with.

    Raises:
        UsageError: A path is not there, or a folder or glob has no file.
    """
    given = [str(path) for path in paths]
    if not given:
        raise UsageError("No input was given", fix="name at least one file, folder or glob")
    files: dict[Path, Path] = {}
    skipped: list[Path] = []
    for path in given:
        taken, left = _expand_one(path, () if every_file else suffixes)
        skipped += left
        for file in taken:
            files.setdefault(file.resolve(), file)
    return Expanded(tuple(sorted(files.values(), key=str)), tuple(sorted(set(skipped), key=str)))


def _expand_one(given: str, suffixes: tuple[str, ...]) -> tuple[list[Path], list[Path]]:
    """Files taken from one path, and files left aside; no suffixes: every file is taken."""
    path = Path(given)
    if path.is_file():
        return [path], []
    if path.is_dir():
        found = [file for file in path.rglob("*") if file.is_file() and not _hidden(path, file)]
        taken = [file for file in found if not suffixes or plain_name(file).endswith(suffixes)]
        left = [file for file in found if file not in set(taken)]
    elif glob.has_magic(given):
        matches = [Path(match) for match in glob.glob(given, recursive=True)]  # noqa: PTH207
        taken, left = [match for match in matches if match.is_file()], []
        for folder in (match for match in matches if match.is_dir() and "**" not in given):
            inner, other = _expand_one(str(folder), suffixes)
            taken, left = taken + inner, left + other
    elif path.exists():
        raise UsageError(f"{given} is neither a file nor a folder", fix="give a regular file")
    else:
        raise UsageError(f"{given} does not exist", fix="check the path and the working directory")
    if not taken:
        raise UsageError(
            f"{given} has no file to load",
            problems=[f"{file} has no known name" for file in sorted(left)],
            fix=f"files are known by {', '.join(suffixes)} (and .gz, .bz2, .zst); "
            "--format takes files of any name; CSV is not read",
        )
    return taken, left


def _hidden(folder: Path, file: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def plain_name(path: Path) -> str:
    """The lower-case file name without a suffix of compression."""
    name = path.name.lower()
    return next((name.removesuffix(s) for s in COMPRESSED_SUFFIXES if name.endswith(s)), name)


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
    chosen = wanted or _guess(path, head, verb)
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
    if not head:
        raise ContractError(f"{path} is empty", fix="write it again, or leave it out")
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
    by_hand = YAML_SUFFIXES if verb in SERVES[Format.YAML] else ()
    expanded = expand(paths, every_file=wanted is not None, suffixes=(*KNOWN_SUFFIXES, *by_hand))
    return tuple(identify(path, verb, wanted) for path in expanded.files), expanded.skipped


def skip_bom(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks without the byte-order mark that some editors write first."""
    for number, block in enumerate(blocks):
        yield block.removeprefix(BOM) if number == 0 else block
