"""A journal: records that must not be lost between their arrival and their commit.

Every record is on the disk before `append` returns. A command writes a journal of its own and
removes it when everything in it is committed; what a killed command left is found by the next one.
A commit that is followed by a crash leaves its records behind: committing them again must be a
no-op, which the keys of their tables see to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from crucible_batch.errors import StoreError
from crucible_batch.store import durable
from crucible_batch.store.layout import Layout
from crucible_batch.store.staging import StagingArea

FILE = "records.jsonl"
Record = dict[str, Any]


class Journal:
    """An open journal; `Journal.of(layout)` is a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        durable.sync(path.parent)
        durable.sync(path.parent.parent)

    @classmethod
    @contextmanager
    def of(cls, layout: Layout) -> Iterator[Self]:
        """Have a journal for the length of a block.

        It is removed at the end only if it is empty: what was not committed stays.
        """
        area = StagingArea(layout.journal)
        folder = area.new()
        journal = cls(folder / FILE)
        try:
            yield journal
        finally:
            os.close(journal._file)
            if (folder / FILE).stat().st_size:
                area.leave(folder)
            else:
                area.release(folder)

    def append(self, record: Record) -> None:
        """Add a record of JSON values; it is on the disk when this returns.

        Raises:
            OSError: The disk is full or gone.
        """
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        left = memoryview(f"{line}\n".encode())
        while left:
            left = left[os.write(self._file, left) :]
        os.fsync(self._file)

    def clear(self) -> None:
        """Forget every record: they are committed."""
        os.ftruncate(self._file, 0)
        os.fsync(self._file)


def abandoned(layout: Layout) -> Iterator[tuple[Path, list[Record]]]:
    """Yield the journals that killed commands left, each with its records.

    Raises:
        StoreError: A journal is damaged otherwise than by the end of its process.
    """
    for folder in StagingArea(layout.journal).dead():
        path = folder / FILE
        if path.exists():
            yield folder, _records(path)


def discard(layout: Layout, folder: Path) -> None:
    """Remove a journal whose records are committed."""
    StagingArea(layout.journal).release(folder)


def _records(path: Path) -> list[Record]:
    """The records of a journal; a last line without its end was still being written."""
    lines = path.read_bytes().split(b"\n")[:-1]
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise StoreError(
            f"{path} is damaged",
            problems=[str(error)],
            fix="take the broken line out by hand, or remove the folder: what it says is asked "
            "again.",
        ) from error
