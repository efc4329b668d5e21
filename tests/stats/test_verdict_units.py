"""How many items a margin asks for."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.stats.verdict import is_enough_for, units_needed


@settings(max_examples=200)
@given(st.floats(min_value=1e-12, max_value=10, exclude_min=True))
def test_as_many_units_as_are_told_are_enough_and_one_less_is_not(margin):
    needed = units_needed(margin)
    assert needed is not None
    assert is_enough_for(needed + 1, margin)
    assert needed == 1 or not is_enough_for(needed - 1, margin - 1e-9 * margin)


def test_a_margin_that_no_number_of_units_can_show_asks_for_none():
    assert units_needed(1e-308) is None
    assert units_needed(5e-324) is None
