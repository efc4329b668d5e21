"""How often an unchanged judge is suspected, and how soon a lean of a tenth is found.

The simulation is written with numpy, all series at once; on some of the series it is held against
the code that nights run.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from crucible_batch.watch.judge_drift import ALPHA, E_ALARM, JudgedNight, calibrate, follow

SERIES, ANCHORS, NIGHTS, REPEATS = 4_000, 20, 60, 10
IDS = [f"a{n:02}" for n in range(ANCHORS)]
START = datetime(2026, 5, 1, tzinfo=UTC)


def draw(
    seed: int, n_supported: int, noise: float, lean: float, nights: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Verdicts at calibration and after it, supported or missing.

    Args:
        seed: Of the draws.
        n_supported: Anchors that are supported, the others are missing.
        noise: Share of verdicts that are the other one.
        lean: Share of all later verdicts that are missing whatever they were.
        nights: How many nights.

    Returns:
        Shapes (series, repeats, anchors) and (series, nights, anchors).
    """
    rng = np.random.default_rng(seed)
    truth = np.arange(ANCHORS) < n_supported
    good = truth ^ (rng.random((SERIES, REPEATS + nights, ANCHORS)) < noise)
    good[:, REPEATS:] &= rng.random((SERIES, nights, ANCHORS)) >= lean
    return good[:, :REPEATS], good[:, REPEATS:]


def alarms(calibration: NDArray[np.bool_], later: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each night of each series is an alarm, shape (series, nights)."""
    n_good = calibration.sum(axis=1)
    pinned = (n_good > REPEATS / 2) | ((2 * n_good == REPEATS) & calibration[:, 0])
    flips = (calibration != pinned[:, None, :]).sum(axis=(1, 2))
    floor, noise = (
        stats.beta.ppf(level, flips + 1, REPEATS * ANCHORS - flips) for level in (0.95, 0.99)
    )
    total, squares, up, down = np.zeros(SERIES), np.zeros(SERIES), np.ones(SERIES), np.ones(SERIES)
    found = []
    for night, good in enumerate(later.swapaxes(0, 1)):
        for anchor in range(ANCHORS):
            seen = night * ANCHORS + anchor
            bet = np.clip((np.abs(total) - noise * seen) / (squares + 1), 0, 0.5)
            change = good[:, anchor].astype(float) - pinned[:, anchor]
            up, down = up * (1 + bet * change), down * (1 - bet * change)
            total, squares = total + change, squares + change**2
        tail = stats.binom.sf((good != pinned).sum(axis=1) - 1, ANCHORS, floor)
        found.append((tail <= ALPHA) | ((up + down) / 2 >= E_ALARM))
    return np.stack(found, axis=1)


def followed(calibration: NDArray[np.bool_], later: NDArray[np.bool_]) -> list[bool]:
    """One series as the nights follow it."""
    words = {True: "supported", False: "missing"}
    said = {anchor: [words[v] for v in calibration[:, n].tolist()] for n, anchor in enumerate(IDS)}
    nights = [
        JudgedNight(
            as_of=START + timedelta(days=number),
            verdicts={anchor: words[v] for anchor, v in zip(IDS, row, strict=True)},
            models=frozenset(),
        )
        for number, row in enumerate(later.tolist())
    ]
    return [one.moved for one in follow(calibrate(said), nights, dict.fromkeys(IDS, "verdict"))]


@pytest.mark.parametrize(("noise", "lean"), [(0.03, 0.0), (0.0, 0.1), (0.03, 0.2)])
def test_the_simulation_follows_a_judge_as_the_nights_do(noise, lean):
    calibration, later = draw(7, ANCHORS // 2, noise, lean, 12)
    some = slice(0, 15)
    expected = [followed(c, night) for c, night in zip(calibration[some], later[some], strict=True)]
    assert alarms(calibration, later)[some].tolist() == expected


@pytest.mark.slow  # 2 s for all six
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.02])
@pytest.mark.parametrize("n_supported", [ANCHORS // 2, ANCHORS])
def test_sixty_unchanged_nights_raise_an_alarm_in_one_of_a_hundred_at_most(n_supported, noise):
    found = alarms(*draw(20_260, n_supported, noise, 0.0, NIGHTS))
    share = found.any(axis=1).mean()
    print(f"\n{n_supported} of {ANCHORS} supported, noise {noise}: {share:.2%}")  # noqa: T201
    assert share <= 0.01


@pytest.mark.slow  # 1 s
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.02])
def test_a_lean_of_a_tenth_is_found_by_night_nine_in_most_series(noise):
    found = alarms(*draw(20_261, ANCHORS, noise, 0.10, 9))
    share = found.any(axis=1).mean()
    print(f"\nnoise {noise}: {share:.1%} found by night 9")  # noqa: T201
    assert share >= 0.65
