"""Judge drift: thresholds, noise floor, the e-process, who moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crucible_batch.watch.judge_drift import (
    ALPHA,
    Calibration,
    Drift,
    JudgedNight,
    Wealth,
    attribute,
    calibrate,
    flip_p,
    follow,
    noise_floor,
)

START = datetime(2026, 5, 1, tzinfo=UTC)
ANCHORS = [f"a{n:02}" for n in range(20)]
SCALES = dict.fromkeys(ANCHORS, "verdict")


def calibration(word: str = "supported", *, models: tuple[str, ...] = ()) -> Calibration:
    """Twenty anchors, ten judgings each, never a flip."""
    return calibrate({anchor: [word] * 10 for anchor in ANCHORS}, models)


def night(number: int = 1, *, models: tuple[str, ...] = (), **other: str | None) -> JudgedNight:
    """A night in which all anchors stay supported, but those named."""
    verdicts = dict.fromkeys(ANCHORS, "supported") | other
    at = START + timedelta(days=number)
    return JudgedNight(as_of=at, verdicts=verdicts, models=frozenset(models))


def drift(n_flips: int = 0, **more) -> Drift:
    values = {"n_anchors": 20, "n_failed": 0, "f0": 0.02, "wealth": Wealth(), "new_models": ()}
    values |= {"as_of": START, "n_flips": n_flips, "p_flip": flip_p(n_flips, 20, 0.02)}
    return Drift(**(values | more))


@pytest.mark.parametrize(("n", "flips"), [(20, 4), (30, 5), (50, 6)])
def test_the_worked_thresholds_are_the_smallest_numbers_of_flips_that_alarm(n, flips):
    assert flip_p(flips, n, 0.02) <= ALPHA < flip_p(flips - 1, n, 0.02)


@settings(max_examples=80)
@given(st.integers(1, 60), st.data(), st.floats(0.001, 0.5))
def test_the_chance_of_so_many_flips_is_the_binomial_tail_of_scipy(n, data, f0):
    flips = data.draw(st.integers(0, n))
    expected = stats.binom.sf(flips - 1, n, f0)
    assert flip_p(flips, n, f0) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@settings(max_examples=60)
@given(st.integers(1, 300), st.data())
def test_the_noise_floor_is_the_clopper_pearson_bound_of_scipy(n, data):
    flips = data.draw(st.integers(0, n))
    # The upper end of a two-sided 90 % interval is the one-sided 95 % bound.
    expected = stats.binomtest(flips, n).proportion_ci(0.90, method="exact").high
    assert noise_floor(flips, n) == pytest.approx(expected, rel=1e-9)


def test_no_flip_in_a_hundred_judgings_is_no_proof_that_there_is_none():
    assert noise_floor(0, 100) == pytest.approx(1 - 0.05 ** (1 / 100), rel=1e-10)


def test_the_pinned_verdict_is_the_most_frequent_and_of_two_the_earlier():
    found = calibrate(
        {
            "often": ["missing", "supported", "supported", None, "supported", "supported"],
            "tie": ["partial", "missing", "missing", "partial", "contradicted"],
        }
    )
    assert found.pinned == {"often": "supported", "tie": "partial"}
    assert (found.n_judged, found.n_flips) == (10, 4)
    assert found.noise_floor == noise_floor(4, 10)


def test_an_anchor_with_too_few_answers_is_not_calibrated():
    found = calibrate({"a": ["supported"] * 4 + [None] * 6})
    assert (dict(found.pinned), found.noise_floor) == ({}, None)
    (after,) = follow(found, [night()], {})
    assert (after.n_anchors, after.p_flip, after.is_enough) == (0, None, False)


@settings(max_examples=60)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), max_size=60), st.floats(0, 0.3))
def test_the_wealth_is_that_of_a_textbook_loop(differences, noise):
    wealth = Wealth()
    for difference in differences:
        wealth = wealth.after(difference, noise)
    up = down = 1.0
    for place, difference in enumerate(differences):
        before = differences[:place]
        lean = max(0.0, abs(sum(before)) - noise * place)
        bet = min(0.5, lean / (1 + sum(d * d for d in before)))
        up, down = up * (1 + bet * difference), down * (1 - bet * difference)
    assert wealth.e_value == pytest.approx((up + down) / 2, rel=1e-9)


@settings(max_examples=40)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), max_size=40))
def test_a_bet_is_fair_whatever_came_before(differences):
    wealth = Wealth()
    for difference in differences:
        wealth = wealth.after(difference, 0.0)
    for one, other, now in zip(
        (wealth.after(1.0, 0.0), wealth.after(0.5, 0.0)),
        (wealth.after(-1.0, 0.0), wealth.after(-0.5, 0.0)),
        (wealth, wealth),
        strict=True,
    ):
        assert (one.up + other.up) / 2 == pytest.approx(now.up)
        assert (one.down + other.down) / 2 == pytest.approx(now.down)


def test_a_lean_both_ways_is_the_same_evidence():
    up, down = Wealth(), Wealth()
    for difference in (0.5, 0.0, 1.0, 1.0, -0.5, 1.0):
        up, down = up.after(difference, 0.01), down.after(-difference, 0.01)
    assert (up.up, up.down) == (down.down, down.up)
    assert up.e_value == down.e_value


def test_years_of_flips_stay_a_number():
    wealth = Wealth()
    for _ in range(5_000):
        wealth = wealth.after(-1.0, 0.0)
    assert wealth.e_value == pytest.approx(0.5e300)
    assert wealth.up > 0


def test_four_flips_of_twenty_are_an_alarm_of_that_night_alone():
    moved = dict.fromkeys(ANCHORS[:6], "missing")
    first, second = follow(calibration(), [night(1, **moved), night(2)], SCALES)
    assert (first.n_flips, first.n_anchors, first.moved) == (6, 20, True)
    assert (second.n_flips, second.p_flip, second.moved) == (0, 1.0, False)


def test_a_small_lean_every_night_is_found_by_the_bets():
    nights = [night(n, a03="missing", a11="missing") for n in range(1, 10)]
    found = follow(calibration(), nights, SCALES)
    assert all(one.p_flip > ALPHA for one in found)
    assert [one.moved for one in found][-1]
    assert found[0].wealth.e_value < found[-1].wealth.e_value


def test_the_anchors_of_a_night_are_bet_on_in_the_order_of_their_ids():
    said = dict.fromkeys(ANCHORS, "supported") | {"a02": "missing", "a17": "partial"}
    shuffled = dict(sorted(said.items(), key=lambda pair: pair[0][::-1]))
    nights = [
        [JudgedNight(as_of=START, verdicts=verdicts, models=frozenset())] * 3
        for verdicts in (said, shuffled)
    ]
    one, other = (follow(calibration(), some, SCALES) for some in nights)
    assert one == other


def test_a_failed_call_is_no_flip_and_a_malformed_one_is_a_flip_without_size():
    (found,) = follow(calibration(), [night(1, a01=None, a02="malformed")], SCALES)
    assert (found.n_anchors, found.n_failed, found.n_flips) == (20, 1, 1)
    assert found.p_flip == flip_p(1, 19, found.f0)
    assert found.wealth.n == 18


def test_an_anchor_that_came_after_the_calibration_is_not_counted():
    (found,) = follow(calibration(), [night(1, zz="missing")], SCALES)
    assert (found.n_anchors, found.n_flips) == (20, 0)


def test_another_model_string_is_an_alarm_by_itself():
    pinned = calibration(models=("m-2026-01",))
    same, other = follow(
        pinned, [night(1, models=("m-2026-01",)), night(2, models=("m-2026-04",))], SCALES
    )
    assert (same.alarm, other.alarm, other.moved) == (False, True, False)
    assert other.new_models == ("m-2026-04",)


def test_a_judge_without_a_model_string_is_not_suspected():
    (found,) = follow(calibration(), [night(1, models=("m",))], SCALES)
    assert not found.alarm


@pytest.mark.parametrize(
    ("flips", "judged", "free", "still", "who"),
    [
        (0, False, False, None, "none"),
        (0, True, False, None, "system"),
        (0, False, True, None, "system"),
        (4, False, False, None, "judge"),
        (4, True, False, None, "judge"),
        (4, True, False, True, "both"),
        (4, True, False, False, "judge"),
        (4, False, True, None, "both"),
    ],
)
def test_who_moved(flips, judged, free, still, who):
    said = attribute(drift(flips), judged_moved=judged, free_moved=free, still_moved=still)
    assert said == who


@pytest.mark.parametrize(
    ("counts", "who"),
    [
        ({"n_anchors": 19}, "unattributed"),
        ({"n_failed": 3}, "unattributed"),
        ({"n_failed": 2}, "judge"),
    ],
)
def test_few_anchors_or_many_failures_leave_it_open(counts, who):
    assert attribute(drift(4, **counts), judged_moved=True, free_moved=False) == who
