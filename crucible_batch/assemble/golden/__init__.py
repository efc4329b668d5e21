"""Golden sets looked at: what is in one, which version it is, what changed, and is it ready."""

from __future__ import annotations

from crucible_batch.assemble.golden.diff import ItemChange, diff_sets
from crucible_batch.assemble.golden.material import Line
from crucible_batch.assemble.golden.readiness import Readiness, readiness
from crucible_batch.assemble.golden.run import check_set
from crucible_batch.assemble.golden.sets import GoldenVersion, item_detail, list_items, list_sets

__all__ = [
    "GoldenVersion",
    "ItemChange",
    "Line",
    "Readiness",
    "check_set",
    "diff_sets",
    "item_detail",
    "list_items",
    "list_sets",
    "readiness",
]
