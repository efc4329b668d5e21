"""What has been committed: the folders under `lake/` and their `commits` rows, read once each.

Committed folders never change, so what is known of one stays true. A number missing between two
others is looked for by name: a folder that appears while the directory is being read may be left
out of the listing although a later one is in it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

import polars as pl

from crucible_batch.contracts import Table
from crucible_batch.errors import StoreError
from crucible_batch.store.layout import COMMIT_NAME, Layout, commit_name

SUFFIX = ".parquet"

MOST_GAPS = 100_000
"""More numbers missing below the highest than any listing leaves out, or any look should seek."""


@dataclass(frozen=True)
class CommitFolder:
    """One commit on disk."""

    seq: int
    tables: frozenset[str]
    inode: int


class History:
    """The commits of one workspace, kept between looks; safe to share between threads."""

    def __init__(self, layout: Layout, commits: Table) -> None:
        self._layout = layout
        self._schema = commits.schema
        self._folders: dict[int, CommitFolder] = {}
        self._rows = commits.empty()
        self._lock = Lock()

    def look(self) -> tuple[Mapping[int, CommitFolder], pl.DataFrame]:
        """Return the commits that are there now, and their rows of `commits` by seq."""
        with self._lock:
            inodes = self._listed()
            known = {
                seq: folder
                for seq, folder in self._folders.items()
                if inodes.get(seq) == folder.inode
            }
            new = sorted(inodes.keys() - known.keys())
            if new or len(known) != len(self._folders):
                known.update({seq: self._folder(seq, inodes[seq]) for seq in new})
                self._rows = self._rows_of(known, new)
                self._folders = dict(sorted(known.items()))
            return self._folders, self._rows

    def _listed(self) -> dict[int, int]:
        """Commit number to inode, without gaps that are only an artefact of the listing."""
        found: dict[int, int] = {}
        with os.scandir(self._layout.lake) as entries:
            for entry in entries:
                if match := COMMIT_NAME.fullmatch(entry.name):
                    found[int(match[1])] = entry.inode()
        self._refuse_strays(found)
        for seq in set(range(max(found, default=-1))) - found.keys():
            path = self._layout.lake / commit_name(seq)
            if path.is_dir():
                found[seq] = path.stat().st_ino
        return found

    def _refuse_strays(self, found: Mapping[int, int]) -> None:
        """Refuse a number far beyond the others, which no commit ever took.

        Raises:
            StoreError: Names the folder.
        """
        last = max(found, default=0)
        if last - len(found) > MOST_GAPS:
            raise StoreError(
                f"{self._layout.commit(last)} is no commit: the lake has {len(found) - 1:,} others",
                fix="move that folder out of the lake; `crucible doctor` looks at the rest.",
            )

    def _folder(self, seq: int, inode: int) -> CommitFolder:
        names = os.listdir(self._layout.commit(seq))  # noqa: PTH208 (names only, many folders)
        tables = frozenset(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))
        return CommitFolder(seq, tables, inode)

    def _rows_of(self, known: Mapping[int, object], new: list[int]) -> pl.DataFrame:
        kept = self._rows.filter(pl.col("seq").is_in(sorted(known.keys() - set(new))))
        paths = [self._layout.commit(seq) / f"commits{SUFFIX}" for seq in new]
        if not paths:
            return kept
        scan = pl.scan_parquet(
            paths,
            schema={**self._schema, "_commit": pl.Int64()},
            glob=False,
            hive_partitioning=False,
            missing_columns="insert",
            extra_columns="ignore",
        )
        fresh = scan.select(self._schema.keys()).collect()
        return pl.concat([kept, fresh]).sort("seq")
