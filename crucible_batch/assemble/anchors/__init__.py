"""Anchors: frozen examples with a human verdict that tell whether a judge has moved."""

from __future__ import annotations

from crucible_batch.assemble.anchors.add import add_anchors
from crucible_batch.assemble.anchors.asking import AnchorOptions
from crucible_batch.assemble.anchors.bridge import Bridge, bridge_judges, bridge_lines
from crucible_batch.assemble.anchors.judging import JudgedAnchors, judge_anchors
from crucible_batch.assemble.anchors.standing import JudgeStanding, standings
from crucible_batch.assemble.anchors.status import judged_lines, status_lines

__all__ = [
    "AnchorOptions",
    "Bridge",
    "JudgeStanding",
    "JudgedAnchors",
    "add_anchors",
    "bridge_judges",
    "bridge_lines",
    "judge_anchors",
    "judged_lines",
    "standings",
    "status_lines",
]
