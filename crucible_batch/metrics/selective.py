"""Selective prediction: how the risk of answers grows as less confident ones are let in.

Results of equal confidence form a block, and inside a block the errors are spread evenly: every
number is the expectation over the order of ties, so it does not depend on the order of rows.
Sources: Geifman and El-Yaniv 2017 (AURC), Geifman et al. 2019 (E-AURC), Traub et al. 2024 (AUGRC).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.exact import exact_mean, exact_sum
from crucible_batch.metrics.answer_grains import KEY, OUTCOME
from crucible_batch.metrics.answer_nulls import holds
from crucible_batch.metrics.metric import AnyMetric, Example, RunMetric
from crucible_batch.metrics.pairs import ON_PAIRS, make_pairs
from crucible_batch.metrics.run_function import RunFunction

CURVE = {
    "point": pl.Int64(),
    "coverage": pl.Float64(),
    "risk": pl.Float64(),
    "confidence": pl.Float64(),
}


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """The risk–coverage curve and the areas under it.

    Attributes:
        curve: point (from 1, by confidence descending), coverage, risk, confidence: one row per
            pair; empty without pairs.
        aurc: Mean risk over the points; None without pairs.
        e_aurc: `aurc` above that of an order that puts every error last; None without pairs.
        augrc: Area under the generalised risk curve; None without pairs.
        n_pairs: Pairs the curve rests on.
        n_dropped: Pairs left out because one side is null.
    """

    curve: pl.DataFrame
    aurc: float | None
    e_aurc: float | None
    augrc: float | None
    n_pairs: int
    n_dropped: int


def risk_coverage(confidence: Any, correct: Any) -> RiskCoverage:
    """Draw the risk–coverage curve of answered results.

    Args:
        confidence: One finite number per result, higher is surer; a list, array or Series.
        correct: Whether each result is right. Pairs with a null or NaN are dropped and counted.

    Returns:
        The curve with aurc, e_aurc and augrc (lower is better).

    Raises:
        ContractError: See `make_pairs`.

    Example:
        Confidences .9 .8 .7 .6 with one error at .7: aurc .145833, augrc .09375.
    """
    pairs = make_pairs(confidence, correct)
    return _from_pairs(pairs, n_dropped=len(confidence) - pairs.height)


def _from_pairs(pairs: pl.DataFrame, n_dropped: int = 0) -> RiskCoverage:
    """The curve of pairs without nulls."""
    n = pairs.height
    ordered = pairs.sort("confidence", descending=True)
    confidence = ordered["confidence"].to_numpy()
    errors = _expected_errors(confidence, ~ordered["correct"].to_numpy())
    points = np.arange(1, n + 1)
    risk = errors / points
    curve = pl.DataFrame(
        {"point": points, "coverage": points / max(n, 1), "risk": risk, "confidence": confidence},
        schema=CURVE,
    )
    if n == 0:
        return RiskCoverage(curve, None, None, None, 0, n_dropped)
    n_errors = n - int(ordered["correct"].sum())
    best = np.maximum(points - (n - n_errors), 0) / points
    between = np.concatenate([[0.0], errors[:-1]]) + errors
    return RiskCoverage(
        curve=curve,
        aurc=exact_mean(risk),
        e_aurc=exact_mean(risk - best),
        augrc=exact_sum(between) / (2 * n * n),
        n_pairs=n,
        n_dropped=n_dropped,
    )


def _expected_errors(
    confidence: NDArray[np.float64], wrong: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Errors among the first k, for every k, expected over the order of ties.

    Args:
        confidence: Sorted, descending.
        wrong: Whether each is an error, shape (n,).
    """
    n = len(confidence)
    if n == 0:
        return np.zeros(0)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(confidence)) + 1])
    sizes = np.diff(np.append(starts, n))
    block = np.repeat(np.arange(len(starts)), sizes)
    in_block = np.add.reduceat(wrong.astype(np.int64), starts)
    before = np.cumsum(in_block) - in_block
    j = np.arange(n) - starts[block] + 1
    expected: NDArray[np.float64] = before[block] + j * in_block[block] / sizes[block]
    return expected


def curve_of_results(outcomes: pl.DataFrame) -> pl.DataFrame:
    """The curve with the result at each point, as the `risk_coverage` table has it.

    Args:
        outcomes: The `outcome` grain with its key, one row per expected result of one run.

    Returns:
        item_id, sample_index, point, coverage, risk, confidence, n_pairs, n_results (results with
        a row), by point; inside a block of equal confidence by key.
    """
    ranked = outcomes.filter(~holds(ON_PAIRS)).sort(
        "confidence", *KEY, descending=[True, False, False]
    )
    curve = _from_pairs(ranked.select("confidence", "correct")).curve
    return ranked.select(KEY).with_columns(
        *curve.get_columns(),
        n_pairs=pl.lit(ranked.height, dtype=pl.Int64),
        n_results=pl.lit(int(outcomes["has_result"].sum()), dtype=pl.Int64),
    )


def _pairs(*pairs: tuple[float, int]) -> tuple[dict[str, Any], ...]:
    """Outcomes from (confidence, error)."""
    return tuple({"confidence": c, "correct": not error} for c, error in pairs)


ONE_ERROR = _pairs((0.9, 0), (0.8, 0), (0.7, 1), (0.6, 0))


def area(
    name: str,
    title: str,
    pick: Callable[[RiskCoverage], float | None],
    *,
    summary: str,
    formula: str,
    source: str,
    value: float,
) -> RunMetric:
    """An area under the curve."""
    return RunMetric(
        name=name,
        title=title,
        group="selective",
        grain=OUTCOME,
        better="lower",
        uses_judge=True,
        summary=summary,
        formula=formula,
        source=source,
        function=RunFunction(
            nulls=ON_PAIRS,
            number=lambda rows: pick(_from_pairs(rows.select("confidence", "correct"))),
        ),
        null_rule="no answered, labelled result with a confidence",
        example=Example(rows=ONE_ERROR, value=value),
    )


METRICS: tuple[AnyMetric, ...] = (
    area(
        "aurc",
        "AURC",
        lambda found: found.aurc,
        summary="Mean risk as less confident answers are let in.",
        formula="mean over j = 1..n of (errors among the j most confident answers / j); equal"
        " confidences count as the mean over their orders",
        source="Geifman and El-Yaniv 2017",
        value=7 / 48,
    ),
    area(
        "e_aurc",
        "E-AURC",
        lambda found: found.e_aurc,
        summary="AURC above that of a perfect order of confidences.",
        formula="aurc − the aurc of the same answers with all errors last",
        source="Geifman et al. 2019",
        value=1 / 12,
    ),
    area(
        "augrc",
        "AUGRC",
        lambda found: found.augrc,
        summary="Area under the generalised risk curve: how often an error is let in.",
        formula="(1/n) · Σ over k = 1..n of (E_{k−1} + E_k) / (2n), E_k the errors among the k most"
        " confident answers",
        source="Traub et al. 2024",
        value=0.09375,
    ),
)
"""The metrics of selective prediction."""
