"""Rankings: rows in rank order, repeats dropped, positions counted from 1."""

from __future__ import annotations

import numpy as np
import polars as pl


def ranked(rows: pl.DataFrame) -> pl.DataFrame:
    """Bring rows into rank order: `order` descending, then `doc` descending bytewise.

    That is trec_eval's order, in float64. A document counts at its first occurrence and the
    ranking closes up behind later ones.

    Args:
        rows: `group` (UInt32, which ranking), `doc` (String), `order` (Float64, finite); rows of
            a group stand together, in any order.

    Returns:
        The columns of `rows`, hash (see `pair_hash`) and position (Int64, from 1), by group and
        position.
    """
    if not _is_ordered(rows):
        rows = rows.sort("group", "order", "doc", descending=[False, True, True])
    rows = rows.with_columns(pair_hash())
    # Repeats have equal hashes, so hashes that all differ mean that there is none. NumPy sorts
    # them faster than they are counted.
    hashes = np.sort(rows["hash"].to_numpy())
    if (hashes[1:] == hashes[:-1]).any():
        first = rows.group_by("group", maintain_order=True).agg(pl.col("doc").is_first_distinct())
        rows = rows.filter(first.explode("doc")["doc"])
    lengths = rows["group"].rle().struct.field("len").to_numpy().astype(np.int64)
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return rows.with_columns(position=pl.Series(np.arange(1, rows.height + 1) - before))


def found(ranking: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """Find documents in their rankings.

    Args:
        ranking: `group`, `doc`, `position` and `hash` of these two.
        targets: `group`, `doc` and whatever else; unique in these two.

    Returns:
        group, position and the other columns of the targets that were retrieved, in rank order.
    """
    # Equal hashes only propose a pair; the ids decide. Joining on two columns takes twice as long.
    pairs = ranking.select("hash", "group", "doc", "position").join(
        targets.with_columns(pair_hash()), on="hash", suffix="_of_target"
    )
    same = (pl.col("group") == pl.col("group_of_target")) & (
        pl.col("doc") == pl.col("doc_of_target")
    )
    columns = ["group", "position", *(c for c in targets.columns if c not in {"group", "doc"})]
    return pairs.filter(same).select(columns).sort("group", "position")


def pair_hash() -> pl.Expr:
    """A hash of (group, doc): equal pairs have equal hashes."""
    return (pl.col("group").hash() ^ pl.col("doc").hash()).alias("hash")


def ties(rows: pl.DataFrame) -> pl.DataFrame:
    """Positions of `ranked` rows whose `score` equals that of the next one."""
    return rows.filter(
        (pl.col("score") == pl.col("score").shift(-1))
        & (pl.col("group") == pl.col("group").shift(-1))
    ).select("group", "position")


def _is_ordered(rows: pl.DataFrame) -> bool:
    """Whether rows stand in rank order; document ids are compared only in ties."""
    group, order, docs = rows["group"].to_numpy(), rows["order"].to_numpy(), rows["doc"]
    same = group[1:] == group[:-1]
    if (same & (order[1:] > order[:-1])).any():
        return False
    tied = np.flatnonzero(same & (order[1:] == order[:-1]))
    return bool((docs.gather(tied + 1) <= docs.gather(tied)).all())
