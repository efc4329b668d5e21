"""From files, folders and patterns on a command line to files, and where they lie below these."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from crucible_batch.errors import UsageError

COMPRESSED_SUFFIXES = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
KNOWN_SUFFIXES = (
    *(".parquet", ".pq", ".jsonl", ".ndjson", ".json"),
    *(".trec", ".run", ".qrels", ".qrel", ".txt", ".tsv"),
)
"""What is taken from a folder when no format is asked for."""


@dataclass(frozen=True)
class Expanded:
    """Files found under the given paths, and what a folder holds beside them.

    Left aside is what has no known format, and what cannot be read at all: links that lead nowhere
    or to a folder, pipes, sockets.
    """

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
        found = list(_entries(path))
        files = [file for file in found if file.is_file()]
        taken = [file for file in files if not suffixes or plain_name(file).endswith(suffixes)]
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
            problems=[f"{file} {_why_left(file)}" for file in sorted(left)],
            fix=f"files are known by {', '.join(dict.fromkeys(suffixes))} (and .gz, .bz2, .zst); "
            "--format takes files of any name; CSV is not read",
        )
    return taken, left


def _why_left(file: Path) -> str:
    return "has no known name" if file.is_file() else "is no file that can be read"


def _entries(folder: Path) -> Iterator[Path]:
    """Everything below a folder that is not a folder itself, and links to folders; not the hidden.

    Raises:
        OSError: A folder cannot be read: what it holds would be missing without a word.
    """

    def fail(error: OSError) -> None:
        raise error

    for root, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not _hidden(name)]
        links = [name for name in folders if Path(root, name).is_symlink()]
        yield from (Path(root, name) for name in (*names, *links) if not _hidden(name))


def _hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def plain_name(path: Path) -> str:
    """The lower-case file name without a suffix of compression."""
    name = path.name.lower()
    return next((name.removesuffix(s) for s in COMPRESSED_SUFFIXES if name.endswith(s)), name)


def named_folders(given: Iterable[str | Path]) -> tuple[Path, ...]:
    """The folders among paths, and of patterns the last folder without a wildcard."""
    found = []
    for path in map(Path, given):
        if path.is_dir():
            found.append(path)
        elif glob.has_magic(str(path)):
            found.append(Path(*takewhile(lambda part: not glob.has_magic(part), path.parts)))
    return tuple(found)


def relative_name(file: Path, folders: Iterable[Path]) -> str:
    """The path of a file below the first of the folders that holds it, with `/`; else its name.

    So the same folder gives the same names wherever it lies.
    """
    for folder in folders:
        if file.is_relative_to(folder):
            return file.relative_to(folder).as_posix()
    return file.name
