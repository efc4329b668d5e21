"""Did the judge change? Frozen anchors, judged again every night, held against their calibration.

Two tests stand side by side. The flip alarm sees a judge that changed at once: so many verdicts
other than the pinned ones are too many for its noise. The e-process sees one that leans a little
every night: a gambler bets, night after night, that verdicts go up (W+) or down (W-); without a
lean nobody gets rich, whenever one looks (Ville 1939: P(ever >= 100) <= 1 %).

All functions are pure; nights and anchors come in order, so the same rows give the same bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from scipy.special import betainc, betaincinv

MIN_REPEATS = 5
"""Fewest judgings of an anchor at calibration."""

MIN_ANCHORS = 20
"""With fewer anchors nothing is said about who moved."""

MOST_FAILED = 0.10
"""With a larger share of failed calls nothing is said about who moved."""

CONFIDENCE = 0.95
"""Of the noise floor that flips are held against."""

BET_CONFIDENCE = 0.99
"""Of the noise that nobody bets on: a floor too low by chance would be bet on night after night."""

ALPHA = 0.001
"""Chance of so many flips from noise, at or below which they are an alarm."""

E_ALARM = 100.0
MOST_BET = 0.5
BOUND = 1e300
"""Wealth is held between 1/BOUND and BOUND: it stays a number, and can always come back."""

SCALES: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "verdict": {"supported": 1.0, "partial": 0.5, "missing": 0.0, "contradicted": 0.0},
        "grounded": {"true": 1.0, "false": 0.0},
        "grade": {"0": 0.0, "1": 1 / 3, "2": 2 / 3, "3": 1.0},
    }
)
"""Verdicts a judge may give by scale, and how good each is; the values metrics count with."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a judge said of the anchors when it was pinned.

    Attributes:
        pinned: Its most frequent verdict by anchor; of equally frequent ones the earliest.
        n_judged: Verdicts it gave of these anchors.
        n_flips: Those of them that are not the pinned one.
        models: The model strings it answered with.
    """

    pinned: Mapping[str, str]
    n_judged: int
    n_flips: int
    models: frozenset[str]

    @property
    def noise_floor(self) -> float | None:
        """Upper 95 % bound of its flip rate; None without a calibrated anchor."""
        return noise_floor(self.n_flips, self.n_judged) if self.n_judged else None

    @property
    def bet_floor(self) -> float:
        """Upper 99 % bound of its flip rate: a lean within it may be noise."""
        return noise_floor(self.n_flips, self.n_judged, BET_CONFIDENCE) if self.n_judged else 1.0


@dataclass(frozen=True, kw_only=True)
class JudgedNight:
    """What a judge said in one night.

    Attributes:
        as_of: The night.
        verdicts: By anchor; None where the call failed.
        models: The model strings it answered with.
    """

    as_of: datetime
    verdicts: Mapping[str, str | None]
    models: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Wealth:
    """The e-process, and what its next bet depends on.

    Attributes:
        up: W+, the wealth of the bet that verdicts go up.
        down: W-, of the bet that they go down.
        n: Differences seen.
        total: Their sum.
        squares: The sum of their squares.
    """

    up: float = 1.0
    down: float = 1.0
    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    @property
    def e_value(self) -> float:
        """Evidence against an unchanged judge: the mean of both."""
        return (self.up + self.down) / 2

    def bet(self, noise: float) -> float:
        """The share of the wealth that is put on the next difference, at most one half.

        Known before the difference is. It is the lean seen so far beyond what noise of this size
        could give (flips of a noisy judge may all go one way, where every pinned verdict is the
        best), over the spread: the approximate growth-optimal bet of Waudby-Smith & Ramdas (2024,
        sec. 4), with one imagined difference of size 1 against rash first bets.

        Args:
            noise: Flip rate of the unchanged judge.
        """
        return min(MOST_BET, max(0.0, abs(self.total) - noise * self.n) / (self.squares + 1.0))

    def after(self, difference: float, noise: float) -> Wealth:
        """The wealth after one more difference, in [-1, 1]."""
        bet = self.bet(noise)
        return Wealth(
            up=_held(self.up * (1 + bet * difference)),
            down=_held(self.down * (1 - bet * difference)),
            n=self.n + 1,
            total=self.total + difference,
            squares=self.squares + difference * difference,
        )


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Where a judge stands after a night.

    Attributes:
        as_of: The night.
        n_anchors: Calibrated anchors it was asked about.
        n_failed: Calls of them that failed.
        n_flips: Verdicts that are not the pinned ones.
        f0: The noise floor.
        p_flip: P(at least so many flips) at the noise floor.
        wealth: The e-process since the calibration.
        new_models: Model strings it answered with that the calibration does not know.
    """

    as_of: datetime
    n_anchors: int
    n_failed: int
    n_flips: int
    f0: float | None
    p_flip: float | None
    wealth: Wealth
    new_models: tuple[str, ...]

    @property
    def moved(self) -> bool:
        """Whether the anchors say that the judge moved."""
        flipped = self.p_flip is not None and self.p_flip <= ALPHA
        return flipped or self.wealth.e_value >= E_ALARM

    @property
    def alarm(self) -> bool:
        """Whether the judge moved, or is another model than it was."""
        return self.moved or bool(self.new_models)

    @property
    def is_enough(self) -> bool:
        """Whether there are anchors and answers enough to say who moved."""
        return self.n_anchors >= MIN_ANCHORS and self.n_failed <= MOST_FAILED * self.n_anchors


def calibrate(
    verdicts: Mapping[str, Sequence[str | None]], models: Iterable[str] = ()
) -> Calibration:
    """Pin a judge's verdicts on the anchors.

    Args:
        verdicts: What it said by anchor, in the order of asking; None where the call failed.
            Anchors with fewer than five answers are left out.
        models: The model strings it answered with.
    """
    answers = {anchor: [word for word in said if word] for anchor, said in verdicts.items()}
    kept = {anchor: said for anchor, said in answers.items() if len(said) >= MIN_REPEATS}
    pinned = {anchor: Counter(said).most_common(1)[0][0] for anchor, said in kept.items()}
    return Calibration(
        pinned=pinned,
        n_judged=sum(len(said) for said in kept.values()),
        n_flips=sum(word != pinned[anchor] for anchor, said in kept.items() for word in said),
        models=frozenset(models),
    )


def noise_floor(n_flips: int, n_judged: int, confidence: float = CONFIDENCE) -> float:
    """Upper bound of a flip rate (Clopper & Pearson 1934, one-sided).

    Args:
        n_flips: Verdicts that were not the pinned ones.
        n_judged: Verdicts; at least 1.
        confidence: Chance that the rate is below the bound, at least.
    """
    if n_flips >= n_judged:
        return 1.0
    return _published(float(betaincinv(n_flips + 1, n_judged - n_flips, confidence)))


def flip_p(n_flips: int, n_judged: int, f0: float) -> float:
    """P(X >= n_flips) for X binomial with n_judged verdicts and the noise floor f0."""
    if n_flips == 0:
        return 1.0
    return _published(float(betainc(n_flips, n_judged - n_flips + 1, f0)))


def follow(
    calibration: Calibration, nights: Sequence[JudgedNight], scales: Mapping[str, str]
) -> list[Drift]:
    """Follow a judge from its calibration on.

    A malformed verdict is a flip where the pinned one is plain; it has no size, so nobody bets on
    it.

    Args:
        calibration: What it said when it was pinned.
        nights: The nights since, in order.
        scales: Scale of every calibrated anchor.

    Returns:
        Where it stood after each night.
    """
    wealth, f0, found = Wealth(), calibration.noise_floor, []
    noise = calibration.bet_floor
    for night in nights:
        asked = sorted(calibration.pinned.keys() & night.verdicts.keys())
        answered = [(a, word) for a in asked if (word := night.verdicts[a]) is not None]
        for anchor, word in answered:
            values = SCALES[scales[anchor]]
            now, then = values.get(word), values.get(calibration.pinned[anchor])
            if now is not None and then is not None:
                wealth = wealth.after(now - then, noise)
        n_flips = sum(word != calibration.pinned[anchor] for anchor, word in answered)
        found.append(
            Drift(
                as_of=night.as_of,
                n_anchors=len(asked),
                n_failed=len(asked) - len(answered),
                n_flips=n_flips,
                f0=f0,
                p_flip=None if f0 is None or not answered else flip_p(n_flips, len(answered), f0),
                wealth=wealth,
                new_models=_new(night.models, calibration.models),
            )
        )
    return found


def attribute(
    drift: Drift, *, judged_moved: bool, free_moved: bool, still_moved: bool | None = None
) -> str:
    """Say who moved: system, judge, both, none or unattributed.

    Args:
        drift: Where the judge stands.
        judged_moved: A metric that rests on the judge got worse.
        free_moved: One that does not rest on it did: that was the system.
        still_moved: Whether the judged metric is still worse once the run is graded by a judge
            that did not move; None: it was not graded again, so the judge is to blame.
    """
    if not drift.is_enough:
        return "unattributed"
    system = free_moved or bool(judged_moved and (still_moved or not drift.moved))
    if drift.moved:
        return "both" if system else "judge"
    return "system" if system else "none"


def _new(models: frozenset[str], known: frozenset[str]) -> tuple[str, ...]:
    """Model strings nobody has seen at calibration; none where it did not tell any."""
    return tuple(sorted(models - known)) if known else ()


def _held(wealth: float) -> float:
    return min(max(wealth, 1 / BOUND), BOUND)


def _published(p: float) -> float:
    """To 12 significant digits: the last ones of special functions differ between machines."""
    return float(f"{p:.12g}")
