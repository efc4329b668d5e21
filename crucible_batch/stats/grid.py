"""Noise floor, decimal grid and lattice: differences held as integers.

Sums of integers below 2^53 are exact in float64, so ties are real ties, and row order, BLAS,
threads, SIMD and the numpy version stop mattering.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Floating = TypeVar("_Floating", bound=np.floating[Any])

NOISE = 1e-12
"""A difference up to this share of max(1, |a|, |b|) is rounding, not change."""

EXACT = 2**53
"""float64 holds every integer up to here."""

MAX_DENOMINATOR = 5_040
MAX_LATTICE_SUM = 1_000_000
_LATTICE_TOLERANCE = 1e-9

ONE_THREAD = 250_000
"""OpenBLAS multiplies on one thread up to 262,144 products."""


@dataclass(frozen=True)
class Grid:
    """Values as whole multiples of a power of ten.

    Attributes:
        counts: The multiples, int64; shape (n,).
        exponent: The grid unit is ``10 ** exponent``.
    """

    counts: NDArray[np.int64]
    exponent: int

    def value(self, total: float, divisor: int = 1) -> float:
        """Return ``total / divisor`` grid units as a number, rounded once."""
        below = divisor * 10**-self.exponent if self.exponent <= 0 else EXACT + 1
        if below <= EXACT and abs(total) <= EXACT:
            # Both are floats as they stand, and IEEE division rounds once.
            return total / below + 0.0
        return float(Fraction(total) / divisor * Fraction(10) ** self.exponent)


def differences(
    baseline: NDArray[np.float64], candidate: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return candidate minus baseline, differences of rounding size being zero; shape (n,)."""
    delta = candidate - baseline
    scale = np.maximum(1.0, np.maximum(np.abs(baseline), np.abs(candidate)))
    delta[np.abs(delta) <= NOISE * scale] = 0.0
    return delta


def to_grid(values: NDArray[np.float64]) -> Grid:
    """Round to nine significant digits of the largest magnitude.

    The unit is the largest power of ten that is at most 2e-9 of the largest magnitude, so no value
    moves by more than 1e-9 of it, and no count exceeds 5e9. The largest magnitude is itself
    rounded first: a last-bit difference upstream cannot change the unit.

    Args:
        values: Finite values; shape (n,).
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return Grid(np.zeros(values.shape, dtype=np.int64), 0)
    mantissa, _, power = f"{largest:.9e}".partition("e")
    exponent = int(power) - (8 if float(mantissa) >= 5 else 9)
    scaled = values
    for step in _powers(-exponent):  # 10**309 is no float64, so tiny values take two steps
        scaled = scaled * step if exponent < 0 else scaled / step
    return Grid(np.rint(scaled).astype(np.int64), exponent)


def _powers(exponent: int) -> list[float]:
    """Split ``10 ** abs(exponent)`` into factors that float64 can hold."""
    whole, rest = divmod(abs(exponent), 300)
    return [1e300] * whole + [10.0**rest]


def lattice(values: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return `values` as whole multiples of one common step, or None when there is no small one.

    A lattice exists when an integer D <= 5,040 makes every D * value an integer within 1e-9: 0/1
    metrics, graded ones, means of a few samples. D is built up as the least common multiple of the
    denominators met, in at most twelve steps.

    Args:
        values: Finite values; shape (n,).

    Returns:
        ``D * values`` as int64; shape (n,).
    """
    magnitudes = np.unique(np.abs(values))
    if not magnitudes.size or float(magnitudes[-1]) * MAX_DENOMINATOR >= EXACT:
        return None
    denominator = 1
    while denominator <= MAX_DENOMINATOR:
        off = _off_lattice(magnitudes, denominator)
        if not off.any():
            return np.rint(values * denominator).astype(np.int64)
        multiples = denominator * np.arange(2, MAX_DENOMINATOR // denominator + 1)
        fits = ~_off_lattice(magnitudes[np.argmax(off)], multiples)
        if not fits.any():
            return None
        denominator = int(multiples[np.argmax(fits)])
    return None


def _off_lattice(
    values: NDArray[np.float64] | np.float64, denominators: NDArray[np.int64] | int
) -> NDArray[np.bool_]:
    scaled = values * denominators
    return np.asarray(np.abs(scaled - np.rint(scaled)) > _LATTICE_TOLERANCE)


def smallest_weights(steps: NDArray[np.int64]) -> tuple[NDArray[np.int64], int] | None:
    """Return |steps| in units of their greatest common divisor, and that divisor.

    Args:
        steps: Whole numbers, none zero; shape (n,), n >= 1.

    Returns:
        Weights >= 1 and the divisor, or None when the weights sum to more than 1e6.
    """
    divisor = math.gcd(*np.unique(np.abs(steps)).tolist())
    weights = np.abs(steps) // divisor
    if float(np.sum(weights, dtype=np.float64)) > MAX_LATTICE_SUM:
        return None
    return weights, divisor


def exact_floats(sums: NDArray[np.int64], most: float) -> tuple[NDArray[np.float64], float]:
    """Return whole numbers as float64 that still sum exactly, and the size of their unit.

    Args:
        sums: Whole numbers; shape (n,).
        most: Bound on the magnitude of any sum that will be made of them.

    Returns:
        The numbers, rounded to a multiple of a power of ten only when `most` passes 2^53, and that
        power. A sum of the floats times the power is a sum of `sums`.
    """
    unit = 1.0
    while most / unit >= EXACT:
        unit *= 10.0
    return np.rint(sums / unit), unit


def exact_product(left: NDArray[_Floating], right: NDArray[_Floating]) -> NDArray[_Floating]:
    """Return ``left @ right`` for whole numbers whose sums stay below 2^53, in float32 2^24.

    The product is made of pieces that BLAS does on one thread: waiting for a second one costs more
    than it brings, and on a busy machine ten times the work itself.

    Args:
        left: Shape (n, m).
        right: Shape (m, k).
    """
    out = np.zeros((left.shape[0], right.shape[1]), left.dtype)
    n_rows = min(left.shape[0], 128)
    depth = max(1, ONE_THREAD // (n_rows * right.shape[1]))
    for row in range(0, left.shape[0], n_rows):
        for place in range(0, left.shape[1], depth):
            piece = left[row : row + n_rows, place : place + depth]
            out[row : row + n_rows] += piece @ right[place : place + depth]
    return out
