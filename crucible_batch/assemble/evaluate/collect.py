"""Gather the buckets of a run: scores in compact arrays, the table for people on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from crucible_batch.assemble.evaluate.scoring import Scored
from crucible_batch.metrics.companions import Companions
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.grid import Column, Grid, column_of_codes
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.results import RunCounts
from crucible_batch.metrics.score import ScoreTable

PIECE = 5_000
"""Results whose long scores are made at a time."""


class Collection:
    """All buckets of a run, in key order.

    Memory per result: 9 bytes and metric, 8 more for a retrieval metric with bounds, and 13 per
    cut-off.
    """

    def __init__(self, folder: Path, metrics: Sequence[Metric], n_results: int) -> None:
        self.folder = folder
        self.metrics = list(metrics)
        self.counts = RunCounts(0, 0, 0, 0, 0, 0)
        self.n_blank_contexts = 0
        # Whole from the start: parts that live on between buckets would leave holes in the heap.
        self._values = np.empty((len(metrics), n_results))
        self._codes = np.empty((len(metrics), n_results), np.uint8)
        self._keys: list[pl.DataFrame] = []
        ranked = [metric for metric in metrics if metric.grain is RANKING]
        self.companions = Companions.room(ranked, n_results)
        self._outcomes: list[pl.DataFrame] = []
        self._classes: list[pl.Series] = []

    def add(self, scored: Scored) -> None:
        """Take in the next bucket."""
        number = len(self._keys)
        scored.wide.write_ipc(self.folder / f"wide-{number:06d}.arrow")
        start = self.counts.n_expected
        stop = start + scored.scores.index.height
        self._values[:, start:stop] = scored.scores.values.T
        self._codes[:, start:stop] = scored.scores.codes.T
        self._keys.append(scored.scores.index)
        self.companions.put(start, scored.companions)
        self._outcomes.append(scored.outcomes)
        self._classes.append(scored.wide["error_class"])
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
    def classes(self) -> pl.Series:
        """The error class of every expected result."""
        return pl.concat(self._classes)

    def scores(self) -> pl.LazyFrame:
        """Long scores in key order, made while they are read."""
        keys = self.keys

        def long(start: int, stop: int) -> pl.DataFrame:
            values, codes = self._values[:, start:stop].T, self._codes[:, start:stop].T
            return ScoreTable(keys[start:stop], self.metrics, values, codes).long()

        def pieces(
            columns: list[str] | None, where: pl.Expr | None, n_rows: int | None, _: int | None
        ) -> Iterator[pl.DataFrame]:
            left = n_rows
            for start in range(0, keys.height, PIECE):
                rows = long(start, start + PIECE)[:left]
                left = None if left is None else left - rows.height
                rows = rows if where is None else rows.filter(where)
                yield rows if columns is None else rows.select(columns)

        return register_io_source(pieces, schema=long(0, 0).schema)

    def wide(self) -> pl.LazyFrame:
        """The table of results for people in key order, from disk."""
        parts = sorted(self.folder.glob("wide-*.arrow"))
        return pl.concat(pl.scan_ipc(path, glob=False) for path in parts)

    def values(self, place: int) -> NDArray[np.float64]:
        """The scores of the metric at `place`, over all expected results; NaN where none is."""
        values: NDArray[np.float64] = self._values[place]
        return values

    def column(self, place: int, grid: Grid) -> Column:
        """The metric at `place`, over all expected results: scores, and what each counts as."""
        return column_of_codes(self.values(place), self._codes[place], grid)
