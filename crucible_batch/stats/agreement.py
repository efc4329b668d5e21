"""How well a judge agrees with people: raw share, kappa, ordinal alpha, and the table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crucible_batch.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

WEIGHTS = (None, "linear", "quadratic")


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of two raters over the pairs that both of them rated.

    Attributes:
        n: Pairs with both ratings.
        raw: Share of pairs with the same rating; None without pairs.
        kappa: Cohen's kappa, weighted as asked; None when chance alone would agree fully.
        alpha: Krippendorff's alpha for ordinal ratings; None when all ratings are the same.
        alpha_nominal: The same, any two different ratings being equally far apart.
        alpha_interval: The same, by squared distance.
        mae: Mean distance of the two ratings; None without pairs.
        majority: Share of the human rating given most often: the raw agreement of a judge that
            always says it. None without pairs.
        table: Every combination of ratings with its count: human, judge, n.
    """

    n: int
    raw: float | None
    kappa: float | None
    alpha: float | None
    alpha_nominal: float | None
    alpha_interval: float | None
    mae: float | None
    majority: float | None
    table: pl.DataFrame


def agreement(
    human: Iterable[Any],
    judge: Iterable[Any],
    *,
    weights: str | None = None,
    categories: Sequence[Any] | None = None,
) -> Agreement:
    """Compare a judge's ratings with a person's.

    Args:
        human: Ratings by people, None where there is none; length n.
        judge: Ratings of the same things by the judge; length n.
        weights: None counts any difference fully, ``linear`` by distance, ``quadratic`` by
            squared distance. Numbers are as far apart as their difference, other ratings as
            their places in `categories`.
        categories: All ratings there are, in ascending order. Default: those that occur, sorted.

    Raises:
        UsageError: If lengths differ, the weights are unknown, or a rating is no category.

    References:
        Cohen 1960 and 1968 (kappa, weighted); Krippendorff 2011 (alpha and its metrics).
    """
    people, machine = list(human), list(judge)
    if len(people) != len(machine):
        raise UsageError(
            f"There are {len(people)} human ratings and {len(machine)} of the judge",
            fix="Give both for the same things, None where one is absent.",
        )
    if weights not in WEIGHTS:
        raise UsageError(f"No weights are called {weights!r}", fix="Use None, linear or quadratic.")
    rated = [(h, j) for h, j in zip(people, machine, strict=True) if not (_absent(h) or _absent(j))]
    scale = (
        list(categories) if categories is not None else sorted({r for pair in rated for r in pair})
    )
    counts = Counter(rated)
    unknown = sorted({str(r) for pair in counts for r in pair if r not in scale})
    if unknown:
        raise UsageError(
            "Ratings outside the given categories", problems=unknown, fix="List every category."
        )
    table = [[counts[h, j] for j in scale] for h in scale]
    same = sum(table[k][k] for k in range(len(scale)))
    return Agreement(
        n=len(rated),
        raw=same / len(rated) if rated else None,
        kappa=_kappa(table, _distances(scale, weights)),
        alpha=_alpha(table, _ordinal_distances(table)),
        alpha_nominal=_alpha(table, _distances(scale, None)),
        alpha_interval=_alpha(table, _distances(scale, "quadratic")),
        mae=_mean_distance(table, _distances(scale, "linear")),
        majority=max(map(sum, table)) / len(rated) if rated else None,
        table=_frame(scale, table),
    )


def kappa_from(human: Iterable[Any], judge: Iterable[Any], threshold: Any) -> float | None:
    """Cohen's kappa of two answers: is the rating at least `threshold`, yes or no.

    Args:
        human: Ratings by people, None where there is none; length n.
        judge: Ratings of the same things by the judge; length n.
        threshold: The smallest rating that is a yes.
    """
    sides = (
        [None if _absent(rating) else rating >= threshold for rating in side]
        for side in (human, judge)
    )
    return agreement(*sides).kappa


def ranking_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b of two orders of the same things; None when one side is all ties.

    Args:
        first: A value per thing; length n.
        second: A value per thing, in the same order; length n.

    References:
        Kendall 1945 (tau-b, which corrects for ties).
    """
    signs = [
        (_sign(first[a] - first[b]), _sign(second[a] - second[b]))
        for a in range(len(first))
        for b in range(a)
    ]
    concordance = sum(x * y for x, y in signs)
    untied = len([x for x, _ in signs if x]) * len([y for _, y in signs if y])
    return concordance / math.sqrt(untied) if untied else None


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)


def _absent(rating: Any) -> bool:
    return rating is None or (isinstance(rating, float) and math.isnan(rating))


def _distances(scale: Sequence[Any], weights: str | None) -> list[list[float]]:
    is_numeric = all(isinstance(rating, int | float) for rating in scale)
    places = list(scale) if is_numeric else list(range(len(scale)))
    power = {"linear": 1, "quadratic": 2}.get(weights or "", 0)
    return [[0 if a == b else abs(a - b) ** power for b in places] for a in places]


def _kappa(table: list[list[int]], distances: list[list[float]]) -> float | None:
    """Return 1 - observed / expected disagreement."""
    cells = range(len(table))
    n = sum(map(sum, table))
    rows = [sum(table[h]) for h in cells]
    columns = [sum(table[h][j] for h in cells) for j in cells]
    observed = math.fsum(distances[h][j] * table[h][j] for h in cells for j in cells)
    expected = math.fsum(distances[h][j] * rows[h] * columns[j] for h in cells for j in cells)
    return 1 - observed * n / expected if expected else None


def _alpha(table: list[list[int]], distances: list[list[float]]) -> float | None:
    """Return 1 - observed / expected disagreement over the 2n ratings of both raters."""
    cells = range(len(table))
    totals = _totals(table)
    pairs = [(c, k) for c in cells for k in range(c + 1, len(table))]
    observed = math.fsum(distances[c][k] * (table[c][k] + table[k][c]) for c, k in pairs)
    expected = math.fsum(distances[c][k] * totals[c] * totals[k] for c, k in pairs)
    return 1 - (sum(totals) - 1) * observed / expected if expected else None


def _ordinal_distances(table: list[list[int]]) -> list[list[float]]:
    """(Ratings from c to k, those at both ends counted half)², of the ratings of both raters."""
    totals, cells = _totals(table), range(len(table))

    def between(c: int, k: int) -> float:
        return sum(totals[min(c, k) : max(c, k) + 1]) - (totals[c] + totals[k]) / 2

    return [[between(c, k) ** 2 for k in cells] for c in cells]


def _totals(table: list[list[int]]) -> list[int]:
    """How often both raters together gave each rating."""
    cells = range(len(table))
    return [sum(table[c][k] + table[k][c] for k in cells) for c in cells]


def _mean_distance(table: list[list[int]], distances: list[list[float]]) -> float | None:
    cells = range(len(table))
    n = sum(map(sum, table))
    total = math.fsum(distances[h][j] * table[h][j] for h in cells for j in cells)
    return total / n if n else None


def _frame(scale: Sequence[Any], table: list[list[int]]) -> pl.DataFrame:
    import polars as pl

    cells = [(h, j, n) for h, row in zip(scale, table, strict=True)
             for j, n in zip(scale, row, strict=True)]  # fmt: skip
    kind = pl.Series(scale).dtype if scale else pl.String
    return pl.DataFrame(cells, schema={"human": kind, "judge": kind, "n": pl.Int64}, orient="row")
