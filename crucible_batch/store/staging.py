"""Bulk files, sorted and sealed before a commit number is looked for.

A lost race for the next number then costs a rename, not a rewrite of five million rows.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from crucible_batch.contracts import Kind, Storage, Table
from crucible_batch.errors import ConflictError, ContractError, StoreError
from crucible_batch.store import durable, locks, parquet
from crucible_batch.store.engine import Engine
from crucible_batch.store.fingerprint import RowFingerprint, file_sha256
from crucible_batch.store.quoting import Names, fill

ROW_GROUP = 122_880
"""Rows of a row group: 120,000, rounded to DuckDB's vectors of 2,048."""

_VECTOR = 2_048
_ROW_GROUP_TEXT = 64 << 20
"""Bytes of text a row group may hold on average, so that long evidence does not fill memory."""

_BATCH = 32_768


@dataclass(frozen=True, kw_only=True)
class BulkFile:
    """A sorted, sealed file that waits to be committed.

    Attributes:
        table: Bulk table the rows belong to.
        subject: The one run or corpus version they are about.
        part: Part of the subject, None for all of it.
        fingerprint: Content fingerprint of the rows.
        sha256: SHA-256 of the file.
    """

    table: str
    subject: str
    part: str | None
    path: Path
    n_rows: int
    fingerprint: str
    sha256: str


class StagingArea:
    """The folder `.staging` of a workspace; what a dead process left there can be told apart."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._held: dict[Path, int] = {}

    def new(self) -> Path:
        """Make a folder that counts as in use as long as this process lives or until `release`."""
        while True:
            folder = self.root / uuid4().hex
            folder.mkdir(parents=True)
            descriptor = locks.lock_directory(folder)
            if descriptor is None:
                continue  # a repair took it for a dead one, between the two calls
            if folder.is_dir():
                self._held[folder] = descriptor
                return folder
            os.close(descriptor)

    def release(self, folder: Path) -> None:
        """Remove a folder and what is in it, if it is still here; the claim on it ends."""
        shutil.rmtree(folder, ignore_errors=True)
        self.leave(folder)

    def leave(self, folder: Path) -> None:
        """End the claim on a folder and let it lie, for whoever looks after the dead ones."""
        descriptor = self._held.pop(folder, None)
        if descriptor is not None:
            os.close(descriptor)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Have a folder for the length of a block."""
        folder = self.new()
        try:
            yield folder
        finally:
            self.release(folder)

    def dead(self) -> tuple[Path, ...]:
        """Folders whose process is gone."""
        found = sorted(self.root.iterdir()) if self.root.is_dir() else []
        return tuple(folder for folder in found if folder not in self._held and _is_free(folder))


def _is_free(folder: Path) -> bool:
    if not folder.is_dir():
        return True
    descriptor = locks.lock_directory(folder)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def stage_pieces(
    table: Table,
    sources: Sequence[Path],
    folder: Path,
    engine: Engine,
    *,
    workspace: str,
    subject: str,
    part: str | None,
) -> BulkFile:
    """Sort Parquet pieces of one bulk table into one sealed file in `folder`.

    Args:
        table: A bulk table.
        sources: Pieces with all contract columns and their types, rows in any order.
        folder: Staging folder on the filesystem of the lake.
        engine: Memory limit and threads; the bytes written depend on neither.
        workspace: The one workspace_id the rows may have.
        subject: The one value the table's subject column may have.
        part: Part of the subject.

    Raises:
        ContractError: A column is missing or of another type, or a row is of another subject.
        ConflictError: A key is in the pieces twice.
        StoreError: The table is not a bulk table.
    """
    if table.storage is not Storage.BULK or table.subject is None:
        raise StoreError(f"{table.name} is not a bulk table")
    _check_columns(table, sources)
    constant = {"workspace_id": workspace, table.subject: subject}
    order = tuple(name for name in table.key if name not in constant)
    target = folder / f"{table.name}.parquet"
    spill = folder / "spill"
    with engine.connect(spill) as connection:
        connection.execute(
            fill(
                "sort_bulk",
                columns=Names(table.names),
                sources=list(sources),
                key=Names(order),
                target=str(target),
                row_group=_row_group(connection, table, sources),
                about={"crucible.table": table.name, "crucible.version": str(table.version)},
            )
        )
    shutil.rmtree(spill, ignore_errors=True)
    fingerprint = _checked_fingerprint(table, target, constant, order)
    durable.seal(target)
    return BulkFile(
        table=table.name,
        subject=subject,
        part=part,
        path=target,
        n_rows=fingerprint.n_rows,
        fingerprint=fingerprint.hexdigest(),
        sha256=file_sha256(target),
    )


def _check_columns(table: Table, sources: Sequence[Path]) -> None:
    if not sources:
        raise StoreError(f"no pieces of {table.name} to stage")
    for source in sources:
        found = parquet.schema_of(source)
        problems = [
            f"{source.name}: {name} is {found.get(name, 'missing')}, not {dtype}"
            for name, dtype in table.schema.items()
            if found.get(name) != dtype
        ]
        if problems:
            raise ContractError(
                f"A piece of {table.name} does not have the contract's columns",
                problems=problems,
                fix=f"crucible schema {table.name} lists columns and types",
            )


def _row_group(connection: object, table: Table, sources: Sequence[Path]) -> int:
    """Rows per row group: fewer when the texts are long; a function of the rows alone."""
    texts = [column.name for column in table.columns if column.kind is Kind.TEXT]
    if not texts:
        return ROW_GROUP
    query = fill("text_size", names=texts, sources=list(sources))
    n_rows, n_bytes = connection.execute(query).fetchone()  # type: ignore[attr-defined]
    fits = ROW_GROUP if not n_bytes else _ROW_GROUP_TEXT * n_rows // n_bytes
    return max(_VECTOR, min(ROW_GROUP, fits // _VECTOR * _VECTOR))


def _checked_fingerprint(
    table: Table, path: Path, constant: dict[str, str], order: Sequence[str]
) -> RowFingerprint:
    """Read the sorted file once: fingerprint it, and refuse a foreign row or a repeated key."""
    fingerprint = RowFingerprint(table.content)
    last: pl.DataFrame | None = None
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH):
            fingerprint.update(batch)
            keys = pl.DataFrame(pa.Table.from_batches([batch]).select(list(table.key)))
            _refuse_foreign(table, keys, constant)
            keys = keys.select(order)
            _refuse_repeated(table, keys if last is None else pl.concat([last, keys]), constant)
            last = keys.tail(1)
    return fingerprint


def _refuse_foreign(table: Table, keys: pl.DataFrame, constant: dict[str, str]) -> None:
    for name, value in constant.items():
        other = keys.filter(pl.col(name).ne_missing(value))
        if len(other):
            raise ContractError(
                f"{table.name} was staged for {name} {value!r}, a row is of {other[name][0]!r}",
                fix=f"stage one {name} at a time",
            )


def _refuse_repeated(table: Table, keys: pl.DataFrame, constant: dict[str, str]) -> None:
    same = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(name).shift(1)) for name in keys.columns
    )
    repeated = keys.filter(same & (pl.int_range(pl.len()) > 0))
    if len(repeated):
        raise ConflictError(
            f"{table.name} holds a key twice",
            problems=[f"{constant | row}" for row in repeated.head(5).iter_rows(named=True)],
            fix="keep one row per key",
        )
