"""Null rules that several families of the answer side share."""

from __future__ import annotations

from functools import reduce
from operator import or_

import polars as pl

from crucible_batch.metrics.nulls import RESULT_NULLS, Null

NO_ANSWER_STAGE = Null("no_answer_stage", ~pl.col("has_answer_stage"))
ABSTAINED = Null("abstained", pl.col("abstained"))
ANSWERED = (*RESULT_NULLS, NO_ANSWER_STAGE, ABSTAINED)
"""Metrics that read the answer ask nothing of a result that has none."""

REPORTED_CITATIONS = Null("not_reported", ~pl.col("citations_reported"))
REPORTED_RETRIEVAL = Null("not_reported", ~pl.col("retrieval_reported"))
CONTEXTS_PROVIDED = Null("contexts_provided", ~pl.col("retrieval_ran"))


def where(nulls: tuple[Null, ...], condition: pl.Expr) -> tuple[Null, ...]:
    """The same rules, where `condition` holds too."""
    return tuple(Null(null.reason, null.expr & condition) for null in nulls)


def holds(nulls: tuple[Null, ...]) -> pl.Expr:
    """Whether any of the rules holds; never null."""
    return reduce(or_, (null.expr.fill_null(value=False) for null in nulls))


def first_reason(nulls: tuple[Null, ...]) -> pl.Expr:
    """The reason of the first rule that holds, null where none does."""
    found: pl.Expr = pl.lit(None, dtype=pl.String)
    for null in reversed(nulls):
        found = pl.when(null.expr).then(pl.lit(null.reason)).otherwise(found)
    return found
