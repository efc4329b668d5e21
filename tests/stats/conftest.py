"""Builders for comparisons: a run is a list of values, its items are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from crucible_batch.stats.comparison import PairedComparison
from crucible_batch.stats.paired import paired_comparison


class Compare:
    """Compares deltas, or two runs, with items named q000000, q000001, …"""

    @staticmethod
    def names(n_items: int) -> list[str]:
        return [f"q{k:06}" for k in range(n_items)]

    def runs(
        self, baseline: Sequence[float], candidate: Sequence[float], **options: Any
    ) -> PairedComparison:
        return paired_comparison(self.names(len(baseline)), baseline, candidate, **options)

    def deltas(self, deltas: Sequence[float], **options: Any) -> PairedComparison:
        return self.runs(np.zeros(len(deltas)), deltas, **options)


@pytest.fixture
def compare() -> Compare:
    return Compare()
