"""What was judged, and where every judge stands, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crucible_batch.assemble.anchors.judging import JudgedAnchors
from crucible_batch.assemble.anchors.questions import MALFORMED
from crucible_batch.assemble.anchors.standing import JudgeStanding
from crucible_batch.watch.judge_drift import MIN_ANCHORS, Drift


def judged_lines(done: Sequence[JudgedAnchors]) -> list[str]:
    """Lines for people."""
    lines = []
    for one in done:
        what = "calibrated" if one.calibrated else "judged again"
        if not one.created:
            lines.append(f"{one.judge}: nothing asked ({_why_nothing(one)})")
        else:
            lines.append(
                f"{one.judge}: {what} on {one.n_anchors:,} anchors, {one.n_calls:,} calls, "
                f"{one.n_failed:,} failed, {one.n_malformed:,} {MALFORMED}"
            )
        if one.n_left_out:
            lines.append(f"left out, {one.n_left_out:,}: the judge cannot judge their scale")
    return lines


def status_lines(found: Sequence[JudgeStanding], n_anchors: int) -> list[str]:
    """Lines for people: the anchors, then every judge with what it says of them.

    Args:
        found: The judges that were calibrated.
        n_anchors: Anchors there are.
    """
    lines = [f"{n_anchors:,} anchor{'' if n_anchors == 1 else 's'}"]
    if not found:
        return [*lines, "no judge is calibrated on them: crucible anchors judge"]
    for one in found:
        n = len(one.calibration.pinned)
        lines.append(
            f"{one.judge}: calibrated at {one.calibrated_at:%Y-%m-%d %H:%M} UTC on {n:,} anchors, "
            f"{one.n_right:,} of them as people say; noise floor {one.drifts[0].f0:.4f} "
            f"({one.calibration.n_flips:,} flips in {one.calibration.n_judged:,} judgings)"
        )
        lines.append(f"  {_said(one.drifts[-1])}; nights since: {len(one.drifts) - 1:,}")
        if n < n_anchors:
            lines.append(
                f"  {n_anchors - n:,} anchors are not in its calibration: "
                "crucible anchors judge --calibrate pins it anew"
            )
        if n < MIN_ANCHORS:
            lines.append(f"  fewer than {MIN_ANCHORS} anchors: who moved cannot be told")
    return lines


def status_row(one: JudgeStanding) -> dict[str, Any]:
    """A judge as plain values for JSON."""
    last = one.drifts[-1]
    return {
        "judge": one.judge,
        "calibrated_at": one.calibrated_at.isoformat(),
        "anchors_hash": one.anchors_hash,
        "n_calibrated": len(one.calibration.pinned),
        "n_as_people_say": one.n_right,
        "n_nights": len(one.drifts) - 1,
        "as_of": last.as_of.isoformat(),
        "n_anchors": last.n_anchors,
        "n_failed": last.n_failed,
        "n_flips": last.n_flips,
        "f0": last.f0,
        "p_flip": last.p_flip,
        "e_value": last.wealth.e_value,
        "new_models": list(last.new_models),
        "alarm": last.alarm,
    }


def drift_words(drift: Drift) -> str:
    """Why a judge is thought to have moved; empty when it is not."""
    parts = []
    if drift.moved:
        chance = "not measured" if drift.p_flip is None else f"{drift.p_flip:.2g}"
        parts.append(
            f"{drift.n_flips:,} of {drift.n_anchors:,} anchors flipped (p {chance}, "
            f"e {drift.wealth.e_value:.3g})"
        )
    if drift.new_models:
        parts.append(f"it answers as {', '.join(drift.new_models)}")
    return "; ".join(parts)


def _said(drift: Drift) -> str:
    state = "MOVED: " + drift_words(drift) if drift.alarm else "quiet"
    return (
        f"as of {drift.as_of:%Y-%m-%d %H:%M} UTC {state}, {drift.n_flips:,} flips, "
        f"e {drift.wealth.e_value:.3g}, {drift.n_failed:,} failed"
    )


def _why_nothing(one: JudgedAnchors) -> str:
    if not one.n_anchors:
        return "no anchor is of a scale it judges"
    return f"judged already as of {one.as_of:%Y-%m-%d %H:%M} UTC, no-op"
