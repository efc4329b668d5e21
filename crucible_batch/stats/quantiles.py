"""Levels and quantiles of the normal and of Student's distribution, by scipy.

It is imported at the first use: that takes as long as everything else a command imports.
"""

from __future__ import annotations


def normal_level(z: float) -> float:
    """Return the share of a standard normal distribution below `z`."""
    from scipy.special import ndtr

    return float(ndtr(z))


def normal_quantile(level: float) -> float:
    """Return the standard normal quantile at a level in (0, 1)."""
    from scipy.special import ndtri

    return float(ndtri(level))


def t_quantile(df: int, level: float) -> float:
    """Return the quantile of Student's distribution with `df` degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(df, level))
