"""Parquet files in the shape of a contract table, read a bounded number of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.conform import META, conform
from crucible_batch.errors import ContractError
from crucible_batch.formats.arrow import to_polars
from crucible_batch.formats.chunk import Chunk, Findings
from crucible_batch.formats.sources import Source, unreadable
from crucible_batch.formats.verbs import Verb, choose_table, undecided

CHUNK_ROWS = 500_000
CHUNK_BYTES = 1 << 28
"""Rows of long texts come in smaller chunks."""

IGNORED = frozenset({"_commit", *META})
"""Columns of lake and quarantine files: a mended quarantine file can be loaded as it is."""


def read_parquet(source: Source, verb: Verb, findings: Findings) -> Iterator[Chunk]:
    """Read one Parquet file; the columns `IGNORED` are dropped.

    Args:
        source: The file. Its name, its folder or its columns say which table it holds.
        verb: What is loaded.
        findings: Learns that the table is reported, with rows or without.

    Yields:
        Chunks of at most `CHUNK_ROWS` rows; none for a file without rows.

    Raises:
        ContractError: The file is not Parquet, cut off, of a table that cannot be told, or breaks
            the table's contract as a whole (missing, unknown or impossible columns).
    """
    try:
        with pq.ParquetFile(source.path) as file:
            columns = [name for name in file.schema_arrow.names if name not in IGNORED]
            _require_distinct(source, columns)
            table = choose_table(source.path, verb, columns)
            if table is None:
                raise undecided(source.name, verb, columns)
            findings.reported.add(table)
            yield from _chunks(source, file, table, columns, findings)
    except pa.ArrowInvalid as error:
        raise ContractError(
            f"{source.name} is not a Parquet file, or is cut off",
            problems=[str(error)],
            fix="write it again; for another format say --format",
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise unreadable(source.name, error) from error


def _require_distinct(source: Source, columns: list[str]) -> None:
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise ContractError(
            f"{source.name} has columns of one name",
            problems=[f"column {name!r} stands {columns.count(name)} times" for name in twice],
            fix="give each column a name of its own",
        )


def _chunks(
    source: Source, file: pq.ParquetFile, table: str, columns: list[str], findings: Findings
) -> Iterator[Chunk]:
    if file.metadata.num_rows == 0:  # its columns still have to keep the contract
        empty = pa.RecordBatch.from_pylist([], schema=file.schema_arrow).select(columns)
        conform(TABLES[table], to_polars(empty, source.name, findings), source=source.name)
        return
    first_row = 1
    for batch in file.iter_batches(batch_size=_batch_rows(file), columns=columns):
        frame = to_polars(batch, source.name, findings)
        yield Chunk(table, conform(TABLES[table], frame, source=source.name, first_row=first_row))
        first_row += batch.num_rows


def _batch_rows(file: pq.ParquetFile) -> int:
    """Rows a chunk may have so that it stays near `CHUNK_BYTES` of decoded columns."""
    meta = file.metadata
    n_bytes: int = sum(meta.row_group(at).total_byte_size for at in range(meta.num_row_groups))
    n_rows: int = meta.num_rows
    return max(1, min(CHUNK_ROWS, CHUNK_BYTES * n_rows // max(n_bytes, 1)))
