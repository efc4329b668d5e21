"""Bulk files between staging and commit: written once, compared with what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load.existing import refuse_changed
from crucible_batch.contracts import TABLES, Table
from crucible_batch.errors import ConflictError
from crucible_batch.store import BulkFile, Snapshot, Workspace, content_fingerprint


def stage(
    workspace: Workspace, good: Mapping[str, Sequence[Path]], subject: str, part: str | None = None
) -> list[BulkFile]:
    """Sort the good pieces of every bulk table that has rows into a file that can be committed."""
    return [
        workspace.stage_bulk(name, paths, subject, part)
        for name, paths in sorted(good.items())
        if paths and pl.scan_parquet(list(paths), glob=False).select(pl.len()).collect().item()
    ]


def is_stored(snapshot: Snapshot, file: BulkFile, known: Sequence[str | None]) -> bool:
    """Whether the file's part is stored already, with the same rows.

    Args:
        snapshot: What is committed now.
        file: A staged file.
        known: Parts that were there when the file's rows were compared with earlier parts.

    Raises:
        ConflictError: It is stored with other rows, or another load stored a part meanwhile.
    """
    table, parts = TABLES[file.table], snapshot.parts(file.table, file.subject)
    if file.part not in parts:
        if set(parts) != set(known):
            raise ConflictError(
                f"Another load stored {file.table} of {file.subject!r} meanwhile",
                fix="run the command again: its rows are compared with what is there now.",
            )
        return False
    stored = part_rows(snapshot, table, file.subject, file.part).collect()
    if content_fingerprint(stored, table) == file.fingerprint:
        return True
    offered = pl.read_parquet(file.path)
    refuse_changed(table, offered, stored)
    raise _other_rows(table, file, offered, stored)


def part_rows(snapshot: Snapshot, table: Table, subject: str, part: str | None) -> pl.LazyFrame:
    """The stored rows of one part; None is the part without a name."""
    numbers = snapshot.commits_with(table.name, subject=subject)
    parts = snapshot.parts(table.name, subject)
    own = [number for number, name in zip(numbers, parts, strict=True) if name == part]
    rows = snapshot.read(table.name, subject=subject).filter(pl.col("_commit").is_in(own))
    return rows.drop("_commit")


def _other_rows(
    table: Table, file: BulkFile, offered: pl.DataFrame, stored: pl.DataFrame
) -> ConflictError:
    key = list(table.key)
    more = offered.join(stored, on=key, how="anti", nulls_equal=True)
    fewer = stored.join(offered, on=key, how="anti", nulls_equal=True)
    shown = [f"only in the input: {row}" for row in more.select(key).head(3).to_dicts()]
    shown += [f"only in the store: {row}" for row in fewer.select(key).head(3).to_dicts()]
    return ConflictError(
        f"{table.name} of {file.subject!r} is already stored with other rows "
        f"({more.height:,} only in the input, {fewer.height:,} only in the store)",
        problems=shown,
        fix="load further rows of a run as a part (--part NAME), other output under another id.",
    )
