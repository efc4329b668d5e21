"""A transaction: look, decide, write aside, and become visible by one rename.

`decide` sees a snapshot and says what to append. If somebody else takes the next number in the
meantime, it is asked again with what is there now; files already staged are not written again.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from crucible_batch.contracts import Storage, Table
from crucible_batch.errors import ConflictError, StoreError, UnknownNameError
from crucible_batch.store import durable
from crucible_batch.store.fingerprint import canonical_json, file_sha256
from crucible_batch.store.plan import About, Committed, Counts, Decide, Plan
from crucible_batch.store.snapshot import Snapshot
from crucible_batch.store.staging import ROW_GROUP

Metadata = dict[str, str]
_FEW = 16


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """One call of `Workspace.commit`: everything that stays the same when a race is lost."""

    decide: Decide
    kind: str
    idempotency_key: str
    about: About
    now: Callable[[], datetime]
    package_version: str

    def already(self, snapshot: Snapshot) -> Committed | None:
        """Return the commit that carries the idempotency key, if there is one."""
        rows = snapshot.rows.filter(pl.col("idempotency_key") == self.idempotency_key)
        if rows.is_empty():
            return None
        row = rows.row(0, named=True)
        return Committed(
            seq=row["seq"],
            created=False,
            plan=None,
            counts=Counts(**{name: row[name] for name in Counts.__dataclass_fields__}),
            messages=(f"already committed as c{row['seq']:08d} (no-op)",),
        )

    def row(self, seq: int, plan: Plan, snapshot: Snapshot) -> pl.DataFrame:
        """Return the one row of `commits`."""
        written = sorted(
            {n for n, f in plan.events.items() if len(f)} | {b.table for b in plan.bulk}
        )
        versions = [f"{name}:{snapshot.tables[name].version}" for name in written]
        about = self.about
        values = {
            "workspace_id": snapshot.workspace,
            "seq": seq,
            "kind": self.kind,
            "idempotency_key": self.idempotency_key,
            "tables": written,
            "subject": about.subject,
            "part": about.part,
            "input_paths": list(about.input_paths),
            "input_sha256": list(about.input_sha256),
            **{name: getattr(plan.counts, name) for name in Counts.__dataclass_fields__},
            "contract_versions": versions
            if about.contract_versions is None
            else list(about.contract_versions),
            "package_version": self.package_version,
            "settings_hash": about.settings_hash,
            "seed": about.seed,
            "created_at": self.now(),
        }
        return pl.DataFrame([values], schema=snapshot.tables["commits"].schema)


def write_folder(folder: Path, seq: int, plan: Plan, row: pl.DataFrame, snapshot: Snapshot) -> None:
    """Write a commit's files into a staging folder: sorted, sealed, with a manifest.

    The manifest (rows and SHA-256 of every file, content fingerprint of a bulk file) stands in the
    footer of `commits.parquet`, so that damage can be told from the file it happened to.
    """
    manifest: dict[str, object] = {}
    staged = {folder / f"{bulk.table}.parquet": bulk for bulk in plan.bulk}
    for left in set(folder.iterdir()) - staged.keys():
        left.unlink()  # of an attempt that lost the race
    for target, bulk in staged.items():
        # A link, not a move: after a lost race `decide` may want to read the file again.
        if not (target.exists() and target.samefile(bulk.path)):
            target.unlink(missing_ok=True)
            target.hardlink_to(bulk.path)
        manifest[bulk.table] = {
            "rows": bulk.n_rows,
            "sha256": bulk.sha256,
            "fingerprint": bulk.fingerprint,
        }
    new = {name: table.empty() for name, table in _never_written(snapshot).items()}
    events = {name: frame for name, frame in plan.events.items() if len(frame)}
    for name, frame in sorted((new | events).items()):
        target = folder / f"{name}.parquet"
        write_event_file(target, frame, snapshot.tables[name], seq)
        manifest[name] = {"rows": len(frame), "sha256": file_sha256(target)}
    about = {"crucible.manifest": canonical_json(manifest)}
    write_event_file(folder / "commits.parquet", row, snapshot.tables["commits"], seq, about)
    durable.sync(folder)


def write_event_file(
    path: Path, rows: pl.DataFrame, table: Table, seq: int, about: Metadata | None = None
) -> None:
    """Write and seal one file of event rows, sorted by key, with `_commit` inside.

    A bulk table gets no `_commit`: it is read from the path.
    """
    inside = [] if table.storage is Storage.BULK else [pl.lit(seq, pl.Int64).alias("_commit")]
    query = rows.lazy().select(table.names).sort(*table.key, nulls_last=False).with_columns(inside)
    query.collect().write_parquet(
        path,
        compression="zstd",
        row_group_size=ROW_GROUP,
        metadata={
            "crucible.table": table.name,
            "crucible.version": str(table.version),
            **(about or {}),
        },
    )
    durable.seal(path)


def publish(folder: Path, target: Path) -> bool:
    """Make a staged commit visible; False when somebody else has the number."""
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
            return False
        raise
    durable.sync(target.parent)
    return True


def check(plan: Plan, snapshot: Snapshot, about: About) -> None:
    """Refuse a plan that would break what the store promises, before anything is written.

    Raises:
        ConflictError: A key is in the plan twice or there already, or a part is loaded again.
        StoreError: A frame has other columns or types than its contract, or foreign rows.
    """
    for name, frame in plan.events.items():
        table = snapshot.tables.get(name)
        if table is None or table.storage is not Storage.EVENT or name == "commits":
            known = [t.name for t in snapshot.tables.values() if t.storage is Storage.EVENT]
            raise UnknownNameError("event table", name, known)
        _check_frame(table, frame, snapshot.workspace)
        _check_keys(table, frame, snapshot)
    _check_bulk(plan, snapshot, about)


def _check_frame(table: Table, frame: pl.DataFrame, workspace: str) -> None:
    problems = [
        f"column {name} is {frame.schema.get(name, 'missing')}, not {dtype}"
        for name, dtype in table.schema.items()
        if frame.schema.get(name) != dtype
    ]
    if problems:
        raise StoreError(f"Rows for {table.name} do not have its columns", problems=problems)
    foreign = frame.filter(pl.col("workspace_id").ne_missing(workspace))
    if len(foreign):
        raise StoreError(
            f"A row for {table.name} belongs to workspace {foreign['workspace_id'][0]!r}, "
            f"not to {workspace!r}"
        )


def _check_keys(table: Table, frame: pl.DataFrame, snapshot: Snapshot) -> None:
    keys = frame.select(table.key)
    twice = keys.filter(keys.is_duplicated())
    if len(twice):
        raise _conflict(table, twice, "is in the plan twice")
    if len(keys) and snapshot.commits_with(table.name):
        there = snapshot.keys(table.name).filter(*_narrowed(keys)).collect()
        taken = keys.join(there, on=list(table.key), how="semi", nulls_equal=True)
        if len(taken):
            raise _conflict(table, taken, "is already stored")


def _narrowed(keys: pl.DataFrame) -> list[pl.Expr]:
    """Conditions that let the reader skip what cannot match, e.g. the rows of other runs."""
    values = {name: keys[name].unique() for name in keys.columns if not keys[name].null_count()}
    return [pl.col(n).is_in(v.to_list()) for n, v in values.items() if len(v) <= _FEW]


def _check_bulk(plan: Plan, snapshot: Snapshot, about: About) -> None:
    names = [bulk.table for bulk in plan.bulk]
    for bulk in plan.bulk:
        if (bulk.subject, bulk.part) != (about.subject, about.part) or names.count(bulk.table) > 1:
            raise StoreError(
                f"A commit holds one file per bulk table, of one subject and part: "
                f"{bulk.table} is of {bulk.subject!r}, part {bulk.part!r}"
            )
        if bulk.part in snapshot.parts(bulk.table, bulk.subject):
            raise ConflictError(
                f"{bulk.table} of {bulk.subject!r}, part {bulk.part!r}, is already stored",
                fix="load it under another part or id",
            )


def _conflict(table: Table, keys: pl.DataFrame, what: str) -> ConflictError:
    rows = keys.unique(maintain_order=True).head(6).iter_rows(named=True)
    return ConflictError(
        f"A key of {table.name} {what}", problems=[canonical_json(_plain(row)) for row in rows]
    )


def _plain(row: dict[str, object]) -> dict[str, object]:
    return {k: v.isoformat() if isinstance(v, datetime) else v for k, v in row.items()}


def _never_written(snapshot: Snapshot) -> dict[str, Table]:
    """Tables a later version of the package added: their first file is an empty one."""
    have: set[str] = set().union(*(folder.tables for folder in snapshot.folders.values()))
    lake = {Storage.EVENT, Storage.BULK}
    return {n: t for n, t in snapshot.tables.items() if t.storage in lake and n not in have}
