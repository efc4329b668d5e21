"""Bulk rows on their way into the store: spooled, checked piece by piece, never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl

from crucible_batch.assemble.load.report import Tally
from crucible_batch.assemble.load.rows import Check, canonical, keep
from crucible_batch.contracts import TABLES, Storage, Table
from crucible_batch.contracts.conform import complete
from crucible_batch.contracts.validate import split, split_duplicates
from crucible_batch.formats.chunk import Chunk

HASH_SEED = 20_240_229


class Spool:
    """Chunks as they come in: bulk tables on disk, the others in memory.

    Attributes:
        frames: Completed rows of every table that is not a bulk table.
    """

    def __init__(self, folder: Path, chunks: Iterable[Chunk]) -> None:
        self.folder = folder
        self._numbers = count()
        self._paths: dict[str, list[Path]] = {}
        parts: dict[str, list[pl.DataFrame]] = {}
        for chunk in chunks:
            table = TABLES[chunk.table]
            frame = complete(table, chunk.frame)
            if table.storage is Storage.BULK:
                self._paths.setdefault(table.name, []).append(self.write(table, frame))
            else:
                parts.setdefault(table.name, []).append(frame)
        self.frames = {name: pl.concat(frames) for name, frames in parts.items()}

    @property
    def bulk_tables(self) -> tuple[str, ...]:
        """Bulk tables that have rows, in the order they came."""
        return tuple(self._paths)

    def paths(self, table: str) -> list[Path]:
        """The pieces of a bulk table."""
        return self._paths.get(table, [])

    def values(self, table: str, column: str) -> list[object]:
        """The distinct values of a column, without null, sorted."""
        if not self.paths(table):
            return []
        scan = pl.scan_parquet(self.paths(table), glob=False).select(column)
        return sorted(scan.unique().drop_nulls().collect()[column].to_list())

    def write(self, table: Table, frame: pl.DataFrame) -> Path:
        """Write one piece and return where; a name is never used again."""
        path = self.folder / f"{table.name}-{next(self._numbers):06d}.parquet"
        frame.write_parquet(path, compression="lz4", statistics=False)
        return path


def checked(
    spool: Spool,
    table: Table,
    paths: Sequence[Path],
    fill: Callable[[pl.DataFrame], pl.DataFrame],
    check: Check,
    tally: Tally,
) -> list[Path]:
    """Check pieces one at a time and write the good rows as new pieces.

    Args:
        spool: Where pieces are written.
        table: Their contract.
        paths: Pieces of completed rows.
        fill: Fills what the input left out.
        check: Puts rows aside that break a rule across tables.
        tally: Counts.

    Returns:
        Pieces whose keys are unique over all of them; `_source_file` and `_source_row` stay.
    """
    good = []
    for path in paths:
        frame = canonical(table, fill(pl.read_parquet(path, glob=False)))
        path.unlink()
        tally.n_in += frame.height
        rows = check(keep(split(table, frame), tally), tally)
        good.append(spool.write(table, rows))
    return _unique(spool, table, good, tally)


def _unique(spool: Spool, table: Table, paths: list[Path], tally: Tally) -> list[Path]:
    """Resolve keys that occur more than once, in one piece or in several.

    Keys are compared by a 64-bit hash first, so that 50 million rows need 400 MB; only rows whose
    hash repeats are looked at in full.
    """
    repeated = _repeated_hashes(table, paths)
    if not len(repeated):
        return paths
    suspects, kept = [], []
    for path in paths:
        hit = pl.Series(np.isin(_hashes(table, path), repeated))
        frame = pl.read_parquet(path, glob=False)
        path.unlink()
        suspects.append(frame.filter(hit))
        kept.append(spool.write(table, frame.filter(~hit)))
    kept.append(spool.write(table, keep(split_duplicates(table, pl.concat(suspects)), tally)))
    return kept


def changed(
    spool: Spool,
    table: Table,
    paths: Sequence[Path],
    change: Callable[[pl.DataFrame], pl.DataFrame],
) -> list[Path]:
    """Write every piece anew as `change` gives it back."""
    anew = []
    for path in paths:
        frame = pl.read_parquet(path, glob=False)
        path.unlink()
        anew.append(spool.write(table, change(frame)))
    return anew


def _repeated_hashes(table: Table, paths: Sequence[Path]) -> np.ndarray:
    """Hashes of keys that occur more than once in all pieces; memory: 8 bytes per row."""
    sizes = [pl.scan_parquet(path, glob=False).select(pl.len()).collect().item() for path in paths]
    every = np.empty(sum(sizes), np.uint64)
    start = 0
    for path, size in zip(paths, sizes, strict=True):
        every[start : start + size] = _hashes(table, path)
        start += size
    every.sort()
    return np.unique(every[1:][every[1:] == every[:-1]])


def _hashes(table: Table, path: Path) -> np.ndarray:
    keys = pl.read_parquet(path, columns=list(table.key), glob=False)
    return keys.hash_rows(seed=HASH_SEED).to_numpy()


def rows_of(paths: Iterable[Path], columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of all pieces."""
    return pl.concat([pl.read_parquet(path, columns=list(columns), glob=False) for path in paths])
