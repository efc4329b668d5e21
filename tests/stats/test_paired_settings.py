"""Arguments of a comparison that would make a verdict of nothing are refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crucible_batch import paired_comparison
from crucible_batch.errors import ContractError, UsageError

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
        ("n_resamples", 1),
        ("n_resamples", 39),
        ("confidence", "x"),
        ("confidence", None),
        ("confidence", True),
        ("confidence", float("nan")),
        ("margin", "x"),
        ("margin", 0),
        ("margin", True),
        ("margin", float("inf")),
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


def test_as_many_resamples_as_leave_one_in_each_tail_are_enough() -> None:
    assert paired_comparison(ITEMS, ZEROS, ONES, n_resamples=40).n_resamples == 40
    with pytest.raises(UsageError, match="at least 200"):
        paired_comparison(ITEMS, ZEROS, ONES, n_resamples=199, confidence=0.99)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_an_item_without_id_is_refused_however_it_is_spelled(missing: Any) -> None:
    with pytest.raises(ContractError, match="row 3"):
        paired_comparison([*ITEMS[:3], missing, *ITEMS[4:]], ZEROS, ONES)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_items_without_a_cluster_stand_alone_however_it_is_spelled(missing: Any) -> None:
    done = paired_comparison(ITEMS, ZEROS, ONES, clusters=[missing] * len(ITEMS))
    assert (done.unit, done.n_units) == ("item", len(ITEMS))


@pytest.mark.parametrize("spelled", ["None", "nan", "NaN", "<NA>", "NaT"])
def test_a_missing_cluster_that_became_text_is_refused(spelled: str) -> None:
    clusters = ["c1", "c1", spelled, *[spelled] * (len(ITEMS) - 3)]
    with pytest.raises(ContractError, match=f"row 2: '{spelled}'"):
        paired_comparison(ITEMS, ZEROS, ONES, clusters=np.array(clusters))


@pytest.mark.parametrize(
    "value", ["1", "x", 1j, np.complex128(1), b"1", np.datetime64("2026-05-01"), [1]]
)
@pytest.mark.parametrize("as_array", [True, False])
def test_a_value_that_is_no_real_number_is_refused_with_its_item(
    value: Any, *, as_array: bool
) -> None:
    values = [0.0, value, *ZEROS[2:]]
    if as_array:
        values = np.empty(len(ITEMS), dtype=object)
        values[:] = 0.0
        values[1] = value
    with pytest.raises(ContractError, match="no number") as caught:
        paired_comparison(ITEMS, values, ONES)
    assert repr(ITEMS[1]) in str(caught.value)


@pytest.mark.parametrize("dtype", ["U3", "complex128", "datetime64[D]"])
def test_an_array_of_another_type_is_refused(dtype: str) -> None:
    with pytest.raises(ContractError, match="no number"):
        paired_comparison(ITEMS, np.zeros(len(ITEMS), dtype=dtype), ONES)


def test_decimals_booleans_and_missing_values_of_pandas_are_numbers() -> None:
    given = [Decimal("0.5"), True, np.bool_(1), np.int8(1), pd.NA, None]
    done = paired_comparison("abcdef", given, [1.0] * 6)
    assert (done.n_pairs, done.n_missing_baseline, done.mean_baseline) == (4, 2, 0.875)
    series = pd.Series([1, None, 1], dtype="Int64")
    assert paired_comparison("abc", series, [1.0] * 3).n_missing_baseline == 1
