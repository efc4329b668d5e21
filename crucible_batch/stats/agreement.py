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
        table: Every combination of ratings with its count: human, judge, n.
    """

    n: int
    raw: float | None
    kappa: float | None
    alpha: float | None
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
        Cohen 1960 and 1968 (kappa, weighted); Krippendorff 2011 (alpha, ordinal metric).
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
        alpha=_ordinal_alpha(table),
        table=_frame(scale, table),
    )


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


def _ordinal_alpha(table: list[list[int]]) -> float | None:
    """Return 1 - observed / expected disagreement over the 2n ratings of both raters.

    Ordinal distance of c and k: (ratings from c to k, those at both ends counted half)².
    """
    cells = range(len(table))
    totals = [sum(table[c][k] + table[k][c] for k in cells) for c in cells]
    n_ratings = sum(totals)
    observed = expected = 0.0
    for c in cells:
        for k in range(c + 1, len(table)):
            between = sum(totals[c : k + 1]) - (totals[c] + totals[k]) / 2
            observed += between**2 * (table[c][k] + table[k][c])
            expected += between**2 * totals[c] * totals[k]
    return 1 - (n_ratings - 1) * observed / expected if expected else None


def _frame(scale: Sequence[Any], table: list[list[int]]) -> pl.DataFrame:
    import polars as pl

    cells = [(h, j, n) for h, row in zip(scale, table, strict=True)
             for j, n in zip(scale, row, strict=True)]  # fmt: skip
    kind = pl.Series(scale).dtype if scale else pl.String
    return pl.DataFrame(cells, schema={"human": kind, "judge": kind, "n": pl.Int64}, orient="row")
