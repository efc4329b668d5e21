"""Builds the `ranking` grain: rankings and grades become one row of facts per result.

The work is cut into buckets of whole rankings, mapped over threads: large enough that the price of
a call does not count, small enough for the processor's cache. A
result never depends on its bucket, so bucket size and threads change no bit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.ranking import Ints
from crucible_batch.metrics.ranking_facts import Unjudged, bucket_facts

BUCKET_ROWS = 400_000
"""Ranking rows of a bucket, about; a ranking is never cut in two."""


def columns_read(metrics: Iterable[Metric]) -> set[str]:
    """The columns that the expressions and null rules of `metrics` read."""
    exprs = [e for m in metrics for e in (m.expr, *(null.expr for null in m.nulls))]
    return {name for expr in exprs for name in expr.meta.root_names()}


@dataclass(frozen=True, eq=False)
class Rankings:
    """The `ranking` grain of a set of results, as judged and as it might have been.

    Attributes:
        frame: One row per result, in the order given, with the asked columns of the grain.
        optimistic: By cut-off (None: the whole list), what metrics of this cut-off read if every
            unjudged document counted as judged with the top grade.
    """

    frame: pl.DataFrame
    optimistic: dict[int | None, pl.DataFrame]


def ranking_frame(
    results: pl.DataFrame,
    rows: pl.DataFrame,
    judged: pl.DataFrame,
    *,
    relevant_at: int,
    columns: Collection[str],
    required: pl.DataFrame | None = None,
    unjudged: Unjudged | None = None,
    bucket_rows: int = BUCKET_ROWS,
) -> Rankings:
    """Gather the facts that retrieval metrics read.

    Args:
        results: One row per expected result; whatever is known of it (key, state, `n_qrels`,
            `n_placed`). In the other frames `group` (UInt32) is its row number, from 0.
        rows: What was retrieved: `group`, `doc`, `order` (larger is better), and `document` when
            `doc` is a chunk.
        judged: Effective grades: `group`, `doc` (unique together), `grade` from 0 on, `source`.
        relevant_at: Smallest grade that counts as relevant.
        columns: The columns of the grain to build; the others are left out.
        required: Documents that citations require: `group`, `doc` (unique together).
        unjudged: What unjudged documents might have been; None leaves that out.
        bucket_rows: About how many ranking rows are worked on at a time.
    """
    tables = [_by_group(t) for t in (rows, judged, required) if t is not None]
    bounds = cuts(_counts(results.height, tables[0]["group"]), bucket_rows)
    edges = [table["group"].search_sorted(pl.Series(bounds, dtype=pl.UInt32)) for table in tables]

    def work(bucket: int) -> list[pl.DataFrame]:
        inside = [
            table[int(edge[bucket]) : int(edge[bucket + 1])]
            for table, edge in zip(tables, edges, strict=True)
        ]
        return bucket_facts(
            bounds[bucket],
            bounds[bucket + 1],
            *inside,
            relevant_at=relevant_at,
            columns=columns,
            unjudged=unjudged,
        )

    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        views = zip(*pool.map(work, range(len(bounds) - 1)), strict=True)
    best = unjudged.views if unjudged is not None else {}
    frame, *optimistic = (
        complete(results, pl.concat(view), read)
        for view, read in zip(views, [columns, *best.values()], strict=True)
    )
    return Rankings(frame=frame, optimistic=dict(zip(best, optimistic, strict=True)))


def stretches(ids: pl.Series) -> pl.DataFrame:
    """Stretches of equal ids: `value` (of categories the text) and `len`.

    Rows of a query usually stand together.
    """
    part = -(-len(ids) // pl.thread_pool_size())
    if part < BUCKET_ROWS:
        return _stretches(ids)
    starts = range(0, len(ids), part)
    with ThreadPoolExecutor(len(starts)) as pool:
        runs = pl.concat(pool.map(lambda start: _stretches(ids[start : start + part]), starts))
    # A stretch that was cut stands there in two rows.
    begins = np.flatnonzero((runs["value"] != runs["value"].shift()).fill_null(value=True))
    lengths = np.add.reduceat(runs["len"].to_numpy(), begins, dtype=np.uint32)
    return pl.DataFrame({"len": lengths, "value": runs["value"].gather(begins)})


def _stretches(ids: pl.Series) -> pl.DataFrame:
    if ids.dtype not in (pl.Categorical, pl.Enum):
        return ids.rle().struct.unnest()
    # NumPy compares the numbers of categories in half of the time.
    numbers = ids.to_physical().to_numpy()
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    begins = np.concatenate([[0], changes]) if len(numbers) else changes
    lengths = np.diff(begins, append=len(numbers)).astype(np.uint32)
    return pl.DataFrame({"len": lengths, "value": ids.gather(begins).cast(pl.String)})


def codes(runs: pl.DataFrame, keys: pl.Series) -> npt.NDArray[np.int32]:
    """The place in `keys` (unique) of every id of `stretches`, -1 for one that is not there."""
    # Looked up once per stretch, not once per row; or not at all, when every id is one stretch.
    if runs["value"].equals(keys):
        places = np.arange(len(keys), dtype=np.int32)
    else:
        known = pl.DataFrame({"value": keys}).with_row_index("place")
        found = runs.join(known, on="value", how="left", maintain_order="left")["place"]
        places = found.cast(pl.Int32).fill_null(-1).to_numpy()
    return np.repeat(places, runs["len"].to_numpy())


def _by_group(table: pl.DataFrame) -> pl.DataFrame:
    """`table` with the rows of a group together, in ascending order of groups."""
    return table if table["group"].is_sorted() else table.sort("group")


def _counts(n_results: int, group: pl.Series) -> Ints:
    """Ranking rows of every result."""
    runs = stretches(group)
    counts = np.zeros(n_results, np.int64)
    counts[runs["value"].to_numpy()] = runs["len"].to_numpy()
    return counts


def cuts(counts: Ints, bucket_rows: int) -> list[int]:
    """Numbers of the results at which buckets begin, and the end; at least one bucket.

    Args:
        counts: Ranking rows of every result.
        bucket_rows: About how many rows a bucket has.
    """
    ends, n_results = np.cumsum(counts), len(counts)
    bounds = [0]
    while bounds[-1] < n_results:
        done = ends[bounds[-1] - 1] if bounds[-1] else 0
        step = int(np.searchsorted(ends, done + bucket_rows, side="right"))
        bounds.append(max(bounds[-1] + 1, step))
    return bounds if n_results else [0, 0]


def complete(results: pl.DataFrame, facts: pl.DataFrame, columns: Collection[str]) -> pl.DataFrame:
    """`results` with the asked columns; one that nothing speaks of takes the column's default."""
    asked = {name: column for name, column in RANKING.columns.items() if name in columns}
    absent = [
        pl.lit(column.default, dtype=column.dtype).alias(name)
        for name, column in asked.items()
        if name not in facts.columns and name not in results.columns
    ]
    made = [
        # A cast copies lists also where they are of the type already.
        facts[name] if facts.schema[name] == column.dtype else facts[name].cast(column.dtype)
        for name, column in asked.items()
        if name in facts.columns
    ]
    return results.hstack(made).with_columns(absent)
