"""Batches of a run and its judgments become one row of facts per query."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
import polars as pl

from crucible_batch.ahead import in_order
from crucible_batch.metrics.grades import Granularity, distinct, place, resolve
from crucible_batch.metrics.query_batches import Batch
from crucible_batch.metrics.ranking import Ints, hashes
from crucible_batch.metrics.ranking_facts import bucket_facts
from crucible_batch.metrics.ranking_frame import codes, complete, stretches


@dataclass(frozen=True, eq=False)
class Judgments:
    """Judgments by query; which grade of a document is effective is found for a batch at a time.

    Attributes:
        queries: Every query with judgments, once; each has a `place` here.
        n_qrels: Judgments of each, of any kind, and 0 at the end: for a query without any.
        rows: `target`, `grade`, `source` of those that have a target of the granularity, by place.
        lengths: Rows of each, and 0.
        begins: The first row of each.
    """

    queries: pl.Series
    n_qrels: Ints
    rows: pl.DataFrame
    lengths: Ints
    begins: Ints

    @classmethod
    def of(cls, qrels: pl.DataFrame, level: Granularity) -> Judgments:
        """Order the judgments of `read_qrels` by query."""
        runs = stretches(qrels["query_id"])
        queries = runs["value"].unique(maintain_order=True)
        code = codes(runs, queries)
        # From here on a query is its place.
        rows = place(qrels.with_columns(query_id=code), None, level)
        if not rows["query_id"].is_sorted():
            rows = rows.sort("query_id")
        n_qrels = np.bincount(code, minlength=len(queries) + 1)
        lengths = n_qrels
        if rows.height < qrels.height:
            lengths = np.bincount(rows["query_id"].to_numpy(), minlength=len(queries) + 1)
        return cls(
            queries=queries,
            # Judgments of documents say nothing about chunks: such a query has none.
            n_qrels=lengths if level == "chunk" else n_qrels,
            rows=rows.select("target", "grade", "source"),
            lengths=lengths,
            begins=np.cumsum(lengths) - lengths,
        )

    def places(self, queries: pl.Series, likely: int) -> Ints:
        """The place of each query, -1 for one without judgments.

        Args:
            queries: Their ids.
            likely: Where they stand if run and judgments list queries in one order, as they
                mostly do: then nothing is looked up.
        """
        if self.queries[likely : likely + len(queries)].equals(queries):
            return np.arange(likely, likely + len(queries))
        known = pl.DataFrame({"query": self.queries}).with_row_index("place")
        asked = pl.DataFrame({"query": queries})
        found = asked.join(known, on="query", how="left", maintain_order="left")["place"]
        return found.cast(pl.Int64).fill_null(-1).to_numpy()

    def at(self, places: Ints, first_group: int) -> pl.DataFrame:
        """The effective grades of the queries at `places`.

        Returns:
            `group`, the number of the query counted from a group, ascending; `doc`, `grade`;
            `hash` of group and document if it was made.
        """
        lengths, begins = self.lengths[places], self.begins[places]
        ends = np.cumsum(lengths)
        group = np.arange(first_group, first_group + len(places), dtype=np.uint32)
        if len(places) and places[0] >= 0 and (np.diff(places) == 1).all():
            rows = self.rows[int(begins[0]) : int(begins[0] + ends[-1])]
        else:
            offsets = np.repeat(begins - ends + lengths, lengths)
            rows = self.rows[offsets + np.arange(len(offsets))]
        group = np.repeat(group, lengths)
        made = hashes(group, rows["target"])
        if distinct(made) and rows["grade"].to_numpy().min(initial=0) >= 0:
            targets = [rows["target"].alias("doc"), rows["grade"]]
            return pl.DataFrame([pl.Series("group", group), *targets, pl.Series("hash", made)])
        effective = resolve(rows.with_columns(query_id=group))
        if not effective["query_id"].is_sorted():
            effective = effective.sort("query_id")
        return effective.rename({"query_id": "group", "target": "doc"})


def facts_of_queries(
    batches: Iterable[Batch],
    judgments: Future[Judgments],
    *,
    relevant_at: int,
    columns: Collection[str],
) -> pl.DataFrame:
    """Gather the facts that retrieval metrics read, of every query ranked or judged.

    Args:
        batches: The run; few batches are held at a time.
        judgments: The judgments, which may still be made.
        relevant_at: Smallest grade that counts as relevant.
        columns: The columns of the `ranking` grain to build.

    Returns:
        query_id, n_qrels, n_placed and the columns: ranked queries as they come, then those that
        are judged only.
    """

    def work(numbered: tuple[Batch, int]) -> tuple[pl.Series, Ints, pl.DataFrame]:
        batch, start = numbered
        judged = judgments.result()
        places = judged.places(batch.queries, start)
        (facts,) = bucket_facts(
            start,
            start + len(places),
            batch.numbered(start),
            judged.at(places, start),
            relevant_at=relevant_at,
            columns=columns,
            unjudged=None,
        )
        return batch.queries, places, facts

    every = _numbered(_and_judged_only(batches, judgments))
    queries, places, facts = zip(*in_order(work, every, pl.thread_pool_size()), strict=True)
    place, judged = np.concatenate(places), judgments.result()
    results = {
        "query_id": pl.concat(queries),
        "n_qrels": judged.n_qrels[place],
        "n_placed": judged.lengths[place],
    }
    return complete(pl.DataFrame(results), pl.concat(facts), columns)


def _numbered(batches: Iterable[Batch]) -> Iterator[tuple[Batch, int]]:
    """The batches, and how many queries stand before each."""
    start = 0
    for batch in batches:
        yield batch, start
        start += len(batch.queries)


def _and_judged_only(batches: Iterable[Batch], judgments: Future[Judgments]) -> Iterator[Batch]:
    """The batches, and then one of all judged queries that none of them held."""
    ranked = [pl.Series(dtype=pl.String)]
    for batch in batches:
        ranked.append(batch.queries)
        yield batch
    judged = judgments.result().queries
    only = judged.filter(~judged.is_in(pl.concat(ranked).implode()))
    if len(only) or len(ranked) == 1:
        nothing = pl.DataFrame(schema={"doc": pl.String, "order": pl.Float64})
        yield Batch(only, np.zeros(len(only), np.int64), nothing)
