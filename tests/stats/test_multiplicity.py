import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.errors import UsageError
from crucible_batch.stats.multiplicity import METHODS, adjust_pvalues

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def slow_adjusted(p: list[float], method: str) -> list[float]:
    """The definitions, one test at a time."""
    n = len(p)
    by_size = sorted(range(n), key=lambda k: p[k])
    penalty = sum(1 / k for k in range(1, n + 1)) if method == "by" else 1
    out = [0.0] * n
    for rank, k in enumerate(by_size):
        if method == "holm":
            reached = max((n - r) * p[by_size[r]] for r in range(rank + 1))
        else:
            reached = min(penalty * n / (r + 1) * p[by_size[r]] for r in range(rank, n))
        out[k] = min(1.0, reached)
    return out


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(p=p_values)
def test_adjusted_p_follow_the_definitions(method: str, p: list[float]) -> None:
    assert adjust_pvalues(p, method).tolist() == pytest.approx(slow_adjusted(p, method))


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(p=p_values)
def test_adjusting_never_lowers_p_or_changes_their_order(method: str, p: list[float]) -> None:
    adjusted = adjust_pvalues(p, method)
    assert (adjusted >= np.array(p) * (1 - 1e-15)).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


def test_a_test_that_was_not_made_is_not_in_the_family() -> None:
    adjusted = adjust_pvalues([0.01, None, 0.04, float("nan")])
    assert adjusted[[0, 2]].tolist() == [0.02, 0.04]
    assert np.isnan(adjusted[[1, 3]]).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_family_of_one_or_none_is_left_alone(method: str) -> None:
    assert adjust_pvalues([0.03], method).tolist() == [0.03]
    assert adjust_pvalues([], method).tolist() == []


def test_the_input_is_not_changed() -> None:
    p = np.array([0.01, 0.02])
    adjust_pvalues(p)
    assert p.tolist() == [0.01, 0.02]


def test_an_impossible_p_or_method_is_refused() -> None:
    with pytest.raises(UsageError, match=r"position 1: 1\.5"):
        adjust_pvalues([0.1, 1.5])
    with pytest.raises(UsageError, match="holm, bh, by"):
        adjust_pvalues([0.1], "bonferroni")
