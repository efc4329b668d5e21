"""Builds the `ranking` grain: rankings and grades become one row of facts per result."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import polars as pl

from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.ranking import Ranking


def columns_read(metrics: Iterable[Metric]) -> set[str]:
    """The columns that the expressions and null rules of `metrics` read."""
    exprs = [e for m in metrics for e in (m.expr, *(null.expr for null in m.nulls))]
    return {name for expr in exprs for name in expr.meta.root_names()}


def ranking_frame(
    results: pl.DataFrame,
    ranking: Ranking,
    judged: pl.DataFrame,
    *,
    relevant_at: int,
    columns: Collection[str],
    required: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Gather the facts that retrieval metrics read.

    Args:
        results: One row per expected result: `group` (UInt32, unique), and whatever else is known
            of it (key, state, `n_qrels`, `n_placed`).
        ranking: What the results retrieved, by `group`.
        judged: Effective grades: `group`, `doc` (unique together), `grade` from 0 on, `source`.
        relevant_at: Smallest grade that counts as relevant.
        columns: The columns of the grain to build; the others are left out.
        required: Documents that citations require: `group`, `doc` (unique together).

    Returns:
        `results` in their order, with the asked columns of the grain.
    """
    built = [
        ranking.results.drop("start"),
        _facts(judged, relevant_at, columns),
        _places(ranking, judged, relevant_at, columns),
    ]
    if required is not None:
        built += [
            required.group_by("group").agg(n_required=pl.len().cast(pl.Int64)),
            _lists(ranking.positions(required), {"required": pl.col("position")}),
        ]
    if "tied" in columns:
        built.append(_lists(ranking.ties(), {"tied": pl.col("position")}))
    frame = results
    for facts in built:
        fresh = [c for c in facts.columns if c == "group" or (c in columns and c not in frame)]
        frame = frame.join(facts.select(fresh), on="group", how="left", maintain_order="left")
    return frame.with_columns(
        pl.col(name).fill_null(pl.lit(column.default, dtype=column.dtype))
        if name in frame.columns
        else pl.lit(column.default, dtype=column.dtype).alias(name)
        for name, column in RANKING.columns.items()
        if name in columns
    )


def _facts(judged: pl.DataFrame, relevant_at: int, columns: Collection[str]) -> pl.DataFrame:
    """What the judgments alone say, whatever was retrieved."""
    grade = pl.col("grade")
    exprs = {
        "n_relevant": (grade >= relevant_at).sum().cast(pl.Int64),
        "n_nonrelevant": (grade < relevant_at).sum().cast(pl.Int64),
        "ideal": grade.filter(grade > 0).sort(descending=True),
    }
    asked = [expr.alias(name) for name, expr in exprs.items() if name in columns]
    return judged.group_by("group").agg(asked)


def _places(
    ranking: Ranking, judged: pl.DataFrame, relevant_at: int, columns: Collection[str]
) -> pl.DataFrame:
    """Where judged documents stand, as lists in rank order."""
    position, grade = pl.col("position"), pl.col("grade")
    relevant = grade >= relevant_at
    exprs = {
        "judged": position,
        "judged_by_llm": position.filter(pl.col("source") == "llm"),
        "found": position.filter(grade > 0),
        "found_grades": grade.filter(grade > 0),
        "relevant": position.filter(relevant),
        "nonrelevant_above": (~relevant).cast(pl.Int64).cum_sum().filter(relevant),
    }
    asked = {name: expr for name, expr in exprs.items() if name in columns}
    return _lists(ranking.positions(judged), asked)


def _lists(placed: pl.DataFrame, exprs: dict[str, pl.Expr]) -> pl.DataFrame:
    """Collect placed documents, sorted by group and position, into one row per ranking."""
    return placed.group_by("group", maintain_order=True).agg(
        expr.alias(name) for name, expr in exprs.items()
    )
