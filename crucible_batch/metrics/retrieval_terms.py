"""Terms of the retrieval metrics: their null rules and the expressions their formulas share.

Sums run over the positive gains in rank order, and the ideal goes through the same expression, so
that a perfect ranking is exactly 1.0.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from crucible_batch.metrics.nulls import RESULT_NULLS, Null

UNANSWERABLE = Null("unanswerable", ~pl.col("answerable") & (pl.col("n_qrels") == 0))
NO_RELEVANT = Null("no_relevant_judged", (pl.col("n_placed") > 0) & (pl.col("n_relevant") == 0))
NO_GAIN = Null("no_relevant_judged", (pl.col("n_placed") > 0) & (pl.col("ideal").list.len() == 0))
NO_REQUIRED = Null("no_required_citations", pl.col("n_required") == 0)
RETRIEVED = (
    *RESULT_NULLS,
    Null("contexts_provided", ~pl.col("retrieval_ran")),
    Null("not_reported", ~pl.col("retrieval_reported")),
)
NOTHING_RETRIEVED = Null("nothing_retrieved", pl.col("n_retrieved") == 0)
JUDGED = (
    Null("no_qrels", pl.col("n_qrels") == 0),
    Null("unplaced", pl.col("n_placed") == 0),
)
ON_JUDGED = (UNANSWERABLE, *RETRIEVED, *JUDGED)
ON_RELEVANT = (UNANSWERABLE, NO_RELEVANT, *RETRIEVED, *JUDGED)
ON_GAIN = (UNANSWERABLE, NO_GAIN, *RETRIEVED, *JUDGED)


def in_top(positions: str, k: int | pl.Expr) -> pl.Expr:
    """Count the positions of a list column that are at most `k`."""
    return (pl.col(positions) - k).list.eval(pl.element() <= 0).list.sum()


def share_of(counts: pl.Expr, k: int) -> pl.Expr:
    """Divide counts by `k`, rounding once.

    From two rows on Polars multiplies a column by the reciprocal of a single number, which rounds
    twice: a result would depend on what stands beside it. By a column it divides.
    """
    return counts / counts.clip(k, k)


def first(positions: str) -> pl.Expr:
    """The best position of a list column, null when the list is empty."""
    return pl.col(positions).list.first()


def ranks(lists: pl.Expr) -> pl.Expr:
    """1, 2, 3, … beside the values of each list."""
    # A range inside `list.eval` is made list by list, twelve times as slow.
    return pl.int_ranges(1, lists.list.len() + 1)


def discounted(gains: pl.Expr, positions: pl.Expr) -> pl.Expr:
    """Sum of gain / log2(position + 1), in rank order."""
    return (gains / positions.list.eval((pl.element() + 1).log(2))).list.sum()


def precisions_at(positions: pl.Expr) -> pl.Expr:
    """Sum of the precisions at each of the relevant `positions`, in rank order."""
    return (ranks(positions) / positions).list.sum()


def normalised_gain(gains: Callable[[pl.Expr], pl.Expr], k: int | None) -> pl.Expr:
    """DCG over the ideal DCG of all judged documents, both cut at `k`, gains from grades."""
    positions, grades, ideal = pl.col("found"), pl.col("found_grades"), pl.col("ideal")
    if k is not None:
        depth = in_top("found", k)
        positions, grades = positions.list.head(depth), grades.list.head(depth)
        ideal = ideal.list.head(k)
    return discounted(gains(grades), positions) / discounted(gains(ideal), ranks(ideal))


def linear(grades: pl.Expr) -> pl.Expr:
    """Gain = grade, as trec_eval."""
    return grades


def exponential(grades: pl.Expr) -> pl.Expr:
    """Gain = 2^grade - 1, scaled by the item's best grade.

    The scale is a power of two, so the quotient is the same to the last bit and a huge grade
    cannot overflow.
    """
    best = pl.col("ideal").list.first()
    return (grades - best).list.eval(2.0 ** pl.element()) - 2.0 ** (-best)
