"""The store: a folder of workspaces that share nothing."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

import polars as pl

from crucible_batch.contracts import TABLES, Storage, Table
from crucible_batch.errors import StoreError, UnknownNameError, UsageError
from crucible_batch.store import catalog, durable, layout, marts
from crucible_batch.store.commit import write_event_file
from crucible_batch.store.engine import Engine
from crucible_batch.store.layout import Layout
from crucible_batch.store.staging import StagingArea
from crucible_batch.store.workspace import Workspace


def utc_now() -> datetime:
    """Return the current time; the one clock of the store."""
    return datetime.now(UTC)


class Store:
    """A folder with `crucible.toml` and a folder per workspace.

    Needs a local POSIX filesystem on one mount. Many processes may read and write at once.

    Attributes:
        root: The folder, absolute.
    """

    def __init__(
        self,
        root: Path,
        *,
        now: Callable[[], datetime] = utc_now,
        engine: Engine | None = None,
        tables: Mapping[str, Table] = TABLES,
    ) -> None:
        self.root = root
        self._now = now
        self._engine = engine or Engine()
        self._tables = tables
        self._workspaces: dict[str, Workspace] = {}
        self._lock = Lock()

    @classmethod
    def open(
        cls,
        root: str | Path,
        *,
        now: Callable[[], datetime] = utc_now,
        engine: Engine | None = None,
        tables: Mapping[str, Table] = TABLES,
    ) -> Store:
        """Open the store at `root`.

        Args:
            root: Folder that holds `crucible.toml`.
            now: The clock; every time the store writes comes from it.
            engine: Memory limit and threads of sorts.
            tables: Contracts; other than the package's only in tests.

        Raises:
            StoreError: There is no store at `root`.
            UsageError: The path has a backslash.
        """
        folder = _checked(root)
        if not (folder / layout.SETTINGS_FILE).is_file():
            raise StoreError(
                f"There is no store at {folder}: it has no {layout.SETTINGS_FILE}",
                fix=f"crucible init {root}, or give another folder with --root",
            )
        return cls(folder, now=now, engine=engine, tables=tables)

    @classmethod
    def create(
        cls,
        root: str | Path,
        *,
        settings_text: str | None = None,
        now: Callable[[], datetime] = utc_now,
        engine: Engine | None = None,
        tables: Mapping[str, Table] = TABLES,
    ) -> Store:
        """Open the store at `root`, making the folder and its `crucible.toml` where absent.

        Raises:
            StoreError: `root` is a file.
            UsageError: The path has a backslash.
        """
        folder = _checked(root)
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"{folder} is a file", fix="give the path of a folder")
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / layout.SETTINGS_FILE
        if not settings.exists():
            durable.write_text(settings, settings_text or layout.root_settings_text())
        return cls.open(folder, now=now, engine=engine, tables=tables)

    def workspaces(self) -> tuple[str, ...]:
        """Return the names of the workspaces, sorted."""
        return tuple(
            sorted(
                path.name
                for path in self.root.iterdir()
                if layout.WORKSPACE_NAME.fullmatch(path.name) and Layout(path).lake.is_dir()
            )
        )

    def workspace(self, name: str = "default", *, create: bool = False) -> Workspace:
        """Return a workspace.

        Args:
            name: Its name.
            create: Make it when it is absent; safe when several processes do so at once.

        Raises:
            UsageError: The name may not name a workspace.
            UnknownNameError: There is none and `create` is false.
        """
        layout.check_workspace_name(name)
        with self._lock:
            if name in self._workspaces:
                return self._workspaces[name]
            if name not in self.workspaces():
                self._refuse_or_create(name, create=create)
            found = Workspace(name, self.root / name, self._tables, self._engine, self._now)
            self._workspaces[name] = found
            return found

    def table(self, name: str, workspace: str = "default", pin: int | None = None) -> pl.LazyFrame:
        """Return a table of a workspace as a lazy frame.

        Args:
            name: A lake table (with its `_commit`) or a mart.
            workspace: Workspace; rows of another one are never read.
            pin: Show lake tables as they were at this commit; marts are as they are now.

        Raises:
            UnknownNameError: No workspace or table has this name.
            UsageError: The pin is not a commit of the workspace.
        """
        return self.workspace(workspace).table(name, pin)

    def sql(self, query: str, workspace: str = "default", pin: int | None = None) -> pl.DataFrame:
        """Run one reading SQL statement over the tables of a workspace, in DuckDB.

        Args:
            query: SQL; every table of the workspace is a view. All lake tables show one commit.
            workspace: Workspace; no other file of the machine can be read.
            pin: The commit lake tables show; the newest one when None.

        Raises:
            UsageError: The statement is wrong, or would do more than read.
            UnknownNameError: No workspace has this name.
        """
        return self.workspace(workspace).sql(query, pin)

    def _refuse_or_create(self, name: str, *, create: bool) -> None:
        if not create:
            raise UnknownNameError("workspace", name, self.workspaces())
        same = [other for other in self.workspaces() if other.lower() == name.lower()]
        if same:
            raise StoreError(
                f"Workspace {name} differs from {same[0]} in upper and lower case only",
                fix="use the name that is there, or another one",
            )
        staging = StagingArea(self.root / ".staging")
        for left in staging.dead():
            staging.release(left)
        with staging.folder() as aside:
            build(aside, name, self._tables, at=self.root / name)
            try:
                aside.rename(self.root / name)
                durable.sync(self.root)
            except OSError as error:
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                    raise
                if not Layout(self.root / name).lake.is_dir():
                    raise StoreError(
                        f"{self.root / name} is there, and is no workspace",
                        fix="move the folder away, load again, and put its settings.toml back",
                    ) from error
                # else somebody else was faster, and theirs is as good


def _checked(root: str | Path) -> Path:
    """The folder as an absolute path that every engine can read files of.

    Raises:
        UsageError: The path has a backslash: DuckDB takes it for a separator of folders.
    """
    folder = Path(root).absolute()
    if "\\" in str(folder):
        raise UsageError(
            f"A store cannot lie in {folder}: DuckDB takes the backslash for a separator",
            fix="give a folder without a backslash in its path.",
        )
    return folder


def build(folder: Path, name: str, tables: Mapping[str, Table], *, at: Path) -> None:
    """Write an empty workspace into `folder`, which will be renamed to `at`.

    It has commit 0, empty marts, settings and the catalogue. Every table has a file from the
    start, because an empty glob is an error in every engine.
    """
    new = Layout(folder)
    first = new.commit(0)
    first.mkdir(parents=True)
    new.staging.mkdir()
    for table in tables.values():
        if table.storage in {Storage.EVENT, Storage.BULK}:
            write_event_file(first / f"{table.name}.parquet", table.empty(), table, 0)
        elif table.storage is Storage.MART:
            marts.write_empty(new, table)
    for path in (first, new.lake):
        durable.sync(path)
    durable.write_text(new.settings, layout.workspace_settings_text(name))
    new.lock.touch()
    catalog.rebuild(new, tables, at=at)
    durable.sync(folder)
