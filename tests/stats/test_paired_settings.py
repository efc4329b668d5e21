"""Arguments of a comparison that would make a verdict of nothing are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crucible_batch import paired_comparison
from crucible_batch.errors import UsageError

ITEMS = [f"q{n}" for n in range(24)]
ZEROS, ONES = np.zeros(24), np.ones(24)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_items", float("nan")),
        ("min_items", 0),
        ("min_items", -1),
        ("min_items", "x"),
        ("min_items", True),
        ("n_resamples", 10.5),
        ("n_resamples", 0),
        ("seed", 1.5),
        ("seed", None),
        ("seed", -1),
        ("higher_is_better", "x"),
        ("higher_is_better", 1),
    ],
)
def test_an_argument_of_no_meaning_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name):
        paired_comparison(ITEMS, ZEROS, ONES, **{name: value})


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    done = paired_comparison(ITEMS, ZEROS, ONES, min_items=np.int64(20), seed=np.uint64(7))
    assert done.verdict == "improved"
