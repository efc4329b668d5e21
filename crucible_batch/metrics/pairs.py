"""Pairs of confidence and correctness: the one input of selective prediction and calibration."""

from __future__ import annotations

from typing import Any

import polars as pl

from crucible_batch.errors import ContractError
from crucible_batch.metrics.answer_nulls import ABSTAINED, NO_ANSWER_STAGE
from crucible_batch.metrics.nulls import RESULT_NULLS, Null
from crucible_batch.metrics.truthfulness import without_label

SCHEMA = {"confidence": pl.Float64(), "correct": pl.Boolean()}

ON_PAIRS = (
    without_label("no_assertions"),
    *RESULT_NULLS,
    NO_ANSWER_STAGE,
    ABSTAINED,
    Null("no_confidence", pl.col("confidence").is_null()),
    without_label("not_judged"),
    without_label("malformed_verdict"),
)
"""Why a result is no pair: it must have been answered, labelled, and carry a confidence."""


def make_pairs(confidence: Any, correct: Any) -> pl.DataFrame:
    """Pair up two columns; a pair with a null (or NaN) in it is left out.

    Args:
        confidence: One finite number per result: a list, an array or a Series.
        correct: One true or false (or 1 or 0) per result.

    Returns:
        confidence (Float64) and correct (Boolean), in the order given.

    Raises:
        ContractError: The lengths differ, a confidence is infinite, or `correct` holds anything
            but true and false; names the first positions, from 0.
    """
    numbers = _numbers("confidence", confidence)
    truths = _numbers("correct", correct)
    if len(numbers) != len(truths):
        raise ContractError(
            f"confidence has {len(numbers):,} values and correct has {len(truths):,}",
            fix="Give one confidence and one true or false per result, in the same order.",
        )
    _refuse(numbers, numbers.is_infinite(), "is infinite", "Give finite confidences.")
    _refuse(truths, ~truths.is_in([0.0, 1.0]), "is neither true nor false", "Give 0 or 1.")
    return pl.DataFrame([numbers, truths.cast(pl.Boolean)], schema=SCHEMA).drop_nulls()


def _numbers(name: str, values: Any) -> pl.Series:
    """`values` as Float64, NaN as null."""
    try:
        series = values if isinstance(values, pl.Series) else pl.Series(values)
        return series.cast(pl.Float64).fill_nan(None).alias(name)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise ContractError(
            f"{name} is no column of numbers: {error}",
            fix="Pass a list, an array or a Series.",
        ) from error


def _refuse(values: pl.Series, bad: pl.Series, what: str, fix: str) -> None:
    """Raise for the values where `bad` is true."""
    positions = bad.fill_null(value=False).arg_true()
    if len(positions):
        raise ContractError(
            f"{values.name} has {len(positions):,} values that cannot be used",
            problems=[f"position {n}: {values[n]!r} {what}" for n in positions],
            fix=fix,
        )
