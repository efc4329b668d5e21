"""One number of a scan, with the sizes behind it, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["ok", "breach", "unknown"]

NOT_MEASURED = "not_measured"
"""Reason of a rule on something that this scan did not look at."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A number, or why there is none.

    Attributes:
        value: The number; ages in seconds. None: not measured, and `reason` says why.
        labels: What it is about, e.g. the entity type of a fan-out.
        n_reference: Size of what it is compared with; None where it is not compared.
        n_current: Size of what was looked at.
        support: What `min_support` is held against: the larger side of a census, where 100 entities
            that fall to 2 are a fact; the smaller side of samples, where 2 say nothing.
        critical: What noise alone stays below; None for a census.
        reason: Why the verdict is unknown, be there a value or not.
        verdict: What the verdict is without a value, where settings say so.
        is_census: It is about everything there is, not about a sample.
    """

    value: float | None
    labels: Mapping[str, str] = field(default_factory=dict)
    n_reference: int | None = None
    n_current: int | None = None
    support: int | None = None
    critical: float | None = None
    reason: str | None = None
    verdict: Verdict | None = None
    is_census: bool = False


Measurements = Mapping[tuple[str, str | None], Sequence[Measured]]
"""What a scan measured, by statistic and by what it is fanned out by."""


def census(
    value: float | None,
    before: int | None,
    now: int,
    *,
    reason: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Measured:
    """A number about everything there is: no sampling limit, supported by its larger side."""
    return Measured(
        value=value,
        labels=labels or {},
        n_reference=before,
        n_current=now,
        support=max(before or 0, now),
        reason=reason,
        is_census=True,
    )
