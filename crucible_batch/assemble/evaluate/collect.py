"""Gather the buckets of a run: long tables on disk, numbers for the means in compact arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.assemble.evaluate.scoring import Scored
from crucible_batch.assemble.evaluate.subject import KEY
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.nulls import REASONS
from crucible_batch.metrics.results import RunCounts

_REASONS = pl.Enum([reason.name for reason in REASONS])
_COMPACT: dict[str, pl.DataType] = {
    "n_read": pl.Int32(),
    "n_judged": pl.Int32(),
    "n_by_llm": pl.Int32(),
    "n_dropped": pl.Int32(),
}


class Collection:
    """All buckets of a run, in key order.

    Memory per result and metric: 9 bytes, and 38 for a retrieval metric.
    """

    def __init__(self, folder: Path, metrics: Sequence[Metric]) -> None:
        self.folder = folder
        self.metrics = list(metrics)
        self.counts = RunCounts(0, 0, 0, 0, 0, 0)
        self.n_blank_contexts = 0
        self._values: list[NDArray[np.float64]] = []
        self._reasons: list[NDArray[np.uint8]] = []
        self._keys: list[pl.DataFrame] = []
        self._companions: list[pl.DataFrame] = []
        self._outcomes: list[pl.DataFrame] = []
        self._classes: list[pl.DataFrame] = []

    def add(self, scored: Scored) -> None:
        """Take in the next bucket."""
        number = len(self._keys)
        scored.scores.write_parquet(self.folder / f"scores-{number:06d}.parquet", compression="lz4")
        scored.wide.write_parquet(self.folder / f"wide-{number:06d}.parquet", compression="lz4")
        shape = (-1, len(self.metrics))
        reasons = scored.scores["null_reason"].cast(_REASONS).to_physical()
        codes = (reasons.cast(pl.Int16) + 1).fill_null(0).cast(pl.UInt8)
        self._values.append(scored.scores["value"].to_numpy().reshape(shape))
        self._reasons.append(codes.to_numpy().reshape(shape))
        self._keys.append(scored.scores.select(KEY).gather_every(len(self.metrics)))
        self._companions.append(
            scored.companions.cast(pl.Schema({**scored.companions.schema, **_COMPACT}))
        )
        self._outcomes.append(scored.outcomes)
        self._classes.append(scored.wide.select("item_id", "error_class"))
        self.counts += scored.counts
        self.n_blank_contexts += scored.n_blank_contexts

    @property
    def keys(self) -> pl.DataFrame:
        """Key of every expected result."""
        return pl.concat(self._keys)

    @property
    def outcomes(self) -> pl.DataFrame:
        """The `outcome` grain of the run."""
        return pl.concat(self._outcomes)

    @property
    def classes(self) -> pl.DataFrame:
        """item_id and error_class of every expected result."""
        return pl.concat(self._classes)

    def scores(self) -> pl.LazyFrame:
        """Long scores in key order, from disk."""
        return self._scan("scores")

    def wide(self) -> pl.LazyFrame:
        """The table of results for people in key order, from disk."""
        return self._scan("wide")

    def by_metric(self) -> Iterator[tuple[Metric, pl.DataFrame]]:
        """Every metric with its scores of all expected results."""
        keys = self.keys
        names = pl.Series([None, *_REASONS.categories], dtype=pl.String)
        for place, metric in enumerate(self.metrics):
            values = np.concatenate([part[:, place] for part in self._values])
            codes = np.concatenate([part[:, place] for part in self._reasons])
            value = pl.Series("value", values, nan_to_null=True)
            yield (
                metric,
                keys.with_columns(
                    value, metric=pl.lit(metric.name), null_reason=names.gather(codes)
                ),
            )

    def companions_of(self, metric: Metric) -> pl.DataFrame:
        """What stands beside one retrieval metric."""
        name = pl.col("metric").cast(pl.String) == metric.name
        rows = pl.concat([part.filter(name) for part in self._companions])
        return rows.cast(dict.fromkeys(_COMPACT, pl.Int64())).cast({"metric": pl.String})

    def _scan(self, what: str) -> pl.LazyFrame:
        paths = sorted(self.folder.glob(f"{what}-*.parquet"))
        return pl.scan_parquet(paths, glob=False)
