"""A workspace as it was after one commit, across all its tables.

The files are listed when the snapshot is taken, so reading one table now and another later, or
while others commit, shows the same moment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from crucible_batch.contracts import Storage, Table
from crucible_batch.errors import StoreError, UnknownNameError
from crucible_batch.store import parquet
from crucible_batch.store.engine import Engine
from crucible_batch.store.fingerprint import RowFingerprint, content_fingerprint
from crucible_batch.store.history import CommitFolder
from crucible_batch.store.layout import Layout, commit_name
from crucible_batch.store.quoting import Names, fill
from crucible_batch.store.small_files import SmallFiles
from crucible_batch.store.staging import StagingArea

_FILE = "_file"


@dataclass(frozen=True)
class Snapshot:
    """Reads one workspace at one commit.

    Attributes:
        workspace: Name of the workspace.
        seq: Number of the last commit that is visible; 0 is the empty workspace.
    """

    workspace: str
    seq: int
    tables: Mapping[str, Table] = field(repr=False)
    layout: Layout = field(repr=False)
    engine: Engine = field(repr=False)
    staging: StagingArea = field(repr=False)
    small_files: SmallFiles = field(repr=False)
    folders: Mapping[int, CommitFolder] = field(repr=False)
    rows: pl.DataFrame = field(repr=False)

    def read(
        self, table: str, *, subject: str | None = None, part: str | None = None
    ) -> pl.LazyFrame:
        """Return a lake table: its contract's columns and `_commit`, rows in no promised order.

        Args:
            table: Name of a lake table.
            subject: Only rows of this run or corpus version; of a bulk table, only its files are
                opened.
            part: For bulk tables: only this part of the subject.

        Columns a file of an earlier contract version lacks are null, or their default.

        Raises:
            UnknownNameError: No lake table has this name.
        """
        spec = self._lake_table(table)
        bulk = spec.storage is Storage.BULK
        if not bulk and subject is not None:
            return self.read(table).filter(pl.col(_subject_column(spec)) == subject)
        seqs = self.commits_with(table, subject=subject, part=part)
        if not seqs:
            return spec.empty().with_columns(_commit=pl.lit(None, pl.Int64)).lazy()
        if bulk:
            return self._scan_bulk(spec, seqs)
        return self.small_files.read(
            table,
            {seq: self.folders[seq] for seq in seqs},
            lambda seq: self._file(seq, table),
            lambda some: _scan([self._file(seq, table) for seq in some], spec),
        )

    def _scan_bulk(self, spec: Table, seqs: Sequence[int]) -> pl.LazyFrame:
        paths = [self._file(seq, spec.name) for seq in seqs]
        number = pl.col(_FILE).replace_strict(paths, list(seqs), return_dtype=pl.Int64)
        return _scan(paths, spec, number)

    def keys(self, table: str) -> pl.LazyFrame:
        """Return the key columns of a lake table's rows."""
        return self.read(table).select(self._lake_table(table).key)

    def commits(self) -> pl.DataFrame:
        """Return the `commits` rows up to this snapshot, by seq."""
        return self.rows

    def commits_with(
        self, table: str, *, subject: str | None = None, part: str | None = None
    ) -> tuple[int, ...]:
        """Return the numbers of the commits that hold rows of a table, of a subject and part."""
        if subject is None:
            return tuple(s for s, folder in self.folders.items() if table in folder.tables)
        return tuple(
            seq
            for seq, of_part in self._parts_of.get(subject, ())
            if part in {None, of_part} and table in self.folders[seq].tables
        )

    @cached_property
    def _parts_of(self) -> Mapping[str, list[tuple[int, str | None]]]:
        """Number and part of every commit of a subject, oldest first."""
        found: dict[str, list[tuple[int, str | None]]] = {}
        for seq, subject, part in (
            self.rows.select("seq", "subject", "part").sort("seq").iter_rows()
        ):
            if subject is not None:
                found.setdefault(subject, []).append((seq, part))
        return found

    def parts(self, table: str, subject: str) -> tuple[str | None, ...]:
        """Return the parts of a subject that were loaded into a bulk table, oldest first."""
        return tuple(
            part
            for seq, part in self._parts_of.get(subject, ())
            if table in self.folders[seq].tables
        )

    def paths(self, table: str, *, subject: str | None = None) -> tuple[Path, ...]:
        """Return the files of a lake table, oldest first."""
        self._lake_table(table)
        return tuple(
            Path(self._file(seq, table)) for seq in self.commits_with(table, subject=subject)
        )

    def fingerprint(self, table: str, *, subject: str | None = None) -> str:
        """Return the content fingerprint of a lake table's rows, however they lie in files.

        Args:
            table: Name of a lake table.
            subject: Only rows of this run or corpus version.

        Memory: for bulk tables the engine's limit, whatever the size; for event tables the rows.
        """
        spec = self._lake_table(table)
        if spec.storage is Storage.BULK:
            return self._bulk_fingerprint(spec, subject)
        return content_fingerprint(self.read(table, subject=subject).collect(), spec)

    def _bulk_fingerprint(self, spec: Table, subject: str | None) -> str:
        fingerprint = RowFingerprint(spec.content)
        paths = self.paths(spec.name, subject=subject)
        if len(paths) == 1 and (known := self._recorded_fingerprint(spec, paths[0])):
            return known
        if paths:
            query = fill(
                "merge_sorted",
                columns=Names(spec.content),
                sources=list(paths),
                key=Names(spec.key),
            )
            with self.staging.folder() as spill, self.engine.connect(spill) as connection:
                for batch in connection.sql(query).to_arrow_reader(32_768):
                    fingerprint.update(batch)
        return fingerprint.hexdigest()

    def _recorded_fingerprint(self, spec: Table, path: Path) -> str | None:
        """What the commit of a bulk file recorded of its rows; committed files never change."""
        footer = parquet.footer_of(path.with_name(f"commits{path.suffix}"))
        entry = json.loads(footer.get("crucible.manifest", "{}")).get(spec.name, {})
        if parquet.footer_of(path).get("crucible.version") != str(spec.version):
            return None  # columns that a later version added count too
        fingerprint: str | None = entry.get("fingerprint")
        return fingerprint

    def _file(self, seq: int, table: str) -> str:
        return f"{self.layout.lake}/{commit_name(seq)}/{table}.parquet"

    def _lake_table(self, name: str) -> Table:
        lake = [t.name for t in self.tables.values() if t.storage in {Storage.EVENT, Storage.BULK}]
        if name not in lake:
            raise UnknownNameError("table of the lake", name, lake)
        return self.tables[name]


def _scan(paths: list[str], spec: Table, number: pl.Expr | None = None) -> pl.LazyFrame:
    """Scan files of one lake table; `number` gives `_commit` where it is not inside the rows."""
    inside = {} if number is not None else {"_commit": pl.Int64()}
    scan = pl.scan_parquet(
        paths,
        schema={**spec.schema, **inside},
        glob=False,
        hive_partitioning=False,
        missing_columns="insert",
        extra_columns="ignore",
        include_file_paths=None if number is None else _FILE,
    )
    defaults = [
        pl.col(column.name).fill_null(pl.lit(column.default, dtype=column.dtype))
        for column in spec.columns
        if column.has_default and not column.nullable and column.dtype != pl.List
    ]
    numbers = [] if number is None else [number.alias("_commit")]
    return scan.with_columns(*defaults, *numbers).select(*spec.names, "_commit")


def _subject_column(table: Table) -> str:
    """Return the column that says which run or corpus version a row is about."""
    column = table.subject or "run_id"
    if column not in table.schema:
        raise StoreError(f"{table.name} has no rows of one run or corpus version")
    return column
