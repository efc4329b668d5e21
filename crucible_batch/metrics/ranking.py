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
        group, doc, order, position (Int64, from 1), by group and position.
    """
    if not _is_ordered(rows):
        rows = rows.sort("group", "order", "doc", descending=[False, True, True])
    if _has_repeats(rows):
        first = rows.group_by("group", maintain_order=True).agg(pl.col("doc").is_first_distinct())
        rows = rows.filter(first.explode("doc")["doc"])
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    is_head = (pl.col("group") != pl.col("group").shift(1)).fill_null(value=True)
    head = pl.when(is_head).then(place).forward_fill()
    return rows.with_columns(position=place - head + 1)


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


def _has_repeats(rows: pl.DataFrame) -> bool:
    """Whether a document stands twice in a ranking."""
    distinct = rows.group_by("group").agg(pl.col("doc").n_unique())
    return bool(distinct["doc"].sum() < rows.height)
