"""The run of `retrieval_scores`: whatever the caller holds, as rows to rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from crucible_batch.errors import ContractError
from crucible_batch.metrics.frames import RUN, Field, check_values, checked, narrowed, open_table
from crucible_batch.metrics.grades import Granularity
from crucible_batch.metrics.query_batches import Scattered
from crucible_batch.metrics.ranking_frame import BUCKET_ROWS
from crucible_batch.pieces import InPieces

ORDERS = ("score", "rank")
DUPLICATES = ("first", "refuse")

_FIX_REPEATS = 'Leave the repeats out, or pass duplicates="first" to keep the best-ranked one.'


@dataclass(eq=False)
class RunRows:
    """A run that is open, to be read as `query_id`, `doc`, `order` (larger is better).

    Query ids are text, or categories if they were.

    Attributes:
        lazy: Its rows.
        orders: The columns that may order it, the first that holds values does.
        level: Whether documents or chunks are ranked.
        refuse_repeats: Whether a repeated chunk is an error.
        ignore_identical_ids: Drop documents whose id is the query's own.
        is_scan: Whether they are still to be read.
        n_seen: How many of them were read so far: a source may give them only once.
    """

    lazy: pl.LazyFrame
    orders: list[str]
    level: Granularity
    refuse_repeats: bool
    ignore_identical_ids: bool
    is_scan: bool
    n_seen: int = 0

    @classmethod
    def open(
        cls,
        run: Any,
        level: Granularity,
        order: str,
        duplicates: str,
        *,
        ignore_identical_ids: bool,
    ) -> RunRows:
        """Open what the caller holds; see `retrieval_scores`.

        Raises:
            ContractError: It is no table, or lacks a column.
        """
        lazy = open_table(run, RUN, "run")
        there = lazy.collect_schema().names()
        orders = [name for name in ORDERS if name in there and order in {"score", name}]
        if not orders:
            raise ContractError(
                f"run has no column {' or '.join(ORDERS) if order == 'score' else order}",
                fix="Say how documents are ordered: a score (higher is better) or a rank (from 1).",
            )
        return cls(
            lazy,
            orders,
            level,
            refuse_repeats=duplicates == "refuse",
            ignore_identical_ids=ignore_identical_ids,
            is_scan=isinstance(run, pl.LazyFrame),
        )

    def read(self) -> pl.DataFrame:
        """Read the rows.

        Raises:
            ContractError: A value breaks its column's promise, a chunk is repeated and that is
                refused, or there is no chunk_id and chunks are asked for.
        """
        by = self.orders[0]
        frame = self._read(by)
        if len(self.orders) > 1 and frame.height and frame[by].null_count() == frame.height:
            by = self.orders[1]
            frame = self._read(by)
        return self._shaped(_ordered(frame, by), by)

    def _read(self, by: str) -> pl.DataFrame:
        narrow, fields = self._narrowed(by)
        frame = narrow.collect()
        if frame.height < self.n_seen:
            raise ContractError(
                f"run has {frame.height:,} rows when it is read again, before it had at least"
                f" {self.n_seen:,}",
                fix="It can be read only once: collect it, and pass the DataFrame.",
            )
        self.n_seen = frame.height
        return _checked(frame, fields)

    @contextmanager
    def pieces(self) -> Iterator[Iterator[pl.DataFrame]]:
        """Read the rows a piece at a time; reading begins at once and stays ahead.

        Memory that a piece took is used again by the next one, while it is in the cache: pages
        touched for the first time cost as much as what is computed on them.

        Raises:
            ContractError: A column is of the wrong type.
            Scattered: They are in memory already, or repeats of chunks have to be counted; while
                reading, a value breaks its column's promise.
        """
        if not self.is_scan or self.refuse_repeats:
            raise Scattered
        by = self.orders[0]
        narrow, fields = self._narrowed(by)
        with InPieces(narrow, BUCKET_ROWS) as read:
            yield self._pieces(read, fields, by)

    def _pieces(
        self, read: Iterable[pl.DataFrame], fields: Sequence[Field], by: str
    ) -> Iterator[pl.DataFrame]:
        for piece in read:
            self.n_seen += piece.height
            try:
                yield self._shaped(_ordered(_checked(piece, fields), by), by)
            except ContractError as error:
                # It counts the rows of a piece: who reads all of them names the right ones.
                raise Scattered from error

    def _narrowed(self, by: str) -> tuple[pl.LazyFrame, list[Field]]:
        chunks = {"chunk_id"} if self.level == "chunk" or self.refuse_repeats else set()
        return narrowed(self.lazy, RUN, "run", {"query_id", "doc_id", by, *chunks})

    def _shaped(self, frame: pl.DataFrame, by: str) -> pl.DataFrame:
        if self.ignore_identical_ids:
            frame = frame.filter(pl.col("doc_id") != pl.col("query_id"))
        if self.level == "document" and "chunk_id" in frame.columns:
            frame = _refuse_repeated_chunks(frame, by)
        target = frame["doc_id"]
        if self.level == "chunk":
            if "chunk_id" not in frame.columns:
                raise ContractError(
                    "run has no column chunk_id, which granularity='chunk' ranks",
                    fix="Add chunk_id, or score documents.",
                )
            chunk = pl.coalesce("chunk_id", pl.concat_str(pl.lit("doc:"), "doc_id"))
            target = frame.select(chunk).to_series()
        order = frame[by] if by == "score" else -frame[by].cast(pl.Float64)
        return pl.DataFrame([frame["query_id"], target.alias("doc"), order.alias("order")])


def _checked(frame: pl.DataFrame, fields: Sequence[Field]) -> pl.DataFrame:
    # Only stretches of equal query ids are looked at: codes will do.
    return checked(frame, fields, "run", coded=["query_id"])


def _ordered(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """`frame`, of which no row lacks what orders it."""
    if frame[by].has_nulls():
        field = next(field for field in RUN if field.name == by)
        check_values(frame[by], replace(field, nullable=False), "run")
    return frame


def _refuse_repeated_chunks(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """Refuse a chunk that a query ranks twice; several chunks of a document are no repeat.

    Returns:
        The best chunk of every document.
    """
    key = ["query_id", "doc_id", "chunk_id"]
    repeats = frame.filter(pl.struct(key).is_first_distinct().not_())
    if repeats.height:
        raise ContractError(
            f"run has {repeats.height:,} duplicate ({', '.join(key)})",
            problems=[str(row) for row in repeats.select(key).iter_rows()],
            fix=_FIX_REPEATS,
        )
    best = pl.col(by).arg_max() if by == "score" else pl.col(by).arg_min()
    return frame.group_by(key[:2]).agg(pl.all().get(best))


def refuse_repeats(rows: pl.DataFrame) -> None:
    """Name the documents that a query ranks twice.

    Raises:
        ContractError: Always; call it when there is one.
    """
    pairs = rows.select("query_id", "doc").filter(
        pl.struct("query_id", "doc").is_first_distinct().not_()
    )
    raise ContractError(
        f"run has {pairs.height:,} duplicate (query_id, doc_id)",
        problems=[str(pair) for pair in pairs.iter_rows()],
        fix=_FIX_REPEATS,
    )
