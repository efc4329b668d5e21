"""Damage to committed files: each commit against its own manifest and the contracts."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import polars as pl

from crucible_batch.contracts import Storage, Table
from crucible_batch.store import parquet
from crucible_batch.store.durable import READ_ONLY
from crucible_batch.store.fingerprint import file_sha256
from crucible_batch.store.history import MOST_GAPS
from crucible_batch.store.layout import COMMIT_NAME, Layout, commit_name

BACKUP = "restore it from a backup"
UNREADABLE = (OSError, pl.exceptions.PolarsError)

Problem = tuple[str, str]
"""What is wrong, and how to fix it."""


def lake_problems(layout: Layout, tables: Mapping[str, Table]) -> Iterator[Problem]:
    """Yield what is wrong with the commit folders of a lake."""
    numbers: list[int] = []
    for path in sorted(layout.lake.iterdir()):
        match = COMMIT_NAME.fullmatch(path.name)
        if match is None or not path.is_dir():
            yield f"lake/{path.name} is no commit", "move it out of the lake"
            continue
        numbers.append(int(match[1]))
        yield from _folder(path, int(match[1]), tables)
    for before, after in pairwise([-1, *sorted(numbers)]):
        yield from _gap(before + 1, after - 1)


def _gap(first: int, last: int) -> Iterator[Problem]:
    """Numbers that no folder has, from the first to the last."""
    if last - first >= MOST_GAPS:
        yield (
            f"lake/{commit_name(last + 1)} is no commit: its number is far beyond the others",
            "move it out of the lake",
        )
    elif last > first:
        yield f"lake/{commit_name(first)} to {commit_name(last)} are missing", BACKUP
    elif last == first:
        yield f"lake/{commit_name(first)} is missing", BACKUP


def _folder(folder: Path, seq: int, tables: Mapping[str, Table]) -> Iterator[Problem]:
    files = {path.name.removesuffix(".parquet"): path for path in sorted(folder.iterdir())}
    for path in files.values():
        yield from _file(path, seq, tables)
    commits = files.get("commits")
    if commits is None:
        yield f"{_place(folder)} has no commits.parquet", BACKUP
    elif seq:
        yield from _manifest(folder, commits, seq, files)


def _file(path: Path, seq: int, tables: Mapping[str, Table]) -> Iterator[Problem]:
    place = _place(path)
    table = tables.get(path.name.removesuffix(".parquet"))
    if table is None or table.storage not in {Storage.EVENT, Storage.BULK}:
        yield f"{place} is no table of the lake", "move it out of the lake"
        return
    if stat.S_IMODE(path.stat().st_mode) != READ_ONLY:
        yield f"{place} is not read-only: it may have been edited", f"chmod 444 {place}"
    try:
        found = parquet.schema_of(path)
        footer = parquet.footer_of(path)
        inside = parquet.read(path, ["_commit"]) if "_commit" in found else None
    except UNREADABLE as error:
        yield f"{place} cannot be read: {str(error).splitlines()[0]}", BACKUP
        return
    yield from _types(place, found, footer.get("crucible.version"), table)
    if inside is not None and inside.filter(pl.col("_commit") != seq).height:
        yield f"{place} holds rows of another commit", BACKUP


def _types(
    place: str, found: Mapping[str, pl.DataType], version: str | None, table: Table
) -> Iterator[Problem]:
    earlier = version is not None and version.isdigit() and int(version) < table.version
    expected = dict(table.schema)
    if table.storage is Storage.EVENT:
        expected["_commit"] = pl.Int64()
    for name, dtype in expected.items():
        if name not in found:
            if not earlier:
                yield f"{place} has no column {name}", BACKUP
        elif found[name] != dtype:
            yield f"{place}: column {name} is {found[name]}, not {dtype}", BACKUP


def _manifest(
    folder: Path, commits: Path, seq: int, files: Mapping[str, Path]
) -> Iterator[Problem]:
    """Compare the files with what the commit said it wrote."""
    try:
        text = parquet.footer_of(commits).get("crucible.manifest")
        rows = parquet.read(commits, ["seq", "tables"]).rows()
    except UNREADABLE:
        return  # said already
    if text is None:
        yield f"{_place(commits)} has no manifest", BACKUP
        return
    manifest = json.loads(text)
    if [row[0] for row in rows] != [seq]:
        yield f"{_place(commits)} is of commit {[row[0] for row in rows]}", BACKUP
    elif not set(rows[0][1]) <= manifest.keys():
        yield f"{_place(commits)} names tables it did not write", BACKUP
    for name in sorted(files.keys() - manifest.keys() - {"commits"}):
        yield f"{_place(files[name])} was not written by its commit", "move it out of the lake"
    for name, said in manifest.items():
        yield from _as_said(folder / f"{name}.parquet", said)


def _as_said(path: Path, said: Mapping[str, object]) -> Iterator[Problem]:
    if not path.is_file():
        yield f"{_place(path)} is missing", BACKUP
        return
    digest = file_sha256(path)
    if digest == said["sha256"]:
        return
    if digest == said.get("before"):
        yield (
            f"{_place(path)} is only half redacted: the command was stopped",
            "run the same crucible redact again",
        )
        return
    try:
        n_rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    except UNREADABLE:
        return  # said already
    if n_rows != said["rows"]:
        yield f"{_place(path)} has {n_rows} rows, its commit wrote {said['rows']}", BACKUP
    else:
        yield f"{_place(path)} was changed after its commit", BACKUP


def _place(path: Path) -> str:
    """Return the path as seen from the workspace, to be read by people."""
    if COMMIT_NAME.fullmatch(path.name):
        return f"lake/{path.name}"
    return f"lake/{path.parent.name}/{path.name}"
