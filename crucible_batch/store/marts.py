"""Derived tables: staged with their hashes, then moved into place, all or (after a crash) later.

Order of a scoring: stage the files, commit an `evaluations` row with their hashes, publish. A
crash in between leaves a staging folder with a list of moves, which `pending` finds and `finish`
completes; each move is made only if its target is still what it was when the move was planned.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import count
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from crucible_batch.contracts import Storage, Table
from crucible_batch.errors import ContractError, StoreError
from crucible_batch.store import durable, parquet
from crucible_batch.store.fingerprint import canonical_json, file_sha256
from crucible_batch.store.key_order import check_order
from crucible_batch.store.layout import EMPTY, Layout
from crucible_batch.store.staging import ROW_GROUP, StagingArea

MOVES = "moves.json"


@dataclass(frozen=True, kw_only=True)
class MartFile:
    """One file of a derived table, to be written.

    Attributes:
        table: A mart.
        name: File name without suffix (`layout.file_name`, `layout.pair_name`).
        rows: The rows. A frame is sorted here; a lazy frame must come in key order, and is written
            without being held in memory. Columns beyond the contract's are kept behind them.
        about: Footer: content fingerprints of the inputs, ruler, settings and golden-set hash.
        variant: Write under `variants/`, not `marts/`.
        archive: Name under `variants/` that keeps the file this one replaces.
    """

    table: str
    name: str
    rows: pl.DataFrame | pl.LazyFrame
    about: Mapping[str, str] = field(default_factory=dict)
    variant: bool = False
    archive: str | None = None


@dataclass(frozen=True, kw_only=True)
class Move:
    """One planned rename; paths relative to the workspace.

    Attributes:
        sha256: What the target will hold.
        replaces: What it held when the move was planned; None: nothing.
        archive: Where the replaced file is kept.
    """

    staged: str
    target: str
    sha256: str
    replaces: str | None
    archive: str | None


@dataclass(frozen=True, kw_only=True)
class StagedMarts:
    """Files that are written and wait for their renames.

    Attributes:
        folder: Staging folder.
        moves: The renames, by target.
        recorded: The moves count only once an `evaluations` row names the files.
    """

    folder: Path
    moves: tuple[Move, ...]
    recorded: bool

    @property
    def paths(self) -> list[str]:
        """Where the files will be, relative to the workspace: `mart_paths` of `evaluations`."""
        return [move.target for move in self.moves]

    @property
    def sha256(self) -> list[str]:
        """SHA-256 of the files, in the order of `paths`: `mart_sha256` of `evaluations`."""
        return [move.sha256 for move in self.moves]


def stage(
    files: Iterable[MartFile],
    *,
    layout: Layout,
    staging: StagingArea,
    tables: Mapping[str, Table],
    recorded: bool,
) -> StagedMarts:
    """Write mart files aside and list the renames that will publish them.

    Args:
        files: At most one per target; written while the next ones are made.
        layout: Paths of the workspace.
        staging: Its staging area.
        tables: Contracts.
        recorded: The files will be named by an `evaluations` row before they are published.

    Raises:
        ContractError: A frame does not have its contract's columns, a key is there twice, or a
            lazy frame is not in key order.
    """
    folder = staging.new()
    try:
        # One file waits for the disk or is compressed on one core while another is written.
        with ThreadPoolExecutor(2) as pool:
            write = partial(_stage_one, folder=folder, layout=layout, tables=tables)
            moves = list(pool.map(write, files, count()))
        moves.sort(key=lambda move: move.target)
        if len({move.target for move in moves}) < len(moves):
            raise StoreError("two mart files of one write have the same name")
        plan = {"recorded": recorded, "moves": [asdict(move) for move in moves]}
        durable.write_text(folder / MOVES, canonical_json(plan))
    except BaseException:
        staging.release(folder)
        raise
    return StagedMarts(folder=folder, moves=tuple(moves), recorded=recorded)


def publish(staged: StagedMarts, layout: Layout, staging: StagingArea) -> None:
    """Rename every staged file into place; files that are there already stay as they are."""
    for move in staged.moves:
        source, target = staged.folder / move.staged, layout.root / move.target
        if not source.exists():
            continue  # moved before a crash
        if target.exists() and move.archive and move.replaces != move.sha256:
            _keep(target, layout.root / move.archive)
        durable.replace(source, target)
        if target.parent.parent.name == "marts":
            _match_empty(target)
    staging.release(staged.folder)


def read_plan(folder: Path) -> StagedMarts | None:
    """Return the moves a crash left in a staging folder; None if it holds no complete list."""
    path = folder / MOVES
    if not path.is_file():
        return None
    plan = json.loads(path.read_text(encoding="utf-8"))
    moves = tuple(Move(**move) for move in plan["moves"])
    return StagedMarts(folder=folder, moves=moves, recorded=plan["recorded"])


def can_finish(staged: StagedMarts, layout: Layout, recorded: frozenset[tuple[str, str]]) -> bool:
    """Return whether publishing now still means what it meant when it was planned.

    Args:
        staged: Moves left open.
        layout: Paths of the workspace.
        recorded: (path, sha256) pairs that `evaluations` names.
    """
    if staged.recorded and not recorded.issuperset(zip(staged.paths, staged.sha256, strict=True)):
        return False
    return all(_is_as_planned(move, staged.folder, layout) for move in staged.moves)


def scan(layout: Layout, table: Table) -> pl.LazyFrame:
    """Return all files of a mart as one lazy frame; a column a file lacks is null."""
    files = sorted(layout.marts(table.name).glob("*.parquet"))
    if not files:
        return table.empty().lazy()
    scans = [pl.scan_parquet(file, glob=False, hive_partitioning=False) for file in files]
    return pl.concat(scans, how="diagonal")


def write_empty(layout: Layout, table: Table) -> None:
    """Write the file without rows that every mart begins with."""
    path = layout.marts(table.name) / EMPTY
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, table.empty().lazy(), table, {})


def _stage_one(
    file: MartFile, number: int, folder: Path, layout: Layout, tables: Mapping[str, Table]
) -> Move:
    table = tables[file.table]
    if table.storage is not Storage.MART:
        raise StoreError(f"{table.name} is not a mart")
    _check_columns(table, file.rows.collect_schema())
    rows = file.rows
    if isinstance(rows, pl.DataFrame):
        rows = rows.sort(*table.key, nulls_last=False).lazy()
    path = folder / f"{number:04d}.parquet"
    _write(path, rows, table, file.about)
    try:
        check_order(table, path)
    except (PolarsError, PanicException) as error:
        raise StoreError(
            f"A file of mart {table.name} was not written whole",
            problems=[str(error)],
            fix="check that the disk is not full, and run the command again.",
        ) from error
    durable.sync(path)
    target = (layout.variant if file.variant else layout.mart)(file.table, file.name)
    archive = layout.variant(file.table, file.archive) if file.archive else None
    return Move(
        staged=path.name,
        target=str(target.relative_to(layout.root)),
        sha256=file_sha256(path),
        replaces=file_sha256(target) if target.exists() else None,
        archive=str(archive.relative_to(layout.root)) if archive else None,
    )


def _write(path: Path, rows: pl.LazyFrame, table: Table, about: Mapping[str, str]) -> None:
    """Write one file; its bytes depend on the rows and `about` only, not on pieces or threads."""
    extra = [name for name in rows.collect_schema() if name not in table.schema]
    footer = {
        **about,
        "crucible.table": table.name,
        "crucible.version": str(table.version),
        "crucible.package": version("crucible-batch"),
    }
    rows.select(*table.names, *extra).sink_parquet(
        path,
        compression="zstd",
        row_group_size=ROW_GROUP,
        maintain_order=True,
        metadata=dict(sorted(footer.items())),
    )


def _check_columns(table: Table, found: pl.Schema) -> None:
    problems = [
        f"column {name} is {found.get(name, 'missing')}, not {dtype}"
        for name, dtype in table.schema.items()
        if found.get(name) != dtype
    ]
    if problems:
        raise ContractError(f"Rows for mart {table.name} break its contract", problems=problems)


def _keep(target: Path, archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    if not archive.exists():
        os.link(target, archive)
        durable.sync(archive.parent)


def _match_empty(target: Path) -> None:
    """Give `_empty.parquet` the columns of a new file: a plain glob takes those of the first."""
    empty = target.parent / EMPTY
    schema = parquet.schema_of(target)
    if empty.exists() and parquet.schema_of(empty) == schema:
        return
    aside = empty.with_name(f".{EMPTY}.{os.getpid()}")
    try:
        pl.DataFrame(schema=schema).write_parquet(aside, metadata=_footer(target))
        durable.sync(aside)
        durable.replace(aside, empty)
    finally:
        aside.unlink(missing_ok=True)


def _footer(path: Path) -> dict[str, str]:
    kept = {"crucible.table", "crucible.version", "crucible.package"}
    return {name: text for name, text in parquet.footer_of(path).items() if name in kept}


def _is_as_planned(move: Move, folder: Path, layout: Layout) -> bool:
    target = layout.root / move.target
    held = file_sha256(target) if target.exists() else None
    if not (folder / move.staged).exists():
        return held == move.sha256
    return held in {move.replaces, move.sha256}
