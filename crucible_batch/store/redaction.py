"""Taking texts out of committed files: the one operation that touches them.

Keys, grades and counts stay, so every number stays what it was. A file is written aside and renamed
over the old one; the manifest of its commit is renewed first and knows both, so that a crash in
between is told from damage and the same command finishes it. Content fingerprints and golden hashes
on record stay those of the texts that were there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from crucible_batch.contracts import Kind, Table
from crucible_batch.contracts.vocabulary import REDACTED
from crucible_batch.store import durable, parquet
from crucible_batch.store.fingerprint import canonical_json, file_sha256
from crucible_batch.store.layout import COMMIT_NAME, Layout

MANIFEST = "crucible.manifest"
SUFFIX = ".parquet"
JSON_REDACTED = canonical_json(REDACTED)
"""What stands in a column of JSON texts."""


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """Which texts of a table are taken out.

    Attributes:
        where: The rows.
        columns: Their text columns.
    """

    where: pl.Expr
    columns: tuple[str, ...]


def rows_left(
    layout: Layout, tables: Mapping[str, Table], wanted: Mapping[str, Redaction]
) -> dict[str, int]:
    """Count the rows that still hold such a text, by table; tables without any are left out.

    Args:
        layout: Paths of the workspace.
        tables: Contracts.
        wanted: Table to what is taken out of it.
    """
    return _by_table(_affected(layout, tables, wanted))


def rewrite(
    layout: Layout,
    tables: Mapping[str, Table],
    wanted: Mapping[str, Redaction],
    staging: Path,
) -> dict[str, int]:
    """Replace the texts; the caller holds the workspace's lock alone.

    Args:
        layout: Paths of the workspace.
        tables: Contracts.
        wanted: Table to what is taken out of it.
        staging: A folder of the same file system.

    Returns:
        Table to the rows that were changed.
    """
    done = _affected(layout, tables, wanted)
    by_folder: dict[Path, list[str]] = {}
    for path in done:
        by_folder.setdefault(path.parent, []).append(path.name.removesuffix(SUFFIX))
    for folder, names in by_folder.items():
        fresh = {name: staging / f"{folder.name}-{name}{SUFFIX}" for name in names}
        for name, aside in fresh.items():
            _write(folder / f"{name}{SUFFIX}", aside, tables[name], wanted[name])
        _renew_manifest(folder, fresh, wanted, staging)
        for name, aside in fresh.items():
            durable.replace(aside, folder / f"{name}{SUFFIX}")
    return _by_table(done)


def _affected(
    layout: Layout, tables: Mapping[str, Table], wanted: Mapping[str, Redaction]
) -> dict[Path, int]:
    """The committed files that hold such texts still, each with its rows of them."""
    found = {}
    for path in _files(layout, wanted):
        table = tables[path.name.removesuffix(SUFFIX)]
        touched = _touched(path, table, wanted[table.name])
        n_rows = _scan(path).filter(touched).select(pl.len()).collect().item()
        if n_rows:
            found[path] = int(n_rows)
    return found


def _by_table(files: Mapping[Path, int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for path, n_rows in files.items():
        name = path.name.removesuffix(SUFFIX)
        counts[name] = counts.get(name, 0) + n_rows
    return counts


def redacted_rows(commits: Path) -> dict[str, int]:
    """Table to the rows of it that were redacted, by the manifest of a commit."""
    manifest = json.loads(parquet.footer_of(commits).get(MANIFEST, "{}"))
    return {name: said["redacted"] for name, said in manifest.items() if "redacted" in said}


def _files(layout: Layout, wanted: Mapping[str, Redaction]) -> Iterator[Path]:
    for folder in sorted(layout.lake.iterdir()):
        if COMMIT_NAME.fullmatch(folder.name):
            paths = (folder / f"{name}{SUFFIX}" for name in sorted(wanted))
            yield from (path for path in paths if path.is_file())


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _columns(path: Path, redaction: Redaction) -> list[str]:
    """The text columns; a file of an earlier contract version may lack one."""
    there = parquet.schema_of(path)
    return [name for name in redaction.columns if name in there]


def _touched(path: Path, table: Table, redaction: Redaction) -> pl.Expr:
    says_something = [
        _without_text(table, name) != pl.col(name) for name in _columns(path, redaction)
    ]
    return redaction.where & pl.any_horizontal(*says_something, pl.lit(value=False)).fill_null(
        value=False
    )


def _without_text(table: Table, name: str) -> pl.Expr:
    """The column with its texts replaced; null and blank ones stay, for they say nothing."""
    instead = pl.lit(JSON_REDACTED if table.column(name).kind is Kind.JSON else REDACTED)

    def replaced(text: pl.Expr) -> pl.Expr:
        return pl.when(text.str.strip_chars() != "").then(instead).otherwise(text)

    if table.column(name).kind is Kind.WORDS:
        return pl.col(name).list.eval(replaced(pl.element()))
    return replaced(pl.col(name))


def _write(path: Path, aside: Path, table: Table, redaction: Redaction) -> None:
    """The file with its texts replaced: same rows, same order, same row groups, same footer."""
    footer = {n: v for n, v in parquet.footer_of(path).items() if n.startswith("crucible.")}
    groups = pq.read_metadata(path)
    columns = [
        pl.when(redaction.where)
        .then(_without_text(table, name))
        .otherwise(pl.col(name))
        .alias(name)
        for name in _columns(path, redaction)
    ]
    _scan(path).with_columns(columns).sink_parquet(
        aside,
        compression="zstd",
        row_group_size=groups.row_group(0).num_rows if groups.num_row_groups else None,
        metadata=footer,
        maintain_order=True,
    )
    durable.seal(aside)


def _renew_manifest(
    folder: Path, fresh: Mapping[str, Path], wanted: Mapping[str, Redaction], staging: Path
) -> None:
    """Let the commit know the new files, and the old ones until they are replaced."""
    commits = folder / f"commits{SUFFIX}"
    footer = parquet.footer_of(commits)
    manifest: dict[str, dict[str, Any]] = json.loads(footer[MANIFEST])
    for name, aside in fresh.items():
        manifest[name] |= {
            "before": file_sha256(folder / f"{name}{SUFFIX}"),
            "sha256": file_sha256(aside),
            "redacted": _n_redacted(aside, wanted[name]),
        }
    aside = staging / f"{folder.name}-commits{SUFFIX}"
    kept = {name: text for name, text in footer.items() if name.startswith("crucible.")}
    pl.read_parquet(commits, glob=False, hive_partitioning=False).write_parquet(
        aside, compression="zstd", metadata=kept | {MANIFEST: canonical_json(manifest)}
    )
    durable.seal(aside)
    durable.replace(aside, commits)


def _n_redacted(path: Path, redaction: Redaction) -> int:
    """Rows of a file that say `[redacted]` somewhere, whoever asked for it."""
    there = _scan(path).select(_columns(path, redaction)).collect()
    says = [
        (
            pl.col(name).list.contains(REDACTED)
            if isinstance(dtype, pl.List)
            else pl.col(name).is_in([REDACTED, JSON_REDACTED])
        )
        for name, dtype in there.schema.items()
    ]
    return there.filter(pl.any_horizontal(says)).height
