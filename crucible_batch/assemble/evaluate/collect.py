"""Gather the buckets of a run: long tables on disk, numbers for the means in compact arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.assemble.evaluate.scoring import Scored
from crucible_batch.assemble.evaluate.subject import KEY
from crucible_batch.metrics.grid import Column, Grid, column_of_codes
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
        self._companions: list[dict[str, pl.DataFrame]] = []
        self._n_items = 0
        self._names = pl.Enum([metric.name for metric in metrics])
        self._outcomes: list[pl.DataFrame] = []
        self._classes: list[pl.DataFrame] = []

    def add(self, scored: Scored) -> None:
        """Take in the next bucket."""
        number = len(self._keys)
        coded = scored.scores.cast({"metric": self._names, "null_reason": _REASONS})
        coded.write_ipc(self.folder / f"scores-{number:06d}.arrow")
        scored.wide.write_ipc(self.folder / f"wide-{number:06d}.arrow")
        shape = (-1, len(self.metrics))
        reasons = coded["null_reason"].to_physical()
        codes = (reasons.cast(pl.Int16) + 1).fill_null(0).cast(pl.UInt8)
        self._values.append(scored.scores["value"].to_numpy().reshape(shape))
        self._reasons.append(codes.to_numpy().reshape(shape))
        self._keys.append(scored.scores.select(KEY).gather_every(len(self.metrics)))
        self._companions.append(self._compact(scored))
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
        return self._scan("scores").with_columns(pl.col("metric", "null_reason").cast(pl.String))

    def wide(self) -> pl.LazyFrame:
        """The table of results for people in key order, from disk."""
        return self._scan("wide")

    def column(self, place: int, grid: Grid) -> Column:
        """The scores of the metric at `place`, over all expected results."""
        values = np.concatenate([part[:, place] for part in self._values])
        codes = np.concatenate([part[:, place] for part in self._reasons])
        return column_of_codes(values, codes, grid)

    def companions_of(self, metric: Metric) -> pl.DataFrame:
        """What stands beside one retrieval metric; `item_id` is the place of the item."""
        rows = pl.concat([parts[metric.name] for parts in self._companions])
        return rows.cast(dict.fromkeys(_COMPACT, pl.Int64())).with_columns(
            metric=pl.lit(metric.name)
        )

    def _compact(self, scored: Scored) -> dict[str, pl.DataFrame]:
        """Companions by metric, ids replaced by places among the items of the run."""
        items = scored.scores.select(pl.col("item_id").unique(maintain_order=True))
        places = items.with_row_index("place", offset=self._n_items)
        self._n_items += items.height
        rows = scored.companions.join(places, on="item_id", maintain_order="left").drop(KEY)
        rows = rows.rename({"place": "item_id"})
        parts = rows.cast(pl.Schema({**rows.schema, **_COMPACT})).partition_by(
            "metric", as_dict=True, include_key=False
        )
        known = {str(name): part for (name,), part in parts.items()}
        empty = rows.clear().cast(pl.Schema({**rows.schema, **_COMPACT})).drop("metric")
        return {metric.name: known.get(metric.name, empty) for metric in self.metrics}

    def _scan(self, what: str) -> pl.LazyFrame:
        return pl.concat(
            pl.scan_ipc(path, glob=False) for path in sorted(self.folder.glob(f"{what}-*.arrow"))
        )
