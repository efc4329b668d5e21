"""The engine: many metrics over one frame per grain, one pass each, into long scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from crucible_batch.errors import ContractError
from crucible_batch.metrics.metric import Grain, Metric
from crucible_batch.metrics.nulls import REASONS, Null

REASON_NAMES = tuple(reason.name for reason in REASONS)

PART_ROWS = 10_000
"""Fewer results than this are not worth a thread."""

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint8]
"""0 where a value is carried, else the place of its null reason in REASON_NAMES, from 1."""


def score(
    frames: Mapping[str, pl.DataFrame], metrics: Iterable[Metric], key: Sequence[str]
) -> pl.DataFrame:
    """Score every result with every metric.

    Args:
        frames: One frame per grain, by the grain's name: one row per result, the key columns and
            the grain's columns, in any order. All frames hold the same results.
        metrics: What to compute, without repeats.
        key: Columns that name a result, e.g. `("item_id", "sample_index")`.

    Returns:
        key, metric, value, null_reason, sorted by key and then in the order of `metrics`. A value
        is null exactly where a null_reason stands.

    Raises:
        ContractError: A value is NaN, infinite, out of its declared range, or null without
            reason; the frames hold different results.
        ValueError: There is no metric.
    """
    return score_table(frames, metrics, key).long()


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores as a table of results by metrics.

    Attributes:
        index: Keys of the results, sorted.
        metrics: What was computed.
        values: Shape (results, metrics); NaN where no value is carried.
        codes: 0 where a value is carried, else the code of its null reason; same shape.
    """

    index: pl.DataFrame
    metrics: list[Metric]
    values: Floats
    codes: Codes

    def long(self) -> pl.DataFrame:
        """One row per result and metric, as `score` returns it."""
        n_results, n_metrics = self.values.shape
        names = pl.Series([m.name for m in self.metrics])
        reasons = pl.Series([None, *REASON_NAMES], dtype=pl.String)
        value = pl.Series(self.values.ravel())
        reason: pl.Series | pl.Expr = pl.lit(None, pl.String)
        if self.codes.any():
            value, reason = value.fill_nan(None), reasons.gather(self.codes.ravel())
        # Polars counts rows in 32 bits: other numbers would be copied.
        results, metrics = (np.arange(n, dtype=np.uint32) for n in self.values.shape)
        return self.index[np.repeat(results, n_metrics)].with_columns(
            metric=names.gather(np.tile(metrics, n_results)),
            value=value,
            null_reason=reason,
        )

    def wide(self, names: Collection[str]) -> pl.DataFrame:
        """The key and a column for every one of the metrics that `names` holds, null for NaN."""
        shown = {
            m.name: self.values[:, place] for place, m in enumerate(self.metrics) if m.name in names
        }
        return self.index.hstack(pl.DataFrame(shown).fill_nan(None).get_columns())


def score_table(
    frames: Mapping[str, pl.DataFrame], metrics: Iterable[Metric], key: Sequence[str]
) -> ScoreTable:
    """Score every result with every metric, as arrays; see `score`."""
    ordered = list(metrics)
    if not ordered:
        raise ValueError("no metric to score")
    index, order = _index(frames, grains(ordered), key)
    shape = (index.height, len(ordered))
    values, codes = np.empty(shape, np.float64), np.zeros(shape, np.uint8)
    for grain in grains(ordered):
        places = [place for place, metric in enumerate(ordered) if metric.grain is grain]
        own = [ordered[place] for place in places]
        for place, (value, code) in zip(
            places, _columns(frames[grain.name], own, key, order[grain.name]), strict=True
        ):
            values[:, place], codes[:, place] = value, code
    _check(index, ordered, values, codes)
    values[codes != 0] = np.nan
    # Turns IEEE -0.0 into 0.0; in NumPy, because Polars folds the addition away.
    values += 0.0
    return ScoreTable(index, ordered, values, codes)


def grains(metrics: Iterable[Metric]) -> tuple[Grain, ...]:
    """The grains that `metrics` read: the frames a caller has to build."""
    return tuple(dict.fromkeys(metric.grain for metric in metrics))


def _index(
    frames: Mapping[str, pl.DataFrame], used: Sequence[Grain], key: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, pl.Series | None]]:
    """The keys of the results, sorted, the same in every frame; and how each frame comes there.

    A frame that stands in this order already, as nearly all do, needs no gathering: None.
    """
    keys = {grain.name: frames[grain.name][list(key)] for grain in used}
    first, *others = keys
    # Where keys stand nearly in order, sorting their places takes a sixth of sorting them.
    order = _places(keys[first], key)
    index = keys[first][order]
    orders: dict[str, pl.Series | None] = {first: None if index.equals(keys[first]) else order}
    for name in others:
        own = keys[name]
        orders[name] = None
        if own.equals(index):
            continue
        orders[name] = order = _places(own, key)
        if not own[order].equals(index):
            raise ContractError(
                f"the frames {first} and {name} hold different results",
                problems=[f"{index.height:,} and {own.height:,} rows"],
                fix="Build every frame over all expected results (items times samples).",
            )
    return index, orders


def _places(frame: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """The places of the rows in the order of the key."""
    return frame.select(pl.arg_sort_by(key)).to_series()


def _columns(
    frame: pl.DataFrame, metrics: Sequence[Metric], key: Sequence[str], order: pl.Series | None
) -> list[tuple[Floats, Codes]]:
    """Values and null codes of the metrics of one grain, in the order of the index."""
    values = [m.expr.cast(pl.Float64).alias(m.name) for m in metrics]
    # Metrics share their null rules, and each set of rules is tried once.
    rules = {id(m.nulls): m.nulls for m in metrics}
    reasons = [_code(nulls).alias(str(name)) for name, nulls in rules.items()]

    def made(first: int) -> list[pl.DataFrame]:
        # Lazily, so that expressions which several metrics share are computed once.
        # The key stands beside them, so that a constant has a value for every result.
        rows = frame[first : first + part].lazy()
        asked = [rows.select(*key, *exprs) for exprs in (values, reasons)]
        return pl.collect_all(asked, engine="in-memory")

    # One formula may take most of the time, and Polars computes it on one thread.
    part = max(PART_ROWS, -(-frame.height // pl.thread_pool_size()))
    if frame.height <= part:
        wide, codes = made(0)
    else:
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
            parts = pool.map(made, range(0, frame.height, part))
            wide, codes = map(pl.concat, zip(*parts, strict=True))
    if order is not None:
        wide, codes = wide[order], codes[order]
    return [
        (
            wide.get_column(m.name).to_numpy(),
            codes.get_column(str(id(m.nulls))).to_numpy(),
        )
        for m in metrics
    ]


@cache
def _code(nulls: tuple[Null, ...]) -> pl.Expr:
    """The code of the first null reason that holds, 0 where none does."""
    code: pl.Expr = pl.lit(0, dtype=pl.UInt8)
    for null in reversed(nulls):
        own = pl.lit(REASON_NAMES.index(null.reason) + 1, dtype=pl.UInt8)
        code = pl.when(null.expr).then(own).otherwise(code)
    return code


def _check(index: pl.DataFrame, metrics: Sequence[Metric], values: Floats, codes: Codes) -> None:
    """Refuse what no metric may publish; names the results."""
    low = np.array([-np.inf if m.low is None else m.low for m in metrics])
    high = np.array([np.inf if m.high is None else m.high for m in metrics])
    fine = np.isfinite(values) & (values >= low) & (values <= high)
    rows, places = np.nonzero(~fine & (codes == 0))
    if len(rows):
        named = index[rows].with_columns(
            metric=pl.Series([metrics[int(place)].name for place in places]),
            value=pl.Series(values[rows, places]),
        )
        metric = metrics[int(places[0])]
        raise ContractError(
            f"{len(rows):,} values break the declaration of their metric, first {metric.name}"
            f" (range {metric.low} to {metric.high}, null only for a declared reason)",
            problems=[str(row) for row in named.iter_rows(named=True)],
            fix="Correct the results named here; values are never clamped.",
        )
