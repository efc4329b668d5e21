"""Rankings: rows in rank order, repeats dropped, positions counted from 1."""

from __future__ import annotations

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
    # Repeats have equal hashes, so as many hashes as rows means that there is none.
    if rows["hash"].n_unique() < rows.height:
        first = rows.group_by("group", maintain_order=True).agg(pl.col("doc").is_first_distinct())
        rows = rows.filter(first.explode("doc")["doc"])
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    is_head = (pl.col("group") != pl.col("group").shift(1)).fill_null(value=True)
    head = pl.when(is_head).then(place).forward_fill()
    return rows.with_columns(position=place - head + 1)


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
    group, order, docs = rows["group"], rows["order"], rows["doc"]
    same, before = group == group.shift(1), order.shift(1)
    if (same & (order > before)).any():
        return False
    tied = (same & (order == before)).arg_true()
    return bool((docs.gather(tied) <= docs.gather(tied - 1)).all())
