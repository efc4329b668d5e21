"""Why a comparison has no verdict, in words that name the run and the way on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from crucible_batch.report import words


class Reason(NamedTuple):
    """What stands against a verdict.

    Attributes:
        short: For the cell of a table.
        said: For a sentence: with what is behind it, and what can be done.
    """

    short: str
    said: str


Reasons = Mapping[str, Reason]
"""`blocked_reason` of `comparisons` to its words."""

STATES = {"running": "is still running", "failed": "failed", "degraded": "is degraded"}
BOTH = {
    "running": "both runs are still running",
    "failed": "both runs failed",
    "degraded": "both runs are degraded",
}
JUDGE = "the judge differs"
GOLDEN_SET = "the golden set differs"

UNNAMED: Reasons = {
    "judge_differs": Reason(JUDGE, JUDGE),
    "golden_set_differs": Reason(
        GOLDEN_SET, f"{GOLDEN_SET}; --allow-golden-change pairs the items that are the same in both"
    ),
    **{status: Reason(f"a run {word}", f"a run {word}") for status, word in STATES.items()},
}
"""The words where nothing more is known of the two runs."""


def reasons(baseline: Mapping[str, Any], candidate: Mapping[str, Any]) -> Reasons:
    """Words for every reason that can stand between two runs.

    Args:
        baseline: Row of `evaluations` of the run compared with.
        candidate: The same of the run compared.
    """
    found, sides = dict(UNNAMED), (baseline, candidate)
    for status, word in STATES.items():
        concerned = [side for side in sides if side["status"] == status]
        if concerned:
            each = [f"{_name(side)} {word}" for side in concerned]
            said = words.listed([f"{one}{_why(s)}" for one, s in zip(each, concerned, strict=True)])
            found[status] = Reason(each[0] if len(each) == 1 else BOTH[status], said)
    if baseline["judge"] != candidate["judge"]:
        found["judge_differs"] = _judges(sides)
    return found


def mark(row: Mapping[str, Any], known: Reasons = UNNAMED) -> words.Mark:
    """The mark of a row of `comparisons`: its verdict, or what stands against one."""
    if row["verdict"] is not None:
        return words.VERDICTS[row["verdict"]]
    return words.Mark("■", f"no verdict: {reason(row, known).short}", "warn")


def reason(row: Mapping[str, Any], known: Reasons = UNNAMED) -> Reason:
    """What stands against a verdict on a row of `comparisons`."""
    return known.get(row["blocked_reason"], Reason("not decided", "not decided"))


def _judges(sides: tuple[Mapping[str, Any], Mapping[str, Any]]) -> Reason:
    """Two judges; or one, where the other run has no verdicts and so no judge."""
    by = [f"{_name(side)} by {words.one_line(side['judge'])}" for side in sides if side["judge"]]
    for side in sides:
        if side["judge"] is None:
            short = f"{_name(side)} has no verdicts"
            return Reason(short, f"{short} to compare with those of {by[0]}")
    return Reason(JUDGE, f"{JUDGE}: {words.listed(by)}")


def _name(side: Mapping[str, Any]) -> str:
    return words.one_line(side["run_id"])


def _why(side: Mapping[str, Any]) -> str:
    reason = side["status_reason"]
    return f" ({words.one_line(words.shortened(reason))})" if reason else ""
