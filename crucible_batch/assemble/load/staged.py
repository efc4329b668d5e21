"""Bulk files between staging and commit: written once, compared with what is stored.

Staged and stored files are sorted by key, so they are compared piece by piece and never held in
memory as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load.existing import OvertakenError, refuse_changed
from crucible_batch.contracts import TABLES, Table
from crucible_batch.errors import ConflictError
from crucible_batch.pieces import InPieces
from crucible_batch.store import BulkFile, Snapshot, Workspace
from crucible_batch.store.fingerprint import RowFingerprint

BATCH_ROWS = 100_000


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
        ConflictError: It is stored with other rows.
        OvertakenError: Another load stored some of its rows, in another part, meanwhile.
    """
    table, parts = TABLES[file.table], snapshot.parts(file.table, file.subject)
    if file.part in parts:
        stored = part_rows(snapshot, table, file.subject, file.part)
        if _fingerprint(table, stored) == file.fingerprint:
            return True
        _refuse_difference(table, file, stored)
    for part in set(parts) - set(known):
        _refuse_overlap(table, file, part_rows(snapshot, table, file.subject, part))
    return False


def part_rows(snapshot: Snapshot, table: Table, subject: str, part: str | None) -> pl.LazyFrame:
    """The stored rows of one part, sorted by key; None is the part without a name."""
    numbers = snapshot.commits_with(table.name, subject=subject)
    parts = snapshot.parts(table.name, subject)
    own = [number for number, name in zip(numbers, parts, strict=True) if name == part]
    rows = snapshot.read(table.name, subject=subject).filter(pl.col("_commit").is_in(own))
    return rows.drop("_commit")


def _fingerprint(table: Table, sorted_rows: pl.LazyFrame) -> str:
    fingerprint = RowFingerprint(table.content)
    with InPieces(sorted_rows.select(table.content), BATCH_ROWS) as batches:
        for batch in batches:
            fingerprint.update(batch.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return fingerprint.hexdigest()


def _refuse_overlap(table: Table, file: BulkFile, stored: pl.LazyFrame) -> None:
    mine = pl.scan_parquet(file.path, glob=False).select(table.key)
    both = mine.join(stored.select(table.key), on=list(table.key), how="semi", nulls_equal=True)
    if both.select(pl.len()).collect(engine="streaming").item():
        raise OvertakenError(
            f"Another load stored some of the same {table.name} of {file.subject!r} meanwhile",
            fix="run the command again: its rows are compared with what is there now.",
        )


def _refuse_difference(table: Table, file: BulkFile, stored: pl.LazyFrame) -> None:
    """Raise, naming the first difference: a changed row, a row more, or a row less."""
    key = list(table.key)
    by = next(name for name in key if name not in {"workspace_id", table.subject})
    n_more, shown = 0, []
    with InPieces(pl.scan_parquet(file.path, glob=False), BATCH_ROWS) as offered:
        for batch in offered:
            ends = (pl.lit(batch[by].min()), pl.lit(batch[by].max()))
            near = stored.filter(pl.col(by).is_between(*ends)).collect()
            refuse_changed(table, batch, near)
            more = batch.join(near, on=key, how="anti", nulls_equal=True, maintain_order="left")
            n_more += more.height
            shown += [f"only in the input: {row}" for row in more.select(key).head(3).to_dicts()]
    n_stored = stored.select(pl.len()).collect().item()
    n_fewer = n_stored - (file.n_rows - n_more)
    raise ConflictError(
        f"{table.name} of {file.subject!r} is already stored with other rows "
        f"({n_more:,} only in the input, {n_fewer:,} only in the store)",
        problems=shown[:3],
        fix="load further rows of a run as a part (--part NAME), and other output under another "
        "run id or corpus version.",
    )
