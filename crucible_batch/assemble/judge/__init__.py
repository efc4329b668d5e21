"""Judging: fill in the grades and verdicts that are missing, and pay for none of them twice."""

from __future__ import annotations

from crucible_batch.assemble.judge.options import JudgeOptions
from crucible_batch.assemble.judge.run import judge_assertions, judge_claims, judge_qrels
from crucible_batch.assemble.judge.told import Judged, Standing, judged_lines, require_answers

__all__ = [
    "JudgeOptions",
    "Judged",
    "Standing",
    "judge_assertions",
    "judge_claims",
    "judge_qrels",
    "judged_lines",
    "require_answers",
]
