"""What the watch over the corpus and the answer path reads: its rules, windows and ages."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from crucible_batch.settings.durations import Age, Duration
from crucible_batch.settings.thresholds import AGES, Limit, Threshold

Days = Annotated[int, Field(strict=True, ge=1, le=3_650)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Staleness(_Section):
    """When the corpus is too old; all ages are measured from the time a scan speaks of."""

    max_document_age: Age = Field(
        timedelta(days=7), description="age of the newest document that is still fresh, or never"
    )
    max_snapshot_age: Age = Field(
        None, description="age of the complete corpus version before this one, or never"
    )
    clock_skew: Duration = Field(
        timedelta(minutes=5), description="how far ahead a source's clock may be"
    )
    on_empty: Literal["breach", "unknown", "ok"] = Field(
        "breach", description="verdict on the age of a corpus without documents"
    )


class Drift(_Section):
    """What distributions are compared with, and over which time."""

    baseline: str = Field(
        "",
        strict=True,
        max_length=256,
        description="reference of distributions: a run id or pinned:NAME; empty is the only pin",
    )
    window_days: Days = Field(7, description="days up to the scan whose policy verdicts are judged")
    reference_days: Days = Field(28, description="days before the window they are compared with")
    min_count: Annotated[int, Field(strict=True, ge=1)] = Field(
        10, description="entities that make a type new, or its absence a loss"
    )


DEFAULT_THRESHOLDS: tuple[Threshold, ...] = (
    Threshold(
        id="documents-lost",
        metric="doc_count_change",
        warn=Limit(op="<", value=-0.1, clear=-0.05),
        critical=Limit(op="<", value=-0.5, clear=-0.1),
        unknown_after=14,
    ),
    Threshold(
        id="churn",
        metric="doc_churn_ratio",
        warn=Limit(op=">", value=0.3, clear=0.2),
        unknown_after=14,
    ),
    Threshold(
        id="type-vanished",
        metric="type_vanished",
        warn=Limit(op=">=", value=1.0, clear=0.0),
        unknown_after=14,
    ),
    Threshold(
        id="future-documents",
        metric="future_document_count",
        warn=Limit(op=">", value=0.0),
    ),
    Threshold(
        id="webhook-dead",
        metric="webhook_dead",
        warn=Limit(op=">", value=0.0),
    ),
)
"""Rules of a workspace that writes none: what nobody means to happen to a corpus.

Gains and levels have no default limit: how much a corpus grows, and how many of its entities are
orphans, is its owner's to know; nor has what not every workspace holds (entities, decisions of a
policy, anchors), because a rule without anything to judge is unknown every night. Differences need
a version before; until there is one the verdict is unknown, which is said after two weeks, not
after three nights.
"""


def implied_thresholds(written: tuple[Threshold, ...], stale: Staleness) -> tuple[Threshold, ...]:
    """The rules in force: those written, and those that the ages of [staleness] stand for.

    A written rule on an age that gives no limit takes that of [staleness] as its warning.
    """
    longest = {"document_age": stale.max_document_age, "snapshot_age": stale.max_snapshot_age}
    limits = {
        metric: Limit(op=">", value=age) for metric, age in longest.items() if age is not None
    }
    completed = tuple(
        rule.model_copy(update={"warn": limits.get(rule.metric)}) if not rule.limits else rule
        for rule in written
    )
    own = {rule.metric for rule in written}
    implied = tuple(
        Threshold(id=metric, metric=metric, warn=limits[metric])
        for metric in sorted(AGES)
        if metric in limits and metric not in own
    )
    return (*completed, *implied)
