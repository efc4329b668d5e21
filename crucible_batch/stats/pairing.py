"""Who is paired with whom: checked arrays in canonical order, and the units of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucible_batch.errors import ContractError, UsageError
from crucible_batch.stats.comparison import MetricValues
from crucible_batch.stats.grid import differences
from crucible_batch.stats.resampling import Units

REAL = (int, float, np.integer, np.floating, np.bool_, Decimal, Fraction)
"""What is a number: no text, and nothing with an imaginary part."""

SPELLED_OUT = frozenset({"None", "nan", "NaN", "<NA>", "NaT"})
"""What Python, numpy and pandas make of a missing value that is cast to text."""

LARGEST = 1e150
"""Beyond this magnitude squares overflow float64."""


class Order(NamedTuple):
    """Items in canonical order: item_id bytewise.

    Attributes:
        names: Item ids in canonical order; length n.
        places: Where each was in the input; shape (n,).
    """

    names: list[str]
    places: NDArray[np.intp]


def canonical_order(items: Iterable[Any]) -> Order:
    """Sort items by id, bytewise, and refuse missing and repeated ones.

    Raises:
        ContractError: If an item has no id or appears twice; names the id and both rows.
    """
    given = list(items)
    unnamed = [row for row, item in enumerate(given) if is_missing(item)]
    if unnamed:
        raise ContractError(
            "Items without an item_id cannot be paired",
            problems=[f"row {row}" for row in unnamed],
            fix="Give every item its id.",
        )
    names = [str(item) for item in given]
    # Code points of Python strings sort as their UTF-8 bytes do.
    places = sorted(range(len(names)), key=names.__getitem__)
    ordered = [names[place] for place in places]
    repeated = [
        f"item {ordered[k]!r} in rows {places[k - 1]} and {places[k]}"
        for k in range(1, len(ordered))
        if ordered[k] == ordered[k - 1]
    ]
    if repeated:
        raise ContractError(
            "An item may appear once in a comparison",
            problems=repeated,
            fix="Give each item one value: the mean over its samples.",
        )
    return Order(ordered, np.array(places, dtype=np.intp))


def is_missing(value: object) -> bool:
    """Whether a value stands for "not there": None, NaN, or the NA and NaT of pandas."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def checked_values(values: Any, order: Order, side: str) -> NDArray[np.float64]:
    """Return the values of one run in canonical order, NaN where the metric is not carried.

    Args:
        values: One number per item in input order; None and NaN = not carried; shape (n,).
        order: Canonical order of the items.
        side: ``baseline`` or ``candidate``, for messages.

    Raises:
        UsageError: If there is not one value per item.
        ContractError: If a value is no number, or infinite; names the item.
    """
    numbers = _numbers(values, order, side)
    if numbers.shape != (len(order.names),):
        raise UsageError(
            f"The {side} has shape {numbers.shape}, but there are {len(order.names)} items",
            fix="Give one value per item; NaN where the metric is not carried.",
        )
    numbers = numbers[order.places]
    infinite = np.flatnonzero(np.abs(numbers) > LARGEST)
    if infinite.size:
        raise ContractError(
            f"The {side} holds values that are infinite or beyond {LARGEST:.0e}",
            problems=[f"item {order.names[k]!r}: {numbers[k]}" for k in infinite],
            fix="A metric is a finite number, or NaN where it is not carried.",
        )
    return numbers


def _numbers(values: Any, order: Order, side: str) -> NDArray[np.float64]:
    """The values as float64, in input order; text that looks like a number is none.

    Raises:
        ContractError: A value is no real number; names its item.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # lists of several lengths
        array = np.asarray(values, dtype=object)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.shape != order.places.shape:
        return np.full(array.shape, np.nan)
    given = np.asarray(values, dtype=object)
    odd = [
        f"item {name!r}: {given[place]!r}"
        for name, place in zip(order.names, order.places, strict=True)
        if not (is_missing(given[place]) or isinstance(given[place], REAL))
    ]
    if odd:
        raise ContractError(
            f"The {side} holds a value that is no number",
            problems=odd,
            fix="Give one number per item; None or NaN where the metric is not carried.",
        )
    return np.array([math.nan if is_missing(value) else float(value) for value in given])


class Paired(NamedTuple):
    """One metric after pairing: the items both runs carry, in canonical order.

    `baseline` and `candidate` are as measured; `delta` is on the scale of the comparison.
    """

    metric: MetricValues
    is_paired: NDArray[np.bool_]
    baseline: NDArray[np.float64]
    candidate: NDArray[np.float64]
    delta: NDArray[np.float64]
    n_missing_baseline: int
    n_missing_candidate: int
    sampling_variance: NDArray[np.float64] | None


def presence(mask: Any, order: Order) -> NDArray[np.bool_]:
    """Return which items a run has, in canonical order; None: all of them."""
    if mask is None:
        return np.ones(len(order.names), dtype=np.bool_)
    present = np.asarray(mask, dtype=np.bool_)
    if present.shape != (len(order.names),):
        raise UsageError(
            f"A presence mask has shape {present.shape}, but there are {len(order.names)} items",
            fix="Say for every item whether the run has it.",
        )
    return present[order.places]


def pair(metric: MetricValues, order: Order, in_both: NDArray[np.bool_]) -> Paired:
    """Keep the items that both runs have and that carry the metric on both sides."""
    baseline = checked_values(metric.baseline, order, "baseline")
    candidate = checked_values(metric.candidate, order, "candidate")
    least = 0.0 if metric.scale == "log" else -np.inf
    has_baseline, has_candidate = baseline > least, candidate > least  # NaN is above nothing
    is_paired = in_both & has_baseline & has_candidate
    b, c = baseline[is_paired], candidate[is_paired]
    delta = differences(np.log(b), np.log(c)) if metric.scale == "log" else differences(b, c)
    variance = metric.sampling_variance
    if variance is not None:
        variance = checked_values(variance, order, "sampling variance")[is_paired]
    return Paired(
        metric,
        is_paired,
        b,
        c,
        delta,
        n_missing_baseline=int(np.count_nonzero(in_both & ~has_baseline)),
        n_missing_candidate=int(np.count_nonzero(in_both & ~has_candidate)),
        sampling_variance=variance,
    )


def cluster_codes(clusters: Iterable[Any], order: Order) -> NDArray[np.int64]:
    """Return a number per item in canonical order, the same for items of one cluster.

    An item without a cluster (None, NaN, or NA of pandas) is a cluster of its own.

    Raises:
        UsageError: If there is not one cluster per item.
    """
    given = list(clusters)
    if len(given) != len(order.names):
        raise UsageError(
            f"There are {len(given)} clusters for {len(order.names)} items",
            fix="Give one cluster per item; None for an item outside any cluster.",
        )
    return group_codes([given[place] for place in order.places])


def refuse_spelled_out(clusters: Sequence[Any]) -> None:
    """Refuse missing clusters that were turned into text: they would all be one cluster.

    Raises:
        ContractError: Names the text and the rows.
    """
    rows = [(row, cluster) for row, cluster in enumerate(clusters) if isinstance(cluster, str)]
    spelled = [f"row {row}: {str(cluster)!r}" for row, cluster in rows if cluster in SPELLED_OUT]
    if spelled:
        raise ContractError(
            "A missing cluster is written as text, and would be one cluster of all such items",
            problems=spelled,
            fix="Give None where an item has no cluster, before the column is cast to text.",
        )


def group_codes(groups: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Return a number per row, the same for rows of one group; rows without one stand alone."""
    if isinstance(groups, np.ndarray) and np.issubdtype(groups.dtype, np.integer):
        return groups.astype(np.int64)
    known: dict[str, int] = {}
    codes = np.empty(len(groups), dtype=np.int64)
    for row, group in enumerate(groups):
        codes[row] = row if is_missing(group) else known.setdefault(str(group), row)
    return codes


def covers_two(codes: NDArray[np.int64], is_paired: NDArray[np.bool_]) -> bool:
    """Return whether any cluster holds two of the paired items."""
    paired = codes[is_paired]
    return bool(np.unique(paired).size < paired.size)


def unit_places(codes: NDArray[np.int64] | None, n_items: int) -> NDArray[np.intp]:
    """Return the unit of each paired item; units are numbered by their first item; shape (n,)."""
    if codes is None:
        return np.arange(n_items)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.intp)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse]


def summed(values: NDArray[np.int64], places: NDArray[np.intp]) -> Units:
    """Add whole numbers up per unit.

    Args:
        values: One whole number per item; shape (n_items,).
        places: Unit of each item, every unit from 0 on having one; shape (n_items,).
    """
    n_units = int(places.max()) + 1 if places.size else 0
    sums = np.zeros(n_units, dtype=np.int64)
    np.add.at(sums, places, values)
    return Units(sums, np.bincount(places, minlength=n_units))
