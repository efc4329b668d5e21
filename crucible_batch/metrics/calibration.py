"""Calibration: does a stated confidence of 80 % mean right in 80 % of the cases?"""

from __future__ import annotations

from typing import Any

import polars as pl

from crucible_batch.exact import exact_mean, exact_sum
from crucible_batch.metrics.answer_grains import OUTCOME
from crucible_batch.metrics.metric import AnyMetric, Example, Metric, RunMetric
from crucible_batch.metrics.pairs import ON_PAIRS, make_pairs
from crucible_batch.metrics.run_function import RunFunction

N_BINS = 10
"""Bins of equal mass."""

BINS = {
    "bin": pl.Int64(),
    "n": pl.Int64(),
    "mean_confidence": pl.Float64(),
    "accuracy": pl.Float64(),
}


def reliability_bins(confidence: Any, correct: Any) -> pl.DataFrame:
    """Confidence against accuracy in ten bins of equal mass.

    A block of equal confidences is never split: it goes where its mean rank r lies,
    bin = floor(10 · (r − ½) / n).

    Args:
        confidence: One finite number per result; a list, array or Series.
        correct: Whether each result is right. Pairs with a null or NaN are left out.

    Returns:
        bin (from 0), n, mean_confidence, accuracy; bins that hold nothing are left out.

    Raises:
        ContractError: See `make_pairs`.
    """
    return _bins(make_pairs(confidence, correct))


def _bins(pairs: pl.DataFrame) -> pl.DataFrame:
    """The bins of pairs without nulls."""
    grouped = _with_bin(pairs).group_by("bin").agg("confidence", "correct").sort("bin")
    rows = [
        (number, len(right), exact_mean(confidence), sum(right) / len(right))
        for number, confidence, right in grouped.iter_rows()
    ]
    return pl.DataFrame(rows, schema=BINS, orient="row")


def _with_bin(pairs: pl.DataFrame) -> pl.DataFrame:
    """Every pair with its bin, from integers: the ranks of a block average to (lo + hi) / 2."""
    rank = pl.col("confidence").rank
    low, high = rank("min").cast(pl.Int64), rank("max").cast(pl.Int64)
    return pairs.with_columns(bin=(N_BINS * (low + high - 1)) // (2 * pl.len().cast(pl.Int64)))


def calibration_error(pairs: pl.DataFrame) -> float | None:
    """Mean distance of confidence and accuracy over the bins, weighted by their size.

    Args:
        pairs: confidence and correct, without nulls.

    Returns:
        The error in 0..1, None without pairs.
    """
    if pairs.is_empty():
        return None
    grouped = _with_bin(pairs).group_by("bin").agg("confidence", "correct")
    gaps = [
        abs(exact_sum([*confidence, -float(sum(right))]))
        for _, confidence, right in grouped.iter_rows()
    ]
    return exact_sum(gaps) / pairs.height


def brier() -> Metric:
    """Squared distance of confidence and correctness."""
    return Metric(
        name="brier",
        title="Brier score",
        group="calibration",
        grain=OUTCOME,
        expr=(pl.col("confidence") - pl.col("correct").cast(pl.Float64)) ** 2,
        nulls=ON_PAIRS,
        better="lower",
        uses_judge=True,
        summary="Squared distance of the stated confidence from 1 when right, 0 when wrong.",
        formula="(confidence − correct)², with correct 1 or 0",
        source="Brier 1950",
        example=Example.of(0.25, label="perfect", correct=True, confidence=0.5),
    )


def ece() -> RunMetric:
    """Expected calibration error."""
    return RunMetric(
        name="ece",
        title="ECE",
        group="calibration",
        grain=OUTCOME,
        better="lower",
        uses_judge=True,
        summary="Mean gap between confidence and accuracy over ten bins of equal mass.",
        formula="Σ over ten bins of (results of the bin / results) · |mean confidence − accuracy|;"
        " the bin of a result is floor(10 · (r − ½) / n), r the mean rank of its confidence",
        source="Naeini et al. 2015; equal-mass bins, Nixon et al. 2019",
        function=RunFunction(nulls=ON_PAIRS, number=calibration_error),
        null_rule="no answered, labelled result with a confidence",
        example=Example(
            rows=(
                {"confidence": 0.75, "correct": True},
                {"confidence": 0.75, "correct": False},
                {"confidence": 0.25, "correct": False},
                {"confidence": 0.25, "correct": False},
            ),
            value=0.25,
        ),
    )


METRICS: tuple[AnyMetric, ...] = (brier(), ece())
"""The calibration metrics."""
