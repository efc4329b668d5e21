"""Rankings: rows in rank order, repeats dropped, and where given documents stand in them.

The hot path. A run has many rows and few of them are judged, so document ids are never moved:
rows are ordered through numbers, documents are found through a hash of (ranking, document) that is
then verified on the ids themselves, and a position is a subtraction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crucible_batch.errors import ContractError

_INDEX = pl.UInt32()


@dataclass(frozen=True, eq=False)
class Ranking:
    """A run in rank order.

    Attributes:
        source: The rows as given: `group` (UInt32, which ranking), `doc`, `order`, and `hash` of
            the first two.
        rows: Which source row stands in which place, ranking after ranking, best first: `row`
            (UInt32, index into `source`) and `group`.
        results: One row per ranking: `group`, `start` (its first place), `n_retrieved` and
            `n_dropped` (Int64).
    """

    source: pl.DataFrame
    rows: pl.DataFrame
    results: pl.DataFrame

    def positions(self, targets: pl.DataFrame) -> pl.DataFrame:
        """Find documents in their rankings.

        Args:
            targets: `group`, `doc` and anything else; unique in these two.

        Returns:
            The rows of `targets` that were retrieved, without `doc`, with `position` (Int64, from
            1), sorted by group and position.
        """
        wanted = targets.select(pair_hash()).with_row_index("target")
        rows = self.source.lazy().select("hash").with_row_index("row")
        pairs = rows.join(wanted.lazy(), on="hash").collect()
        found = targets[pairs["target"]]
        # Equal hashes only propose a pair; the ids decide.
        same = (found["doc"] == self.source["doc"].gather(pairs["row"])) & (
            found["group"] == self.source["group"].gather(pairs["row"])
        )
        found = found.drop("doc").with_columns(place=self._places(pairs["row"]))
        return self._count_from_one(found.filter(same))

    def ties(self) -> pl.DataFrame:
        """Places whose order value equals that of the next one: `group` and `position`."""
        places = self.rows.select("group", order=self.source["order"].gather(self.rows["row"]))
        tied = (pl.col("order") == pl.col("order").shift(-1)) & (
            pl.col("group") == pl.col("group").shift(-1)
        )
        ends = places.with_row_index("place").filter(tied).drop("order")
        return self._count_from_one(ends)

    def _places(self, row: pl.Series) -> pl.Series:
        """The places of source rows, null where a row was dropped as a repeat."""
        if self.rows.height == self.source.height and in_place(self.rows["row"]):
            return row
        place = np.full(self.source.height, -1, dtype=np.int64)
        place[self.rows["row"].to_numpy()] = np.arange(self.rows.height)
        found = pl.Series(place[row.to_numpy()])
        return found.set(found < 0, None)

    def _count_from_one(self, placed: pl.DataFrame) -> pl.DataFrame:
        """Turn places of the whole run into positions of each ranking."""
        starts = self.results.select("group", "start")
        return (
            placed.drop_nulls("place")
            .join(starts, on="group")
            .with_columns(position=pl.col("place").cast(pl.Int64) - pl.col("start") + 1)
            .drop("place", "start")
            .sort("group", "position")
        )


def pair_hash() -> pl.Expr:
    """A hash of (group, doc): equal pairs have equal hashes."""
    return (pl.col("group").hash() ^ pl.col("doc").hash()).alias("hash")


def rank(rows: pl.DataFrame) -> Ranking:
    """Bring rows into rank order: `order` descending, then `doc` descending bytewise.

    That is trec_eval's order, in float64. A document counts at its first occurrence and the
    ranking closes up behind later ones.

    Args:
        rows: `group` (UInt32, which ranking), `doc` (String), `order` (Float64, finite); any row
            order.
    """
    source = rows.select("group", "doc", "order", pair_hash())
    ready = _is_grouped(source["group"]) and _is_ordered(source)
    ranked = source.select("group").with_row_index("row") if ready else _ordered(source)
    kept = _first_occurrences(source, ranked)
    return Ranking(source=source, rows=kept, results=_summary(ranked, kept))


def refuse_repeats(ranking: Ranking, keys: pl.Series, name: str) -> None:
    """Refuse a run that ranks a document twice.

    Args:
        ranking: The ranked run.
        keys: The id of every group.
        name: What the caller calls the run.

    Raises:
        ContractError: Names the repeated documents.
    """
    source = ranking.source.select("group", "doc").with_row_index("row")
    repeats = source.join(ranking.rows, on="row", how="anti")
    if repeats.height:
        pairs = zip(keys.gather(repeats["group"]), repeats["doc"], strict=True)
        raise ContractError(
            f"{name} has {repeats.height:,} duplicate (query_id, doc_id)",
            problems=[f"({query!r}, {doc!r})" for query, doc in pairs],
            fix='Leave the repeats out, or pass duplicates="first" to keep the best-ranked one.',
        )


def in_place(row: pl.Series) -> bool:
    """Whether rows stand in their places already."""
    return bool(np.array_equal(row.to_numpy(), np.arange(len(row), dtype=np.uint32)))


def _is_grouped(group: pl.Series) -> bool:
    """Whether the rows of every ranking stand together."""
    stretches = group.rle().struct.field("value")
    return stretches.n_unique() == len(stretches)


def _is_ordered(source: pl.DataFrame) -> bool:
    """Whether grouped rows stand in rank order; document ids are compared only in ties."""
    group, order, docs = source["group"], source["order"], source["doc"]
    same, before = group == group.shift(1), order.shift(1)
    if (same & (order > before)).any():
        return False
    tied = (same & (order == before)).arg_true()
    return bool((docs.gather(tied) <= docs.gather(tied - 1)).all())


def _ordered(source: pl.DataFrame) -> pl.DataFrame:
    """`row` and `group` in rank order, for rows in any order."""
    by_value = pl.col("order").list.eval(pl.element().arg_sort(descending=True))
    ranked = (
        source.lazy()
        .select("group", "order")
        .with_row_index("row")
        .group_by("group", maintain_order=True)
        .agg("row", "order")
        .select("group", pl.col("row").list.gather(by_value))
        .explode("row")
        .select("row", "group")
        .collect(engine="in-memory")
    )
    return _break_ties(source, ranked)


def _break_ties(source: pl.DataFrame, ranked: pl.DataFrame) -> pl.DataFrame:
    """Order equal values by document id, descending; moves nothing else."""
    order, group = source["order"].gather(ranked["row"]), ranked["group"]
    with_next = (order == order.shift(-1)) & (group == group.shift(-1))
    tied = (with_next | with_next.shift(1)).fill_null(value=False).arg_true()
    if not len(tied):
        return ranked
    # A block of equal values keeps its places: `block` numbers them in rank order.
    starts = ~with_next.shift(1).fill_null(value=False)
    blocks = ranked[tied].with_columns(block=starts.cum_sum().gather(tied))
    blocks = blocks.with_columns(doc=source["doc"].gather(blocks["row"]))
    row = ranked["row"].to_numpy().copy()
    row[tied.to_numpy()] = blocks.sort("block", "doc", descending=[False, True])["row"].to_numpy()
    return ranked.with_columns(row=pl.Series(row, dtype=_INDEX))


def _first_occurrences(source: pl.DataFrame, ranked: pl.DataFrame) -> pl.DataFrame:
    """Drop every later occurrence of a document in its ranking."""
    # Repeats have equal hashes, so as many hashes as rows means that there is none.
    distinct = source.group_by("group").agg(pl.col("hash").n_unique())
    if distinct["hash"].sum() == ranked.height:
        return ranked
    docs = ranked.select("group", doc=source["doc"].gather(ranked["row"]))
    first = docs.group_by("group", maintain_order=True).agg(pl.col("doc").is_first_distinct())
    return ranked.filter(first.explode("doc")["doc"])


def _summary(ranked: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    """One row per ranking: its first place, documents kept and rows dropped."""
    # Rankings stand one after the other in both, and none loses its first document.
    given, counts = ranked["group"].rle(), kept["group"].rle()
    lengths = pl.DataFrame(
        {
            "group": counts.struct.field("value"),
            "n_retrieved": counts.struct.field("len").cast(pl.Int64),
            "given": given.struct.field("len").cast(pl.Int64),
        }
    )
    return lengths.select(
        "group",
        start=pl.col("n_retrieved").cum_sum() - pl.col("n_retrieved"),
        n_retrieved="n_retrieved",
        n_dropped=pl.col("given") - pl.col("n_retrieved"),
    )
