"""`gate.toml`: what must hold before a candidate passes. Read strictly: nothing unknown is skipped.

A key that is misspelt, or a rule that can never bite, would let every run pass; both are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from crucible_batch.assemble.gate.toml import line_of, read_toml, validated
from crucible_batch.errors import UsageError
from crucible_batch.store import canonical_json, text_sha256

Text = Annotated[
    str, Field(strict=True, min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
AboveZero = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)]
Share = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1)]
Flag = Annotated[bool, Field(strict=True)]
Severity = Literal["error", "warn"]
REQUIREMENT = "requirement:"
"""What the rule_id of a requirement begins with."""


def _spelled(value: object) -> object:
    """The slices of a yes/no facet are called `true` and `false`; TOML has a type for these."""
    return str(value).lower() if isinstance(value, bool) else value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Where(_Strict):
    """The slice a rule is about."""

    slice_by: Text
    slice: Annotated[Text, BeforeValidator(_spelled)]


class _Rule(_Strict):
    id: Text | None = None
    severity: Severity = "error"

    @property
    def subject(self) -> str:
        """What the rule is about, for its default id."""
        return ""

    @property
    def rule_id(self) -> str:
        """Its id; one that is not given follows from what the rule is about."""
        return self.id or f"{getattr(self, 'kind', '')}{self.subject}"


class _Sliced(_Rule):
    where: Where | None = None

    @property
    def cell(self) -> tuple[str, str]:
        """slice_by and slice it reads."""
        return ("all", "all") if self.where is None else (self.where.slice_by, self.where.slice)

    @property
    def _of_slice(self) -> str:
        return "" if self.where is None else f"@{self.where.slice_by}={self.where.slice}"


class _OnMetric(_Sliced):
    metric: Text

    @property
    def subject(self) -> str:
        """Metric and slice."""
        return f":{self.metric}{self._of_slice}"


class Regression(_OnMetric):
    """Fails when the metric has regressed."""

    kind: Literal["regression"]
    margin: AboveZero | None = None


class NonInferiority(_OnMetric):
    """Passes when the metric is shown to be at most `margin` worse."""

    kind: Literal["non_inferiority"]
    margin: AboveZero


class MaxDrop(_OnMetric):
    """As non-inferiority; the margin is a share of the baseline's mean."""

    kind: Literal["max_drop"]
    max_drop: AboveZero


class Floor(_OnMetric):
    """Fails when the candidate's mean is shown to be below `floor` (above, if lower is better)."""

    kind: Literal["floor"]
    floor: Number


class MustPass(_Sliced):
    """Fails when an item with the tag is answered wrongly more often than `min_rate` allows."""

    kind: Literal["must_pass"]
    tag: Text
    min_rate: Annotated[float, Field(strict=True, gt=0, le=1)] = 1.0

    @property
    def subject(self) -> str:
        """Tag and slice."""
        return f":{self.tag}{self._of_slice}"


class NoOpenAlert(_Rule):
    """Fails while an alert of this severity, or a higher one, is open."""

    kind: Literal["no_open_alert"]
    min_severity: Literal["warn", "critical"] = "warn"


Paired = Regression | NonInferiority | MaxDrop
"""Rules that read the comparison of two runs."""

OnMetric = Paired | Floor
"""Rules that read a metric."""

Rule = Regression | NonInferiority | MaxDrop | Floor | MustPass | NoOpenAlert

KINDS: Mapping[str, type[BaseModel]] = {
    "regression": Regression,
    "non_inferiority": NonInferiority,
    "max_drop": MaxDrop,
    "floor": Floor,
    "must_pass": MustPass,
    "no_open_alert": NoOpenAlert,
}


class Requirements(_Strict):
    """What must be there before rules are believed."""

    min_pairs: Annotated[int, Field(strict=True, ge=1)] = 20
    min_coverage: Share = 0.95
    max_error_fraction: Share = 0.05
    same_golden_set: Flag = True
    same_judge: Flag = True


class Gate(_Strict):
    """How regressions are tested."""

    alpha: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.05
    confirm_runs: Annotated[int, Field(strict=True, ge=1, le=2)] = 1
    fail_on: Literal["confirmed", "suspected"] = "confirmed"
    flaky: Text | None = None


class _File(_Strict):
    requirements: Requirements = Requirements()
    gate: Gate = Gate()
    rules: tuple[Annotated[Rule, Field(discriminator="kind")], ...] = ()


class GateConfig(_Strict):
    """A gate, as read.

    Attributes:
        requirements: What must be there.
        gate: How regressions are tested.
        rules: At least one, each with an id of its own.
        path: The file, for messages.
        flaky_path: File of the flaky items, None without one.
        content_hash: SHA-256 of what was read, the flaky file included.
        text: The file as read, for the lines of messages.
    """

    requirements: Requirements
    gate: Gate
    rules: tuple[Rule, ...]
    path: Path
    flaky_path: Path | None = None
    content_hash: str
    text: str = ""

    def line(self, place: int, key: str) -> int | None:
        """Line of a key of the rule at a place, from 0; None where it is not found."""
        return line_of(key, self.text, "rules", place + 1)


def load_gate(path: Path) -> GateConfig:
    """Read a gate.toml.

    Raises:
        UsageError: The file is absent, no TOML, has an unknown, missing or wrong key, no rule at
            all, or two rules of one id; names the file, the line and the nearest known key.
    """
    text = read_toml(path, fix="say --config FILE; `crucible docs gate` shows one.")
    file = validated(_File, text, path, groups={"rules": KINDS}, topic="gate")
    _check_ids(file.rules, path)
    flaky = None if file.gate.flaky is None else path.parent / file.gate.flaky
    parts = [text, "" if flaky is None else read_toml(flaky, fix=f"correct gate.flaky in {path}.")]
    return GateConfig(
        requirements=file.requirements,
        gate=file.gate,
        rules=file.rules,
        path=path,
        flaky_path=flaky,
        content_hash=text_sha256(canonical_json(parts)),
        text=text,
    )


def _check_ids(rules: tuple[Any, ...], path: Path) -> None:
    if not rules:
        raise UsageError(
            f"{path} has no [[rules]]",
            fix="write at least one rule: a gate without rules could only pass.",
        )
    ids = [rule.rule_id for rule in rules]
    problems = [
        f"two rules are called {name!r}" for name in sorted({i for i in ids if ids.count(i) > 1})
    ]
    problems += [
        f"{name!r} begins with {REQUIREMENT!r}" for name in ids if name.startswith(REQUIREMENT)
    ]
    problems += [f"{name!r} is longer than 256 characters" for name in ids if len(name) > 256]
    if problems:
        raise UsageError(
            f"{path}: rules need ids of their own", problems=problems, fix="give each an id."
        )
