"""A run in batches of whole queries: what one thread works on at a time.

What can be made of a batch alone is made there, beside other batches: columns of the whole run
take memory that is not in the cache, and one core's time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from crucible_batch.metrics.ranking import Ints
from crucible_batch.metrics.ranking_frame import BUCKET_ROWS, codes, cuts, stretches


@dataclass(frozen=True, eq=False)
class Batch:
    """Rankings of some queries, none of them in another batch.

    Attributes:
        queries: Their ids, each once.
        lengths: Rows of each.
        rows: `doc`, `order` (larger is better), by query.
    """

    queries: pl.Series
    lengths: Ints
    rows: pl.DataFrame

    def numbered(self, first: int) -> pl.DataFrame:
        """The rows with `group`, the number of their query, counted from `first`."""
        numbers = np.arange(first, first + len(self.queries), dtype=np.uint32)
        return self.rows.hstack([pl.Series("group", np.repeat(numbers, self.lengths))])

    def then(self, more: Batch) -> Batch:
        """The batch and another one, whose first query may be the last of this one."""
        queries, lengths = more.queries, more.lengths.copy()
        before = len(self.queries)
        if self.queries[-1] == queries[0]:
            before -= 1
            lengths[0] += self.lengths[-1]
        return Batch(
            pl.concat([self.queries[:before], queries]),
            np.concatenate([self.lengths[:before], lengths]),
            pl.concat([self.rows, more.rows]),
        )

    def cut(self, edges: Iterable[int]) -> Iterator[Batch]:
        """The queries from each edge up to the next one."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        for start, stop in itertools.pairwise(edges):
            inside = self.rows[int(ends[start]) : int(ends[stop])]
            yield Batch(self.queries[start:stop], self.lengths[start:stop], inside)


class Scattered(Exception):  # noqa: N818 - no error: the run is read as a whole instead
    """A run cannot be taken piece by piece: rows of a query stand apart, or a value is wrong."""


def joined_up(pieces: Iterable[pl.DataFrame]) -> Iterator[Batch]:
    """A run that comes in pieces, in batches; no piece is held longer than it is needed.

    Args:
        pieces: `query_id`, `doc`, `order`; a query may begin in one and go on in the next.

    Raises:
        Scattered: The rows of a query stand apart; at the end, if they are in different pieces.
    """
    seen: list[pl.Series] = []
    rest: Batch | None = None
    for piece in pieces:
        here = _stretched(piece)
        if not len(here.queries):
            continue
        if here.queries.n_unique() < len(here.queries):
            raise Scattered
        whole = here if rest is None else rest.then(here)
        last = len(whole.queries) - 1
        if last:
            yield from whole.cut([0, last])
        seen.append(whole.queries[:last])
        # Its last query may go on.
        (rest,) = whole.cut([last, last + 1])
    if rest is not None:
        seen.append(rest.queries)
        yield rest
    if seen and (every := pl.concat(seen)).n_unique() < len(every):
        raise Scattered


def in_batches(frame: pl.DataFrame) -> Iterator[Batch]:
    """Cut rows in memory, in any order, into batches.

    Args:
        frame: `query_id`, `doc`, `order`.
    """
    runs = stretches(frame["query_id"])
    rows, queries = frame.drop("query_id"), runs["value"]
    lengths = runs["len"].to_numpy().astype(np.int64)
    once = queries.unique(maintain_order=True)
    if len(once) < len(queries):
        queries = once
        code = codes(runs, queries)
        rows = rows.with_columns(code=code).sort("code").drop("code")
        lengths = np.bincount(code, minlength=len(queries))
    yield from Batch(queries, lengths, rows).cut(cuts(lengths, _share(rows.height)))


def _stretched(rows: pl.DataFrame) -> Batch:
    """A batch of rows as they stand: a query whose rows stand apart is in it twice."""
    runs = stretches(rows["query_id"])
    lengths = runs["len"].to_numpy().astype(np.int64)
    return Batch(runs["value"], lengths, rows[["doc", "order"]])


def _share(n_rows: int) -> int:
    """Rows of a batch: about as many as a bucket has, and no thread has a batch more to do."""
    rounds = -(-n_rows // (pl.thread_pool_size() * BUCKET_ROWS))
    return max(1, -(-n_rows // max(1, rounds * pl.thread_pool_size())))
