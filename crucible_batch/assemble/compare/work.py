"""The numbers of one comparison: per-item values, tested cells, and the rows made of them."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.assemble.compare.beside import Beside
from crucible_batch.assemble.compare.options import CompareOptions
from crucible_batch.assemble.compare.rows import OVERALL, Cell, direction, with_verdicts
from crucible_batch.assemble.compare.run_numbers import (
    Numbers,
    declared_run_metrics,
    side_by_side,
    without_pairs,
)
from crucible_batch.assemble.compare.sides import Matched, Side, blocked_reason, golden_of
from crucible_batch.assemble.compare.values import (
    ItemValues,
    item_rows,
    item_values,
    sampling_variance,
)
from crucible_batch.assemble.evaluate import Options
from crucible_batch.assemble.evaluate.ruler import hash_over, load_ruler
from crucible_batch.assemble.evaluate.work import is_plugin
from crucible_batch.contracts import TABLES
from crucible_batch.metrics import catalog
from crucible_batch.metrics.metric import Declaration, Metric
from crucible_batch.metrics.plugins import plugin_metrics
from crucible_batch.settings import Settings
from crucible_batch.sql import query
from crucible_batch.stats.comparison import MetricValues, PairedComparison
from crucible_batch.stats.comparison import Settings as HowToTest
from crucible_batch.stats.paired import paired_many
from crucible_batch.store import Snapshot, combined_hash

COMPARISONS, ITEMS = TABLES["comparisons"], TABLES["comparison_items"]


class Work:
    """Two scored runs and all that is computed of them."""

    def __init__(
        self,
        snapshot: Snapshot,
        baseline: Side,
        candidate: Side,
        matched: Matched,
        options: CompareOptions,
        settings: Settings,
    ) -> None:
        self.baseline, self.candidate, self.matched = baseline, candidate, matched
        self.options, self.settings = options, settings
        self.golden, self.citations = golden_of(snapshot, candidate, baseline, matched)
        self.ruler_hash = self._ruler_hash(snapshot)
        self._declared = snapshot.read("plugin_metrics").drop("_commit").collect()
        self.values: dict[str, MetricValues] = {}
        self.metrics = self._read()
        self.numbers = (_numbers(baseline), _numbers(candidate))
        self._beside = Beside(snapshot, self)
        self.comparison_id = combined_hash(self._identity())[:32]

    def _ruler_hash(self, snapshot: Snapshot) -> str:
        """The ruler of both sides; of two golden-set versions, the part over the paired items."""
        if not self.matched.golden_set_changed:
            return str(self.candidate.row["ruler_hash"])
        ruler = load_ruler(
            snapshot, self.candidate.row["golden_set_hash"], Options().grading(self.settings)
        )
        return hash_over(ruler, self.matched.paired)

    def _read(self) -> dict[str, Metric]:
        """Read the values of both sides; return the metrics of either, by name."""
        old, new = (
            dict(item_values(one.evaluation.scan("scores"), self.matched.items))
            for one in (self.baseline, self.candidate)
        )
        names = sorted({*old, *new})
        plugins = plugin_metrics(pl.DataFrame({"metric": names}), self._declared)
        known = catalog.result_metrics(catalog.for_ks(self.settings.scoring.ks))
        declared = {metric.name: metric for metric in (*known, *plugins)}
        metrics = {name: declared[name] for name in names}
        nothing = np.full(len(self.matched.items), np.nan)
        absent = ItemValues(nothing, nothing)
        for name, metric in metrics.items():
            one, other = old.get(name, absent), new.get(name, absent)
            self.values[name] = MetricValues(
                one.mean,
                other.mean,
                direction(metric),
                scale=metric.scale,
                sampling_variance=sampling_variance(one, other, metric.scale),
            )
        return metrics

    def _identity(self) -> dict[str, Any]:
        statistics = self.settings.statistics
        return {
            "baseline": self.baseline.row["evaluation_id"],
            "candidate": self.candidate.row["evaluation_id"],
            "unit": self.options.unit,
            "adjust": self.options.adjusting(self.settings),
            "min_items": statistics.min_items,
            "small_sample": statistics.small_sample,
            "margins": {},
            "ci_method": "auto",
            "allow_golden_change": self.options.allow_golden_change,
            "seed": statistics.seed,
            "n_resamples": statistics.n_resamples,
        }

    def about(self) -> dict[str, str]:
        """Footer of the files."""
        named = {
            "comparison_id": self.comparison_id,
            "baseline_evaluation_id": self.baseline.row["evaluation_id"],
            "baseline_rows_hash": self.baseline.row["rows_hash"],
            "candidate_evaluation_id": self.candidate.row["evaluation_id"],
            "candidate_rows_hash": self.candidate.row["rows_hash"],
            "ruler_hash": self.ruler_hash,
            "golden_set_hash": self.candidate.row["golden_set_hash"],
            "settings_hash": self.settings.hash,
        }
        return {f"crucible.{name}": text for name, text in named.items()}

    def rows(self) -> pl.DataFrame:
        """Rows of `comparisons`."""
        cells = with_verdicts(
            self._cells(),
            adjust=self.options.adjusting(self.settings),
            min_items=self.settings.statistics.min_items,
        )
        common = {
            "workspace_id": self.baseline.row["workspace_id"],
            "comparison_id": self.comparison_id,
            "baseline_run_id": self.baseline.row["run_id"],
            "candidate_run_id": self.candidate.row["run_id"],
            "golden_set_changed": self.matched.golden_set_changed,
            "n_content_changed": self.matched.n_content_changed,
            "ruler_hash": self.ruler_hash,
        }
        rows = [
            {name: getattr(cell.tested, name) for name in _TESTED}
            | common
            | self._beside.columns(cell, self._places[cell.slice_name])
            | {
                "slice_by": cell.slice_name[0],
                "slice": cell.slice_name[1],
                "metric": cell.metric.name,
                "blocked_reason": cell.blocked,
            }
            for cell in cells
        ]
        return pl.DataFrame(rows, schema=COMPARISONS.schema)

    def _cells(self) -> list[Cell]:
        """Every metric overall, and in every slice where it has pairs; then numbers of the runs."""
        overall = self._tested(self._places[OVERALL], self.options.unit)
        unit = next(iter(overall.values())).unit
        cells = [self._cell(OVERALL, self.metrics[name], one) for name, one in overall.items()]
        done: dict[bytes, dict[str, PairedComparison]] = {}
        for slice_name, places in self._places.items():
            if slice_name == OVERALL:
                continue
            # Slices of the same items (the many tags of one item) have the same numbers.
            same = places.tobytes()
            if same not in done:
                tested = self._tested(places, unit)
                done[same] = {name: one for name, one in tested.items() if one.n_pairs}
            cells += [
                self._cell(slice_name, self.metrics[name], one) for name, one in done[same].items()
            ]
        return cells + self._of_runs(unit)

    def _of_runs(self, unit: str) -> list[Cell]:
        """Cells of metrics that are one number per run."""
        known, blank = (
            catalog.for_ks(self.settings.scoring.ks),
            without_pairs(self._how(unit), unit),
        )
        metrics = declared_run_metrics(known, self.numbers, self._declared, of_results=self.metrics)
        return [
            self._cell(slice_name, metric, tested)
            for metric in metrics.values()
            for slice_name, tested in side_by_side(
                self.numbers[0],
                self.numbers[1],
                metric,
                blank=blank,
                is_comparable=not self.matched.golden_set_changed,
            ).items()
            if slice_name in self._places
        ]

    @cached_property
    def _places(self) -> dict[tuple[str, str], NDArray[np.intp]]:
        """The whole set and every slice, with the places of its items."""
        rows = query("slices", {"items": self.golden}).filter(pl.col("slice_by") != "all")
        place = {item: number for number, item in enumerate(self.matched.items)}
        groups = rows.group_by("slice_by", "slice", maintain_order=True).agg("item_id")
        whole = np.arange(len(self.matched.items), dtype=np.intp)
        return {OVERALL: whole} | {
            (by, name): np.array([place[item] for item in items], dtype=np.intp)
            for by, name, items in groups.iter_rows()
        }

    def _cell(
        self, slice_name: tuple[str, str], metric: Declaration, tested: PairedComparison
    ) -> Cell:
        is_declared = not is_plugin(metric.name) or metric.name in set(self._declared["metric"])
        return Cell(
            slice_name=slice_name,
            metric=metric,
            tested=tested,
            blocked=blocked_reason(
                self.baseline,
                self.candidate,
                metric,
                allow_golden_change=self.options.allow_golden_change,
            ),
            is_tested=is_declared and isinstance(metric, Metric),
        )

    def _tested(self, places: NDArray[np.intp], unit: str) -> dict[str, PairedComparison]:
        """Test every metric over some of the items."""
        where = pl.Series(places)
        subset = {
            name: MetricValues(
                one.baseline[places],
                one.candidate[places],
                one.higher_is_better,
                scale=one.scale,
                sampling_variance=one.sampling_variance[places],
            )
            for name, one in self.values.items()
        }
        return paired_many(
            self.matched.items.gather(where).to_list(),
            subset,
            clusters=self.golden["cluster_id"].gather(where).to_list(),
            in_baseline=self.matched.in_baseline.gather(where).to_numpy(),
            in_candidate=self.matched.in_candidate.gather(where).to_numpy(),
            settings=self._how(unit),
        )

    def _how(self, unit: str) -> HowToTest:
        statistics = self.settings.statistics
        return HowToTest(
            seed=statistics.seed,
            n_resamples=statistics.n_resamples,
            min_items=statistics.min_items,
            small_sample=statistics.small_sample,
            unit=unit,
        )

    def items(self) -> pl.DataFrame:
        """Rows of `comparison_items`: every pair of every metric.

        `baseline` and `candidate` are the values of the item as measured, `delta` what was tested:
        their difference, ln(candidate / baseline) for a metric on the log scale.
        """
        constants = {
            "workspace_id": pl.lit(self.baseline.row["workspace_id"]),
            "comparison_id": pl.lit(self.comparison_id),
        }
        rows = item_rows(self.matched.items, self.values, self.matched.is_paired.to_numpy())
        return rows.with_columns(**constants).select(ITEMS.names)


_TESTED = [field.name for field in fields(PairedComparison)]


def _numbers(one: Side) -> Numbers:
    """Mean and judged share of every metric of a run, by slice."""
    columns = ("slice_by", "slice", "metric", "mean", "judged_share")
    rows = one.evaluation.read("run_metrics").select(columns)
    return {
        (row["slice_by"], row["slice"], row["metric"]): row for row in rows.iter_rows(named=True)
    }
