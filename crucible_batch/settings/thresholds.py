"""A rule of the watch: what is measured, which value is too much, when it is quiet again."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from crucible_batch.settings.durations import Duration, duration, spelled

Metric = Literal[
    "doc_churn_ratio",
    "doc_count_change",
    "entity_count_change",
    "entity_mix_tvd",
    "type_new",
    "type_vanished",
    "orphan_rate",
    "document_age",
    "snapshot_age",
    "future_document_count",
    "distribution",
    "webhook_dead",
    "judge_flip",
    "judge_e",
    "judge_model_changed",
]
Severity = Literal["warn", "critical"]
Operator = Literal[">", ">=", "<", "<="]

AGES: frozenset[Metric] = frozenset({"document_age", "snapshot_age"})
"""Measured in seconds; their limits are written as durations."""

FAN_OUT: dict[tuple[Metric, str | None], str] = {
    ("entity_count_change", None): "entity_type",
    ("type_new", None): "entity_type",
    ("type_vanished", None): "entity_type",
    ("distribution", "policy_verdict"): "surface",
}
"""What a rule may be fanned out by: one evaluation, and one alert, for each."""

Text = Annotated[
    str,
    Field(
        strict=True,
        min_length=1,
        max_length=200,
        # no control characters, as in every id, and not blank
        pattern=r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$",
    ),
]
Times = Annotated[int, Field(strict=True, ge=1, le=1_000)]
Count = Annotated[int, Field(strict=True, ge=0)]


def _value(value: object) -> object:
    """A number, or a duration as text."""
    if isinstance(value, str):
        return duration(value)
    if isinstance(value, timedelta | int | float) and not isinstance(value, bool):
        try:
            return value if isinstance(value, timedelta) else float(value)
        except OverflowError:
            raise ValueError("the number is too large: write a finite number") from None
    raise ValueError(f"{value!r} is neither a number nor a duration such as 7d")


Value = Annotated[float | timedelta, BeforeValidator(_value)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limit(_Part):
    """From which value on a rule is breached, and up to which it is quiet again."""

    op: Operator
    value: Value
    clear: Value | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for name, given in (("value", self.value), ("clear", self.clear)):
            if isinstance(given, float) and not math.isfinite(given):
                raise ValueError(f"{name} is {given}: write a finite number")
            if given is not None and isinstance(given, timedelta) != self.is_duration:
                raise ValueError("value and clear are not alike: write both as durations, or none")
        if self._beyond(self.clear_at, self.number):
            better = "at most" if self.is_upper else "at least"
            raise ValueError(
                f"clear {_written(self.clear)} lies on the bad side of value "
                f"{_written(self.value)}: write a clear of {better} {_written(self.value)}"
            )
        return self

    @property
    def is_duration(self) -> bool:
        """Whether it is written as a duration."""
        return isinstance(self.value, timedelta)

    @property
    def is_upper(self) -> bool:
        """Whether large values are the bad ones."""
        return self.op.startswith(">")

    @property
    def number(self) -> float:
        """The value; a duration in seconds."""
        return _number(self.value)

    @property
    def clear_at(self) -> float:
        """The last value, seen from the good side, that counts as quiet again."""
        return self.number if self.clear is None else _number(self.clear)

    def breached_by(self, value: float) -> bool:
        """Whether a value is too much."""
        return self._beyond(value, self.number) or (self.op.endswith("=") and value == self.number)

    def cleared_by(self, value: float) -> bool:
        """Whether a value is quiet again; between `clear` and `value` it is neither."""
        return not self.breached_by(value) and not self._beyond(value, self.clear_at)

    def is_stricter_than(self, other: Limit) -> bool:
        """Whether every value that breaches this limit breaches the other one too."""
        if self.number == other.number:
            return other.op.endswith("=") or not self.op.endswith("=")
        return self._beyond(self.number, other.number)

    def _beyond(self, value: float, bound: float) -> bool:
        return value > bound if self.is_upper else value < bound


class Threshold(_Part):
    """One rule of the watch."""

    id: Text = Field(description="name of the rule, part of its alerts' identity")
    metric: Metric = Field(description="what is measured")
    by: Literal["entity_type", "surface"] | None = Field(
        None, description="one evaluation, and one alert, for each of these"
    )
    of: Literal["policy_verdict", "error_class", "abstained", "confidence"] | None = Field(
        None, description="of metric distribution: what is distributed"
    )
    distance: Literal["psi", "tvd", "js"] | None = Field(
        None, description="of metric distribution: how far apart counts as what"
    )
    warn: Limit | None = Field(None, description="limit: {op, value, clear}")
    critical: Limit | None = Field(None, description="the stricter limit")
    min_support: Count = Field(
        0, description="fewer documents, entities or decisions make the verdict unknown"
    )
    raise_after: Times = Field(1, description="breaches in a row that open an alert")
    clear_after: Times = Field(2, description="clear values in a row that resolve it")
    unknown_after: Times = Field(
        3, description="unknown verdicts in a row that open a warn alert of their own"
    )
    renotify_after: Duration | None = Field(
        None, description="remind of an open alert after this long, e.g. 24h"
    )
    max_open: Times | None = Field(None, description="most alerts of a fan-out open at once")

    @property
    def limits(self) -> dict[Severity, Limit]:
        """Its limits, the highest severity first."""
        both: tuple[tuple[Severity, Limit | None], ...] = (
            ("critical", self.critical),
            ("warn", self.warn),
        )
        return {severity: limit for severity, limit in both if limit is not None}

    @property
    def statistic(self) -> str:
        """What it measures, as evaluations name it: `doc_churn_ratio`, `js:confidence`."""
        return f"{self.distance}:{self.of}" if self.metric == "distribution" else self.metric

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        for fault in (self._wrong_subject(), self._wrong_wait(), self._wrong_limits()):
            if fault:
                raise ValueError(f"rule {self.id!r}: {fault}")
        return self

    def _wrong_subject(self) -> str | None:
        parts = (self.of, self.distance)
        if self.metric == "distribution" and None in parts:
            return 'a distribution needs of and distance: write of = "confidence", distance = "js"'
        if self.metric != "distribution" and parts != (None, None):
            return f"of and distance are for the metric distribution: {self.metric} takes neither"
        allowed = FAN_OUT.get((self.metric, self.of))
        if self.by not in {None, allowed}:
            can = f"by = {allowed!r} or nothing" if allowed else "no by"
            return f"by = {self.by!r} is not possible for {self.statistic}: write {can}"
        return None

    def _wrong_wait(self) -> str | None:
        if self.renotify_after == timedelta(0):
            return "renotify_after is 0s: write how long a notice is enough, such as 24h"
        return None

    def _wrong_limits(self) -> str | None:
        if not self.limits and self.metric not in AGES:
            return 'it has no limit: write warn = {op = ">", value = …} or critical = {…}'
        for severity, limit in self.limits.items():
            if limit.is_duration != (self.metric in AGES):
                want = "a duration such as 7d" if self.metric in AGES else "a number"
                return f"{severity}.value is {_written(limit.value)}: write {want}"
            if self.metric == "distribution" and not limit.is_upper:
                return f"{severity}.op is {limit.op!r}: a distance is too large, write > or >="
        if self.warn and self.critical:
            if self.warn.is_upper != self.critical.is_upper:
                return "warn and critical look in opposite directions: write op alike"
            if not self.critical.is_stricter_than(self.warn):
                return (
                    f"critical {self.critical.op} {_written(self.critical.value)} is breached "
                    f"before warn {self.warn.op} {_written(self.warn.value)}: exchange them"
                )
        return None


def _number(value: float | timedelta) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _written(value: float | timedelta | None) -> str:
    return spelled(value) if isinstance(value, timedelta) or value is None else f"{value:g}"
