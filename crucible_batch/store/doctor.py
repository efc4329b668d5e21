"""What is wrong with a workspace, and what to do about it.

Reads every committed file once. Nothing is changed by looking; `repair` touches only what is
derived or was never committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from crucible_batch.contracts import Storage
from crucible_batch.store import catalog, locks, marts, parquet, redaction
from crucible_batch.store.doctor_lake import UNREADABLE, lake_problems
from crucible_batch.store.fingerprint import file_sha256
from crucible_batch.store.journal import abandoned
from crucible_batch.store.snapshot import Snapshot
from crucible_batch.store.workspace import Workspace

Level = Literal["ok", "warn", "error"]
REPAIR = "crucible doctor --repair"
RESCORE = "crucible score the run again: marts are functions of the lake"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing the doctor saw.

    Attributes:
        level: `error`: data is damaged or wrong; `warn`: harmless, but should be put in order.
        what: What, and where.
        fix: What to do; empty when all is well.
    """

    level: Level
    what: str
    fix: str = ""


def diagnose(workspace: Workspace) -> tuple[Finding, ...]:
    """Examine a workspace: lake, trails, marts, staging area and catalogue.

    Returns:
        Findings, errors first; one that all is well when there is nothing to put in order.
    """
    damage = [
        Finding(level="error", what=what, fix=fix)
        for what, fix in lake_problems(workspace.layout, workspace.tables)
    ]
    found = [*damage, *_marts(workspace), *_staging(workspace), *_catalog(workspace)]
    found += _journals(workspace)
    if not damage:  # trails cannot be compared while files are unreadable
        snapshot = workspace.snapshot()
        found += [*_trails(snapshot), *_recorded(workspace)]
    found += _redacted(workspace)
    if all(finding.level == "ok" for finding in found):
        seq = workspace.snapshot().seq
        sound = Finding(level="ok", what=f"workspace {workspace.name} is sound at commit {seq}")
        return (sound, *found)
    return tuple(sorted(found, key=lambda finding: (finding.level != "error", finding.what)))


def repair(workspace: Workspace) -> tuple[str, ...]:
    """Finish publications a crash left open, remove what dead processes staged, rebuild views.

    Takes the workspace's lock alone, so no commit is under way meanwhile.

    Returns:
        What was done.
    """
    with locks.exclusive(workspace.layout.lock):
        done = [f"moved {path} into place" for path in workspace.finish_moves()]
        for folder in workspace.staging.dead():
            workspace.staging.release(folder)
            done.append(f"removed .staging/{folder.name}")
        if workspace.refresh_catalog():
            done.append("rebuilt catalog.duckdb and views.sql")
    return tuple(done)


def _redacted(workspace: Workspace) -> Iterator[Finding]:
    """Files with texts taken out: sound, but their hashes on record are those of before."""
    for commits in sorted(workspace.layout.lake.glob("*/commits.parquet")):
        try:
            counts = redaction.redacted_rows(commits)
        except UNREADABLE:
            continue  # said already
        for table, n_rows in sorted(counts.items()):
            place = f"lake/{commits.parent.name}/{table}.parquet"
            yield Finding(level="ok", what=f"{place}: {n_rows} rows are redacted")


def _trails(snapshot: Snapshot) -> Iterator[Finding]:
    """Judgments and their audit events, keys, and parts: what no single file can show."""
    for table in snapshot.tables.values():
        if table.storage is Storage.EVENT:
            keys = snapshot.keys(table.name).collect()
            if n_twice := len(keys) - keys.n_unique():
                yield Finding(
                    level="error",
                    what=f"{table.name}: {n_twice} rows have a key that is there already",
                    fix="restore the lake from a backup",
                )
    yield from _audit(snapshot)
    yield from _parts(snapshot)


def _audit(snapshot: Snapshot) -> Iterator[Finding]:
    events = (
        snapshot.read("audit_log")
        .filter(pl.col("action") == "qrel.author")
        .select(pl.col("detail").str.json_path_match("$.qrel_id").alias("qrel_id"))
        .collect()
    )
    rows = snapshot.read("qrels").select("qrel_id").collect()
    without = rows.join(events, on="qrel_id", how="anti")
    orphans = events.join(rows, on="qrel_id", how="anti")
    twice = events.filter(events["qrel_id"].is_duplicated()).unique()
    for faulty, text in (
        (without, "judgments have no qrel.author event"),
        (orphans, "qrel.author events have no judgment"),
        (twice, "judgments have more than one qrel.author event"),
    ):
        if len(faulty):
            first = faulty["qrel_id"].sort()[0]
            yield Finding(
                level="error",
                what=f"{len(faulty)} {text}, e.g. {first}",
                fix="restore the lake from a backup",
            )


def _parts(snapshot: Snapshot) -> Iterator[Finding]:
    bulk = {table.name for table in snapshot.tables.values() if table.storage is Storage.BULK}
    loaded = (
        snapshot.commits()
        .select("subject", "part", "tables")
        .explode("tables")
        .filter(pl.col("tables").is_in(sorted(bulk)))
    )
    for row in loaded.filter(loaded.is_duplicated()).unique().sort("subject", "tables").iter_rows():
        yield Finding(
            level="error",
            what=f"{row[2]} of {row[0]!r}, part {row[1]!r}, was committed more than once",
            fix="restore the lake from a backup",
        )


def _marts(workspace: Workspace) -> Iterator[Finding]:
    for table in workspace.tables.values():
        if table.storage is not Storage.MART:
            continue
        for path in sorted(workspace.layout.marts(table.name).glob("*.parquet")):
            place = path.relative_to(workspace.layout.root)
            try:
                footer = parquet.footer_of(path)
            except (OSError, pl.exceptions.ComputeError) as error:
                yield Finding(level="error", what=f"{place} cannot be read: {error}", fix=RESCORE)
                continue
            version = footer.get("crucible.version")
            if version != str(table.version):
                yield Finding(
                    level="warn",
                    what=f"{place} is of contract version {version}, not {table.version}",
                    fix=RESCORE,
                )


def _recorded(workspace: Workspace) -> Iterator[Finding]:
    """Compare mart files with the newest evaluation that names them."""
    for place, sha256 in sorted(newest_recorded(workspace.snapshot()).items()):
        path = workspace.layout.root / place
        if not path.is_file():
            yield Finding(level="error", what=f"{place} is missing", fix=f"{REPAIR}, or {RESCORE}")
        elif file_sha256(path) != sha256:
            yield Finding(
                level="error",
                what=f"{place} is not the file that evaluations names",
                fix=f"{REPAIR}, or {RESCORE}",
            )


def newest_recorded(snapshot: Snapshot) -> dict[str, str]:
    """Return path → SHA-256 of every mart file, by the newest `evaluations` row that names it."""
    rows = snapshot.read("evaluations").sort("_commit", "evaluation_id", "seq")
    pairs = rows.select("mart_paths", "mart_sha256").collect()
    return {
        path: sha256
        for paths, hashes in pairs.iter_rows()
        for path, sha256 in zip(paths, hashes, strict=True)
    }


def _staging(workspace: Workspace) -> Iterator[Finding]:
    for folder in workspace.staging.dead():
        plan = marts.read_plan(folder)
        if plan is None:
            what = f".staging/{folder.name} was left by a command that did not end"
        else:
            what = f".staging/{folder.name}: {len(plan.moves)} mart files wait to be moved"
        yield Finding(level="warn", what=what, fix=REPAIR)


def _journals(workspace: Workspace) -> Iterator[Finding]:
    for folder, records in abandoned(workspace.layout):
        if records:
            yield Finding(
                level="warn",
                what=f".journal/{folder.name}: {len(records)} verdicts wait to be committed",
                fix="say the judging command again: it commits them first",
            )


def _catalog(workspace: Workspace) -> Iterator[Finding]:
    if not catalog.is_current(workspace.layout, workspace.tables):
        yield Finding(
            level="warn",
            what="catalog.duckdb and views.sql are not of these tables at this place",
            fix=REPAIR,
        )
