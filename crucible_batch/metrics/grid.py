"""The expected results of a run as arrays: items by samples, and what each score counts as."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.errors import ContractError
from crucible_batch.exact import exact_mean
from crucible_batch.metrics.answer_grains import KEY
from crucible_batch.metrics.nulls import REASON, REASONS, Kind

SCORED, NOT_APPLICABLE, MISSING, ERRORED = range(4)
"""What a score is counted as; an errored one is missing too, so `>= MISSING` finds both."""

ALL = ("all", "all")
"""The slice every item is in."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grid:
    """The expected results of a run: items by samples, and which items are in which slice.

    Attributes:
        keys: item_id and sample_index of every expected result, sorted.
        samples_n: Samples per item.
        slices: Name to the positions of its items, ascending.
        units: The unit of every item: itself, or its cluster where cluster ids repeat.
    """

    keys: pl.DataFrame
    samples_n: int
    slices: dict[tuple[str, str], Codes]
    units: Codes

    @staticmethod
    def of(items: pl.DataFrame, slices: Iterable[pl.DataFrame], samples_n: int) -> Grid:
        """Lay out the expected results.

        Args:
            items: `golden_items`, one row per active item: item_id and cluster_id are read.
            slices: slice_by, slice, item: every item in every slice it belongs to, by its place
                among all items ordered by id; ascending in a slice, over all pieces.
            samples_n: Samples per item.
        """
        ordered = items.select("item_id", "cluster_id").sort("item_id")
        samples = pl.DataFrame(
            {"sample_index": range(samples_n)}, schema={"sample_index": pl.Int64}
        )
        members: dict[tuple[str, str], list[Codes]] = {}
        for piece in slices:
            for (by, name), inside in piece.group_by("slice_by", "slice", maintain_order=True):
                own = members.setdefault((str(by), str(name)), [])
                own.append(inside["item"].to_numpy().astype(np.int64))
        return Grid(
            keys=ordered.select("item_id").join(samples, how="cross").sort(KEY),
            samples_n=samples_n,
            slices={name: np.concatenate(members[name]) for name in sorted(members)},
            units=_units(ordered["cluster_id"]),
        )

    def results(self, items: Codes) -> Codes:
        """Places of the results of some items among all expected ones."""
        return (items[:, None] * self.samples_n + np.arange(self.samples_n)).ravel()

    @cached_property
    def first_alike(self) -> dict[tuple[str, str], tuple[str, str]]:
        """For every slice the first one of the same items: their numbers are the same.

        A facet nobody uses makes such slices.
        """
        first: dict[bytes, tuple[str, str]] = {}
        return {name: first.setdefault(at.tobytes(), name) for name, at in self.slices.items()}

    def overall(self) -> Grid:
        """The same results without any slice but the whole run."""
        return replace(self, slices={name: at for name, at in self.slices.items() if name == ALL})


def _units(clusters: pl.Series) -> Codes:
    """Codes of clusters, a null being one of its own; of items when no cluster repeats."""
    own = np.arange(len(clusters), dtype=np.int64)
    if not clusters.drop_nulls().is_duplicated().any():
        return own
    codes = clusters.rank("dense").cast(pl.Int64).to_numpy()
    sparse = np.where(clusters.is_null().to_numpy(), own + len(clusters) + 1, codes)
    return np.unique(sparse, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Column:
    """One metric of every expected result.

    Attributes:
        values: Shape (items, samples); NaN where the metric is not carried.
        standing: SCORED, NOT_APPLICABLE, MISSING or ERRORED, same shape.
        item_means: Exactly rounded mean of the values of each item; NaN without any.
    """

    values: Floats
    standing: Codes
    item_means: Floats


def aligned(what: str, frame: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """`frame` in the order of the expected results.

    Raises:
        ContractError: It does not hold exactly the expected results.
    """
    if frame.select(KEY).equals(grid.keys):
        return frame
    ordered = frame.sort(KEY)
    if not ordered.select(KEY).equals(grid.keys):
        raise ContractError(
            f"{what} are not those of the {grid.keys.height:,} expected results",
            problems=[f"{frame.height:,} rows, {frame.select(KEY).n_unique():,} distinct results"],
            fix="Score every expected result (items times samples) exactly once.",
        )
    return ordered


def column_of(name: str, frame: pl.DataFrame, grid: Grid) -> Column:
    """One metric as arrays over the expected results."""
    ordered = aligned(f"the scores of {name}", frame, grid)
    shape = (-1, grid.samples_n)
    values = ordered["value"].to_numpy().astype(np.float64).reshape(shape)
    standing = standings(ordered["null_reason"]).reshape(shape)
    return Column(values=values, standing=standing, item_means=item_means(values))


def column_of_codes(values: Floats, codes: NDArray[np.uint8], grid: Grid) -> Column:
    """One metric as arrays over the expected results, from what `score_table` gives.

    Args:
        values: NaN where the metric is not carried; in the order of the expected results.
        codes: 0, or the place of the null reason in REASONS, from 1.
        grid: The expected results.
    """
    shape = (-1, grid.samples_n)
    table = values.reshape(shape)
    return Column(table, _STANDING_OF_CODE[codes].reshape(shape), item_means(table))


_STANDING_OF = {
    name: NOT_APPLICABLE if reason.kind is Kind.NOT_APPLICABLE else MISSING
    for name, reason in REASON.items()
} | {"errored": ERRORED}


_STANDING_OF_CODE = np.array([SCORED, *(_STANDING_OF[reason.name] for reason in REASONS)])


def standings(reasons: pl.Series) -> Codes:
    """What each null reason is counted as; no reason is SCORED."""
    codes = reasons.replace_strict(_STANDING_OF, default=SCORED, return_dtype=pl.Int64)
    return codes.fill_null(SCORED).to_numpy().astype(np.int64)


def item_means(values: Floats) -> Floats:
    """Mean over the samples of each item that carry the metric, rounded once; NaN without any."""
    if values.shape[1] == 1:
        return values[:, 0]
    carried = ~np.isnan(values)
    if values.shape[1] == 2:  # a sum of two is rounded once by itself
        first, second = np.where(carried, values, 0.0).T
        total = first + second
        halves: Floats = np.full(len(values), np.nan)
        np.divide(total, np.count_nonzero(carried, axis=1), out=halves, where=carried.any(axis=1))
        return halves
    means = [exact_mean(row[kept].tolist()) for row, kept in zip(values, carried, strict=True)]
    return np.array([np.nan if mean is None else mean for mean in means], dtype=np.float64)
