"""One workspace: its lake, staging area, marts and quarantine, and the transaction over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import polars as pl

from crucible_batch.contracts import Storage, Table
from crucible_batch.errors import StoreError, UnknownNameError, UsageError
from crucible_batch.store import catalog, commit, locks, marts, quarantine, redaction, sandbox
from crucible_batch.store.commit import Transaction
from crucible_batch.store.engine import Engine
from crucible_batch.store.history import History
from crucible_batch.store.layout import Layout
from crucible_batch.store.marts import MartFile, StagedMarts
from crucible_batch.store.plan import About, Committed, Decide
from crucible_batch.store.redaction import Redaction
from crucible_batch.store.small_files import SmallFiles
from crucible_batch.store.snapshot import Snapshot
from crucible_batch.store.staging import BulkFile, StagingArea, stage_pieces


class Workspace:
    """A folder of a store; nothing in it knows of another workspace.

    Attributes:
        name: Its name, the `workspace_id` of every row.
        layout: Its paths.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        tables: Mapping[str, Table],
        engine: Engine,
        now: Callable[[], datetime],
    ) -> None:
        self.name = name
        self.layout = Layout(folder)
        self.tables = tables
        self.engine = engine
        self.now = now
        self.staging = StagingArea(self.layout.staging)
        self._catalog_seen = False
        self._small_files = SmallFiles()
        self._history = History(self.layout, tables["commits"])

    def snapshot(self, pin: int | None = None) -> Snapshot:
        """Return what is committed now, or was at commit `pin`.

        Raises:
            UsageError: The pin is not a commit of the workspace.
            StoreError: The lake holds no commit at all.
        """
        folders, rows = self._history.look()
        if not folders:
            raise StoreError(
                f"{self.layout.lake} holds no commits",
                fix="restore the folder, or remove the workspace and load again",
            )
        head = max(folders)
        if pin is not None and not 0 <= pin <= head:
            raise UsageError(
                f"Workspace {self.name} has no commit {pin}", fix=f"use a number from 0 to {head}"
            )
        seq = head if pin is None else pin
        return Snapshot(
            workspace=self.name,
            seq=seq,
            tables=self.tables,
            layout=self.layout,
            engine=self.engine,
            staging=self.staging,
            small_files=self._small_files,
            folders={number: found for number, found in folders.items() if number <= seq},
            rows=rows.filter(pl.col("seq") <= seq),
        )

    def committed(self, idempotency_key: str) -> int | None:
        """Return the number of the commit that carries a key, so that no work is done twice."""
        rows = self.snapshot().rows.filter(pl.col("idempotency_key") == idempotency_key)
        return None if rows.is_empty() else int(rows["seq"][0])

    def commit(
        self, decide: Decide, *, kind: str, idempotency_key: str, about: About | None = None
    ) -> Committed:
        """Append what `decide` says, once, as one transaction.

        Args:
            decide: Is given a snapshot and says what to append; asked again, with a newer
                snapshot, each time another writer was faster. It must not write anything.
            kind: What the commit is, e.g. `load.qrels`.
            idempotency_key: A key that is already committed makes this a no-op.
            about: Inputs, settings and subject.

        Returns:
            The commit; `created` is false when nothing had to be written.

        Raises:
            ConflictError: A key is in the plan twice or there already, or a part is loaded again.
            StoreError: The plan's frames are not what their contracts say.
        """
        transaction = Transaction(
            decide=decide,
            kind=kind,
            idempotency_key=idempotency_key,
            about=about or About(),
            now=self.now,
            package_version=version("crucible-batch"),
        )
        with locks.shared(self.layout.lock), self.staging.folder() as folder:
            return self._attempt(transaction, folder / "commit")

    def _attempt(self, transaction: Transaction, folder: Path) -> Committed:
        while True:
            snapshot = self.snapshot()
            if earlier := transaction.already(snapshot):
                return earlier
            plan = transaction.decide(snapshot)
            if plan.is_empty:
                return Committed(
                    seq=snapshot.seq,
                    created=False,
                    plan=plan,
                    counts=plan.counts,
                    messages=plan.messages,
                )
            commit.check(plan, snapshot, transaction.about)
            folder.mkdir(exist_ok=True)
            seq = snapshot.seq + 1
            row = transaction.row(seq, plan, snapshot)
            commit.write_folder(folder, seq, plan, row, snapshot)
            if commit.publish(folder, self.layout.commit(seq)):
                for bulk in plan.bulk:
                    self.staging.release(bulk.path.parent)
                self._look_after_catalog()
                return Committed(
                    seq=seq, created=True, plan=plan, counts=plan.counts, messages=plan.messages
                )

    def table(self, name: str, pin: int | None = None) -> pl.LazyFrame:
        """Return a lake table (with `_commit`) or a mart; see `Store.table`."""
        table = self._table(name)
        if table.storage is Storage.MART:
            return marts.scan(self.layout, table)
        if table.storage in {Storage.FOLD, Storage.VIEW}:
            return sandbox.fold(name, self.snapshot(pin)).lazy()
        return self.snapshot(pin).read(name)

    def sql(self, query: str, pin: int | None = None) -> pl.DataFrame:
        """Run one reading SQL statement over the tables; see `Store.sql`."""
        return sandbox.run(query, self.snapshot(pin))

    def stage_bulk(
        self, table: str, sources: Sequence[Path], subject: str, part: str | None = None
    ) -> BulkFile:
        """Sort Parquet pieces of a bulk table into one file that waits to be committed.

        Args:
            table: Bulk table.
            sources: Pieces with the contract's columns and types, rows in any order.
            subject: The run or corpus version all rows are of.
            part: Part of the subject, None for all of it.

        Memory: the engine's limit and one row group, whatever the number of rows.

        Raises:
            ContractError: A column is missing or of another type, or a row is of another subject.
            ConflictError: A key is in the pieces twice.
        """
        folder = self.staging.new()
        try:
            return stage_pieces(
                self._table(table),
                sources,
                folder,
                self.engine,
                workspace=self.name,
                subject=subject,
                part=part,
            )
        except BaseException:
            self.staging.release(folder)
            raise

    def stage_frame(
        self, table: str, frame: pl.DataFrame, subject: str, part: str | None = None
    ) -> BulkFile:
        """Stage a frame that fits in memory; the same file as `stage_bulk` writes."""
        with self.staging.folder() as folder:
            piece = folder / f"{table}.parquet"
            frame.write_parquet(piece)
            return self.stage_bulk(table, [piece], subject, part)

    def discard(self, bulk: BulkFile) -> None:
        """Remove a staged file that will not be committed."""
        self.staging.release(bulk.path.parent)

    def write_quarantine(self, load: str, table: str, rows: pl.DataFrame | pl.LazyFrame) -> Path:
        """Write the rows one load put aside, with their reasons; replaces an earlier try."""
        path = self.layout.quarantine(load, table)
        with self.staging.folder() as folder:
            quarantine.write(path, rows, folder)
        return path

    def texts_left(self, wanted: Mapping[str, Redaction]) -> dict[str, int]:
        """Return table → rows with a text that `redact` would take out."""
        return redaction.rows_left(self.layout, self.tables, wanted)

    def redact(self, wanted: Mapping[str, Redaction]) -> dict[str, int]:
        """Take texts out of committed files, holding the lock alone; see `redaction`.

        Args:
            wanted: Table to what is taken out of it. The audit event is the caller's.

        Returns:
            Table → rows that were changed.
        """
        with locks.exclusive(self.layout.lock), self.staging.folder() as folder:
            done = redaction.rewrite(self.layout, self.tables, wanted, folder)
        self._small_files = SmallFiles()  # rows that were read before
        return done

    def stage_marts(self, files: Iterable[MartFile], *, recorded: bool = False) -> StagedMarts:
        """Write mart files aside; see `marts.stage`. Commit their hashes, then `publish_marts`."""
        return marts.stage(
            files,
            layout=self.layout,
            staging=self.staging,
            tables=self.tables,
            recorded=recorded,
        )

    def publish_marts(self, staged: StagedMarts) -> None:
        """Rename staged mart files into place; views of marts that grow follow them."""
        marts.publish(staged, self.layout, self.staging)
        if catalog.may_grow(staged.paths, self.tables):
            catalog.refresh_quietly(self.layout, self.tables)

    def discard_marts(self, staged: StagedMarts) -> None:
        """Remove staged mart files that will not be published."""
        self.staging.release(staged.folder)

    def pending_moves(self) -> tuple[StagedMarts, ...]:
        """Return the publications that a crash left open."""
        plans = (marts.read_plan(folder) for folder in self.staging.dead())
        return tuple(plan for plan in plans if plan is not None)

    def finish_moves(self) -> tuple[str, ...]:
        """Complete the publications a crash left open, where they still mean what they meant.

        Returns:
            The files moved into place, relative to the workspace.
        """
        pending, moved = self.pending_moves(), list[str]()
        recorded = self.recorded_marts() if pending else frozenset()
        for plan in pending:
            if marts.can_finish(plan, self.layout, recorded):
                self.publish_marts(plan)
                moved += plan.paths
        return tuple(moved)

    def recorded_marts(self) -> frozenset[tuple[str, str]]:
        """Return (path, sha256) of every mart file that `evaluations` names."""
        rows = self.snapshot().read("evaluations").select("mart_paths", "mart_sha256").collect()
        return frozenset(
            pair for paths, hashes in rows.iter_rows() for pair in zip(paths, hashes, strict=True)
        )

    def refresh_catalog(self) -> bool:
        """Rebuild `catalog.duckdb` and `views.sql` if tables or place changed; say if so."""
        return catalog.refresh(self.layout, self.tables)

    def _look_after_catalog(self) -> None:
        """Once per process; a commit does not fail because something derived cannot be rebuilt."""
        if not self._catalog_seen:
            self._catalog_seen = True
            catalog.refresh_quietly(self.layout, self.tables)

    def _table(self, name: str) -> Table:
        if name not in self.tables:
            raise UnknownNameError("table", name, tuple(self.tables))
        return self.tables[name]
