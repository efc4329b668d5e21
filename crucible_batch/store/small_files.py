"""Rows of small event files, kept between snapshots of one process.

An append looks at the keys of every commit; without this, each append would open every small file
again. Committed files never change, so rows once read stay right; a folder that was exchanged
(compaction) has another inode, and then everything of the table is read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import polars as pl

from crucible_batch.store.history import CommitFolder

SMALL = 256 << 10
"""Bytes of a file that is worth keeping in memory."""

CHUNKS = 32
"""Pieces the rows may lie in before they are put together."""

Scan = Callable[[list[int]], pl.LazyFrame]


@dataclass
class _Kept:
    rows: pl.DataFrame | None = None
    inodes: dict[int, int] = field(default_factory=dict)
    large: set[int] = field(default_factory=set)

    def is_of(self, folders: Mapping[int, CommitFolder], newest: int) -> bool:
        """Whether every folder read up to `newest` is still the same folder."""
        return all(
            seq > newest or (seq in folders and folders[seq].inode == inode)
            for seq, inode in self.inodes.items()
        )


class SmallFiles:
    """Keeps the rows of small files of event tables; safe to share between threads."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = Lock()

    def read(
        self,
        table: str,
        folders: Mapping[int, CommitFolder],
        path: Callable[[int], str],
        scan: Scan,
    ) -> pl.LazyFrame:
        """Return the rows of an event table in some commits.

        Args:
            table: Event table.
            folders: Visible commits that hold a file of the table.
            path: File of the table in a commit.
            scan: Reads the files of some commits, `_commit` included.
        """
        newest = max(folders)
        with self._lock:
            kept = self._kept.setdefault(table, _Kept())
            if not kept.is_of(folders, newest):
                kept = self._kept[table] = _Kept()
            new = [seq for seq in folders if seq not in kept.inodes]
            small = [seq for seq in new if Path(path(seq)).stat().st_size <= SMALL]
            if small:
                rows = scan(small).collect()
                kept.rows = rows if kept.rows is None else kept.rows.vstack(rows)
                if kept.rows.n_chunks() > CHUNKS:
                    kept.rows = kept.rows.rechunk()
            kept.large.update(set(new) - set(small))
            kept.inodes.update({seq: folders[seq].inode for seq in new})
            large, rows_kept = sorted(kept.large & folders.keys()), kept.rows
        parts = [scan(large)] if large else []
        if rows_kept is not None:
            parts.append(rows_kept.lazy().filter(pl.col("_commit") <= newest))
        return pl.concat(parts)
