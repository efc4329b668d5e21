"""What stands beside a comparison: how both runs were judged, and what the judge itself changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crucible_batch.assemble.compare.anchors import Anchors, anchors
from crucible_batch.assemble.compare.judged_only import judged_only_values
from crucible_batch.assemble.compare.rows import OVERALL, Cell, is_unequally_judged
from crucible_batch.assemble.compare.values import Floats, item_deltas, mean_delta
from crucible_batch.assemble.evaluate import Options
from crucible_batch.assemble.evaluate.ruler import load_ruler
from crucible_batch.store import Snapshot

if TYPE_CHECKING:
    from crucible_batch.assemble.compare.work import Work

Places = NDArray[np.intp]


class Beside:
    """The columns of `comparisons` that no resampling is needed for."""

    def __init__(self, snapshot: Snapshot, work: Work) -> None:
        self._work = work
        self._condensed = self._judged_only(snapshot)
        judged = [name for name, metric in work.metrics.items() if metric.uses_judge]
        self._of_judge = frozenset(judged)
        self._anchors: Mapping[str, Anchors] = (
            anchors(snapshot, work.baseline, work.candidate, work.matched.items, judged)
            if judged
            else {}
        )

    def columns(self, cell: Cell, places: Places) -> dict[str, Any]:
        """The columns of one cell.

        Args:
            cell: The cell, with its verdict.
            places: Places of its items.
        """
        before, after = self._shares(cell.slice_name, cell.metric.name)
        n_alike, alike = self._alike(cell.metric.name, places)
        return {
            "judged_at_k_baseline": before,
            "judged_at_k_candidate": after,
            "unequal_judging": is_unequally_judged(cell.tested, before, after),
            "delta_judged_only": self._delta_judged_only(cell, places),
            "n_identical_answers": n_alike,
            "delta_identical_answers": alike,
        }

    def _shares(self, slice_name: tuple[str, str], metric: str) -> tuple[float | None, ...]:
        """Judged share of what the metric reads, in the baseline and in the candidate."""
        found = (numbers.get((*slice_name, metric)) for numbers in self._work.numbers)
        return tuple(None if row is None else row["judged_share"] for row in found)

    def _judged_only(self, snapshot: Snapshot) -> list[Mapping[str, Floats]]:
        """Per-item values of either run over judged documents, where any document is unjudged."""
        work = self._work
        open_ = [
            metric
            for name, metric in work.metrics.items()
            if any(share is not None and share < 1 for share in self._shares(OVERALL, name))
        ]
        if not open_:
            return []
        grading = Options().grading(work.settings)
        return [
            judged_only_values(
                snapshot,
                one,
                load_ruler(snapshot, one.row["golden_set_hash"], grading),
                work.matched.items,
                open_,
                work.settings,
            )
            for one in (work.baseline, work.candidate)
        ]

    def _delta_judged_only(self, cell: Cell, places: Places) -> float | None:
        name = cell.metric.name
        if None in self._shares(cell.slice_name, name) or name not in self._work.values:
            return None
        if not self._condensed or name not in self._condensed[0]:
            return cell.tested.delta  # every document is judged: the rankings are the same
        values, is_paired = self._work.values[name], self._work.matched.is_paired.to_numpy()
        kept, _ = item_deltas(values, is_paired)
        old, new = (side[name] for side in self._condensed)
        kept = kept & ~np.isnan(old) & ~np.isnan(new)
        inside = places[kept[places]]
        return mean_delta(old[inside], new[inside])

    def _alike(self, metric: str, places: Places) -> tuple[int | None, float | None]:
        """Results answered alike that carry the metric, and the mean change of its value there."""
        if metric not in self._of_judge:
            return None, None
        found = self._anchors.get(metric)
        if found is None:
            return 0, None
        inside = np.zeros(len(self._work.matched.items), dtype=np.bool_)
        inside[places] = True
        kept = (inside & self._work.matched.is_paired.to_numpy())[found.place]
        delta = mean_delta(found.baseline[kept], found.candidate[kept])
        return int(np.count_nonzero(kept)), delta
