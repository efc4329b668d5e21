"""Fingerprints: what rows, files and golden sets are, in 64 hex digits.

A content fingerprint is a function of the values alone: not of files, row groups, row order, chunk
sizes or the version of Polars or DuckDB. Its bytes are defined here and nowhere else:

* rows are sorted by the key, nulls first, text by its UTF-8 bytes;
* every column feeds three SHA-256 streams, one row after the other: *valid* (one byte per row,
  0 null, 1 value), *lengths* (little-endian uint32 per row: bytes of a text, items of a list) and
  *data* (little-endian int64, IEEE float64 with -0.0 as 0.0, one byte per Boolean, microseconds
  since 1970 for a time, UTF-8 for text; a null is 0 or empty). A list feeds its items to three
  streams of their own;
* the fingerprint is SHA-256 over `crucible.rows.1 LF`, the number of rows, and per column its name
  and the digests of its streams, as compact JSON.

Independent streams per column are what makes the result independent of how rows come in pieces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from crucible_batch.contracts import Table

_FILE_BLOCK = 1 << 20
_LANE = ("workspace_id", "query_id", "target", "source", "judge")
_PIECE = 100_000
"""Rows copied at a time; pieces change nothing."""


def canonical_json(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, UTF-8 kept as it is."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes, as 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as 64 hex digits; reads it in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_FILE_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def key_hash(prefix: str, length: int, parts: Sequence[object]) -> str:
    """Return `prefix` + `length` hex digits of SHA-256 of the parts as a compact JSON list."""
    return prefix + text_sha256(canonical_json(list(parts)))[:length]


def qrel_id(workspace_id: str, query_id: str, target: str, source: str, judge: str) -> str:
    """Return a judgment's id: `q` + 26 hex of SHA-256 of its key as a compact JSON list."""
    return key_hash("q", 26, (workspace_id, query_id, target, source, judge))


def qrel_ids(lanes: pl.DataFrame) -> pl.Series:
    """Return `qrel_id` of many judgments at once.

    Args:
        lanes: workspace_id, query_id, target, source and judge; texts without nulls.

    A million ids take seconds: each text is quoted once, and lists are put together by column.
    """
    quoted = [_quoted(lanes[name]) for name in _LANE]
    lists = lanes.select(pl.format("[{},{},{},{},{}]", *quoted)).to_series()
    ids = ["q" + hashlib.sha256(text.encode()).hexdigest()[:26] for text in lists]
    return pl.Series("qrel_id", ids, dtype=pl.String)


def _quoted(texts: pl.Series) -> pl.Series:
    """The texts as JSON strings, as `canonical_json` writes them."""
    distinct = texts.unique()
    strings = pl.Series([encode_basestring(text) for text in distinct], dtype=pl.String)
    return texts.replace_strict(distinct, strings, return_dtype=pl.String)


class RowFingerprint:
    """A content fingerprint that takes rows piece by piece, in key order.

    Memory: one piece. Rows of another order give another fingerprint, so sort first
    (`content_fingerprint`) or read a file the store has sorted.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = {name: _ColumnStreams() for name in columns}
        self.n_rows = 0

    def update(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add rows; columns that are not fingerprinted are ignored."""
        for name, streams in self._columns.items():
            column = rows.column(name)
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
                streams.update(chunk)
        self.n_rows += rows.num_rows

    def hexdigest(self) -> str:
        """Return the fingerprint of the rows so far, as 64 hex digits."""
        body = [[name, streams.digests()] for name, streams in self._columns.items()]
        return text_sha256("crucible.rows.1\n" + canonical_json([self.n_rows, body]))


def content_fingerprint(rows: pl.DataFrame | Iterable[pl.DataFrame], table: Table) -> str:
    """Return the fingerprint of rows given in any order and any pieces.

    Args:
        rows: Frames with the table's columns; `_commit` and other extra columns are ignored.
        table: Contract that says which columns are content and which are the key.

    Memory: the rows once, sorted. Files of any size go through `Snapshot.fingerprint`.
    """
    frames = [rows] if isinstance(rows, pl.DataFrame) else list(rows)
    fingerprint = RowFingerprint(table.content)
    if frames:
        content = pl.concat([frame.select(table.content) for frame in frames])
        content = content.sort(*table.key, nulls_last=False)
        fingerprint.update(content.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return fingerprint.hexdigest()


def frame_fingerprint(rows: pl.DataFrame) -> str:
    """Return the fingerprint of all columns of rows that stand in an order of their own.

    Words of an Enum count as text.
    """
    fingerprint = RowFingerprint(rows.columns)
    for piece in rows.iter_slices(_PIECE):
        text = piece.cast({pl.Enum: pl.String})
        fingerprint.update(text.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return fingerprint.hexdigest()


def combined_hash(parts: Mapping[str, object]) -> str:
    """Return SHA-256 over the canonical JSON of named parts, e.g. one fingerprint per table."""
    return text_sha256(canonical_json(dict(parts)))


class _ColumnStreams:
    """The three streams of one column, and those of its items when it holds lists."""

    def __init__(self) -> None:
        self._valid, self._lengths, self._data = (hashlib.sha256() for _ in range(3))
        self._items: _ColumnStreams | None = None

    def update(self, array: pa.Array) -> None:
        if len(array) == 0:
            return
        valid = _valid(array)
        self._valid.update(_raw(valid))
        kind = array.type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            self._lengths.update(_raw(_lengths(array, valid)))
            self._items = self._items or _ColumnStreams()
            self._items.update(array.flatten())
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            self._update_text(array, valid)
        else:
            self._data.update(_raw(_fixed_width(array, valid)))

    def _update_text(self, array: pa.Array, valid: np.ndarray[Any, Any]) -> None:
        offsets = _offsets(array)
        lengths = np.diff(offsets)
        if not valid.all() and lengths[valid == 0].any():
            # Arrow leaves open what a null's bytes are; here they are none.
            self._update_text(array.fill_null(""), np.ones_like(valid))
            return
        self._lengths.update(_raw(lengths.astype("<u4")))
        if (data := array.buffers()[2]) is not None:
            self._data.update(memoryview(data)[int(offsets[0]) : int(offsets[-1])])

    def digests(self) -> list[Any]:
        """Hex digests of the streams; items last, as a list of their own."""
        own = [stream.hexdigest() for stream in (self._valid, self._lengths, self._data)]
        return [*own, self._items.digests()] if self._items else own


def _raw(values: np.ndarray[Any, Any]) -> memoryview:
    return np.ascontiguousarray(values).data


def _bits(buffer: pa.Buffer, start: int, n: int) -> np.ndarray[Any, Any]:
    """`n` bits of an Arrow bitmap, a byte each."""
    first = start // 8
    some = np.frombuffer(buffer, np.uint8)[first : (start + n + 7) // 8]
    return np.unpackbits(some, bitorder="little")[start - 8 * first :][:n]


def _valid(array: pa.Array) -> np.ndarray[Any, Any]:
    """1 per value and 0 per null; `pyarrow.compute` would import pandas where it is there."""
    if not array.null_count:
        return np.ones(len(array), np.uint8)
    return _bits(array.buffers()[0], array.offset, len(array))


def _offsets(array: pa.Array) -> np.ndarray[Any, Any]:
    large = pa.types.is_large_string(array.type) or pa.types.is_large_list(array.type)
    offsets = np.frombuffer(array.buffers()[1], "<i8" if large else "<i4")
    return offsets[array.offset :][: len(array) + 1]


def _lengths(array: pa.Array, valid: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Items of every list, 0 for a null."""
    lengths: np.ndarray[Any, Any] = np.diff(_offsets(array)) * valid
    return lengths.astype("<u4")


def _fixed_width(array: pa.Array, valid: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the values of a number, Boolean or time column, little-endian, nulls as zero."""
    if pa.types.is_boolean(array.type):
        flags: np.ndarray[Any, Any] = _bits(array.buffers()[1], array.offset, len(array)) * valid
        return flags
    floating = pa.types.is_floating(array.type)
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", "UTC")).view(pa.int64())
    values = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())
    values = values[array.offset :][: len(array)].astype("<f8" if floating else "<i8")
    # Whatever stands behind a null counts as zero; adding 0.0 turns -0.0 into 0.0.
    values = np.where(valid == 1, values, values.dtype.type(0))
    return values + 0.0 if floating else values
