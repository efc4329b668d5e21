"""Builds the `ranking` grain: rankings and grades become one row of facts per result.

The work is cut into buckets of whole rankings that fit the processor's cache, mapped over threads.
A result never depends on its bucket, so bucket size and threads change no bit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.ranking import found, pair_hash, ranked, ties

BUCKET_ROWS = 150_000
"""Ranking rows of a bucket, about; a ranking is never cut in two."""


@dataclass(frozen=True)
class Unjudged:
    """What unjudged documents might have been.

    Attributes:
        grade: The top grade of the scale.
        cuts: Cut-offs up to which they count; None is the whole list.
    """

    grade: int
    cuts: tuple[int | None, ...]


def columns_read(metrics: Iterable[Metric]) -> set[str]:
    """The columns that the expressions and null rules of `metrics` read."""
    exprs = [e for m in metrics for e in (m.expr, *(null.expr for null in m.nulls))]
    return {name for expr in exprs for name in expr.meta.root_names()}


@dataclass(frozen=True, eq=False)
class Rankings:
    """The `ranking` grain of a set of results, as judged and as it might have been.

    Attributes:
        frame: One row per result, in the order given, with the asked columns of the grain.
        optimistic: By cut-off (None: the whole list), the same frame with every unjudged document
            up to the cut-off counted as judged with the top grade.
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
            `n_placed`). In the other frames `group` (UInt32) is its row number.
        rows: What was retrieved: `group`, `doc`, `order` (larger is better), and `document` when
            `doc` is a chunk.
        judged: Effective grades: `group`, `doc` (unique together), `grade` from 0 on, `source`.
        relevant_at: Smallest grade that counts as relevant.
        columns: The columns of the grain to build; the others are left out.
        required: Documents that citations require: `group`, `doc` (unique together).
        unjudged: What unjudged documents might have been; None leaves that out.
        bucket_rows: About how many ranking rows are worked on at a time.
    """
    results = results.with_row_index("group")
    tables = [_by_group(t) for t in (rows, judged, required) if t is not None]
    cuts = _cuts(results.height, tables[0]["group"], bucket_rows)
    edges = [table["group"].search_sorted(pl.Series(cuts, dtype=pl.UInt32)) for table in tables]
    work = partial(_bucket, relevant_at=relevant_at, columns=columns, unjudged=unjudged)
    buckets = [
        [t[int(e[i]) : int(e[i + 1])] for t, e in zip(tables, edges, strict=True)]
        for i in range(len(cuts) - 1)
    ]
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        done = list(pool.map(lambda bucket: work(*bucket), buckets))
    frame, *optimistic = (_complete(results, view, columns) for view in zip(*done, strict=True))
    cut_offs = unjudged.cuts if unjudged is not None else ()
    return Rankings(frame=frame, optimistic=dict(zip(cut_offs, optimistic, strict=True)))


def stretches(ids: pl.Series) -> pl.DataFrame:
    """Runs of equal ids: `value` and `len`. Rows of a query usually stand together."""
    return ids.rle().struct.unnest()


def codes(runs: pl.DataFrame, keys: pl.Series) -> npt.NDArray[np.int32]:
    """The place in `keys` (unique) of every id of `stretches`, -1 for one that is not there."""
    # Looked up once per stretch, not once per row.
    known = pl.DataFrame({"value": keys}).with_row_index("place")
    places = runs.join(known, on="value", how="left", maintain_order="left")["place"]
    return np.repeat(places.cast(pl.Int32).fill_null(-1).to_numpy(), runs["len"].to_numpy())


def _by_group(table: pl.DataFrame) -> pl.DataFrame:
    """`table` with the rows of a group together, in ascending order of groups."""
    return table if table["group"].is_sorted() else table.sort("group")


def _cuts(n_results: int, group: pl.Series, bucket_rows: int) -> list[int]:
    """Result numbers at which buckets begin, and the end; at least one bucket."""
    runs = stretches(group)
    counts = np.zeros(n_results, np.int64)
    counts[runs["value"].to_numpy()] = runs["len"].to_numpy()
    ends = np.cumsum(counts)
    cuts = [0]
    while cuts[-1] < n_results:
        done = ends[cuts[-1] - 1] if cuts[-1] else 0
        step = int(np.searchsorted(ends, done + bucket_rows, side="right"))
        cuts.append(max(cuts[-1] + 1, step))
    return cuts if n_results else [0, 0]


def _bucket(
    rows: pl.DataFrame,
    judged: pl.DataFrame,
    required: pl.DataFrame | None = None,
    *,
    relevant_at: int,
    columns: Collection[str],
    unjudged: Unjudged | None,
) -> list[list[pl.DataFrame]]:
    """Tables of facts of some results, as judged and then once per cut-off of `unjudged`."""
    ranking = ranked(rows)
    counts = [_counts(rows, ranking)]
    if required is not None:
        counts += _required(ranking, required)
    if "tied" in columns:
        counts.append(_lists(ties(ranking), {"tied": pl.col("position")}))
    placed = found(ranking, judged)
    views = [(judged.select("group", "grade"), placed)]
    if unjudged is not None:
        every = _at_best(ranking, placed, unjudged.grade)
        views += [_up_to(k, judged, every) for k in unjudged.cuts]
    return [
        [*counts, _facts(grades, relevant_at), _places(at, relevant_at)] for grades, at in views
    ]


def _complete(
    results: pl.DataFrame, buckets: Sequence[Sequence[pl.DataFrame]], columns: Collection[str]
) -> pl.DataFrame:
    """`results` with the asked columns; what no table speaks of takes the column's default."""
    frame = results
    for parts in zip(*buckets, strict=True):
        fresh = [c for c in parts[0].columns if c == "group" or c in columns]
        facts = pl.concat(part.select(fresh) for part in parts)
        frame = frame.join(facts, on="group", how="left", maintain_order="left")
    frame = frame.drop("group")
    return frame.with_columns(
        pl.col(name).fill_null(pl.lit(column.default, dtype=column.dtype))
        if name in frame.columns
        else pl.lit(column.default, dtype=column.dtype).alias(name)
        for name, column in RANKING.columns.items()
        if name in columns
    )


def _counts(rows: pl.DataFrame, ranking: pl.DataFrame) -> pl.DataFrame:
    """How many documents each ranking holds and how many rows it lost."""
    # The same rankings stand in the same order in both, and none loses its first document.
    given, kept = stretches(rows["group"]), stretches(ranking["group"])
    return kept.select(
        group="value",
        n_retrieved=pl.col("len").cast(pl.Int64),
        n_dropped=given["len"].cast(pl.Int64) - pl.col("len").cast(pl.Int64),
    )


def _required(ranking: pl.DataFrame, required: pl.DataFrame) -> list[pl.DataFrame]:
    """How many documents citations require, and where they stand (the first chunk of each)."""
    targets = required.with_row_index("target")
    if "document" in ranking.columns:
        ranking = ranking.select("group", "position", doc="document").with_columns(pair_hash())
    placed = found(ranking, targets).unique("target", keep="first", maintain_order=True)
    return [
        required.group_by("group").agg(n_required=pl.len().cast(pl.Int64)),
        _lists(placed, {"required": pl.col("position")}),
    ]


def _at_best(ranking: pl.DataFrame, placed: pl.DataFrame, grade: int) -> pl.DataFrame:
    """Every retrieved document, in rank order, the unjudged as if they had `grade`."""
    on = ["group", "position"]
    every = ranking.select(on).join(placed, on=on, how="left", maintain_order="left")
    return every.with_columns(
        pl.col("grade").fill_null(grade),
        pl.col("source").fill_null("unjudged"),
        assumed=pl.col("grade").is_null(),
    )


def _up_to(
    k: int | None, judged: pl.DataFrame, every: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Grades and places when the unjudged documents of the first `k` count as judged."""
    places = every
    if k is not None:
        places = every.filter(~pl.col("assumed") | (pl.col("position") <= k))
    assumed = places.filter("assumed").select("group", "grade")
    return pl.concat([judged.select("group", "grade"), assumed]), places


def _facts(grades: pl.DataFrame, relevant_at: int) -> pl.DataFrame:
    """What the judgments alone say, whatever was retrieved."""
    grade = pl.col("grade")
    return grades.group_by("group").agg(
        n_relevant=(grade >= relevant_at).sum().cast(pl.Int64),
        n_nonrelevant=(grade < relevant_at).sum().cast(pl.Int64),
        ideal=grade.filter(grade > 0).sort(descending=True),
    )


def _places(placed: pl.DataFrame, relevant_at: int) -> pl.DataFrame:
    """Where judged documents stand, as lists in rank order."""
    position, grade = pl.col("position"), pl.col("grade")
    relevant = grade >= relevant_at
    return _lists(
        placed,
        {
            "judged": position,
            "judged_by_llm": position.filter(pl.col("source") == "llm"),
            "found": position.filter(grade > 0),
            "found_grades": grade.filter(grade > 0),
            "relevant": position.filter(relevant),
            "nonrelevant_above": (~relevant).cast(pl.Int64).cum_sum().filter(relevant),
        },
    )


def _lists(placed: pl.DataFrame, exprs: dict[str, pl.Expr]) -> pl.DataFrame:
    """Collect documents in rank order into one row of lists per result."""
    return placed.group_by("group", maintain_order=True).agg(
        expr.alias(name) for name, expr in exprs.items()
    )
