"""Why a value is missing: the closed list of null reasons and when each one applies.

A reason is either *not applicable* (the metric asks nothing of this result; it leaves the
denominator) or *missing* (it should have been measured and was not; coverage falls).
The stage orders them: what is true of the item comes first, then whether there is a result at
all, then what is true of the answer, then whether judgments exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

import polars as pl


class Kind(StrEnum):
    """Whether a null leaves the denominator or counts against coverage."""

    NOT_APPLICABLE = "not_applicable"
    MISSING = "missing"


class Stage(IntEnum):
    """The order in which reasons are tried; earlier stages win."""

    ITEM = 0
    RESULT = 1
    ANSWER = 2
    JUDGMENT = 3


@dataclass(frozen=True)
class Reason:
    """One entry of the closed list.

    Attributes:
        name: The text that stands in `null_reason`.
        kind: Not applicable or missing.
        stage: When it is tried.
        text: The sentence for people.
    """

    name: str
    kind: Kind
    stage: Stage
    text: str


_NA, _MISSING = Kind.NOT_APPLICABLE, Kind.MISSING

REASONS = (
    Reason("unanswerable", _NA, Stage.ITEM, "the item has no answer and no judgments"),
    Reason("no_relevant_judged", _NA, Stage.ITEM, "no judged document of the item is relevant"),
    Reason("no_required_citations", _NA, Stage.ITEM, "the item requires no citation"),
    Reason("no_concepts", _NA, Stage.ITEM, "the item lists no such concept"),
    Reason("no_assertions", _NA, Stage.ITEM, "the item has no such assertion"),
    Reason("no_result", _MISSING, Stage.RESULT, "the run has no result for the item"),
    Reason("errored", _MISSING, Stage.RESULT, "the result is an error"),
    Reason("contexts_provided", _NA, Stage.ANSWER, "retrieval did not run, contexts were given"),
    Reason("no_answer_stage", _NA, Stage.ANSWER, "the run has no answer stage"),
    Reason("abstained", _NA, Stage.ANSWER, "the result abstained"),
    Reason("nothing_retrieved", _NA, Stage.ANSWER, "retrieval returned nothing"),
    Reason("no_claims", _NA, Stage.ANSWER, "the answer makes no claim"),
    Reason("no_citations", _NA, Stage.ANSWER, "the answer cites nothing"),
    Reason("not_reported", _MISSING, Stage.ANSWER, "the run does not report it"),
    Reason("no_confidence", _MISSING, Stage.ANSWER, "the result has no confidence"),
    Reason("no_qrels", _MISSING, Stage.JUDGMENT, "the item has no judgments"),
    Reason("unplaced", _MISSING, Stage.JUDGMENT, "no judgment of the item has a known document"),
    Reason("not_judged", _MISSING, Stage.JUDGMENT, "a verdict that counts is missing"),
    Reason("malformed_verdict", _MISSING, Stage.JUDGMENT, "a verdict that counts is unreadable"),
)
"""Every null reason there is."""

REASON = {reason.name: reason for reason in REASONS}


@dataclass(frozen=True, eq=False)
class Null:
    """One null rule of a metric: where `expr` is true, the value is null for `reason`."""

    reason: str
    expr: pl.Expr

    def __post_init__(self) -> None:
        if self.reason not in REASON:
            raise ValueError(f"null reason {self.reason!r} is not in the closed list")


NO_RESULT = Null("no_result", ~pl.col("has_result"))
ERRORED = Null("errored", pl.col("errored"))
RESULT_NULLS = (NO_RESULT, ERRORED)
"""The two rules every result metric carries; every grain has their columns."""
