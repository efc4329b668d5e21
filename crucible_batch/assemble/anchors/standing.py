"""Where every judge stands on the anchors: its calibration, and the nights since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.errors import ContractError
from crucible_batch.store import MartFile, Snapshot, Workspace, canonical_json, file_name
from crucible_batch.store import combined_hash as hash_of
from crucible_batch.watch.judge_drift import (
    MIN_REPEATS,
    Calibration,
    Drift,
    JudgedNight,
    calibrate,
    follow,
)

CALIBRATE = "anchors.calibrate"
"""The audit event of a calibration; its detail holds the hash of the anchors."""

JUDGE_DRIFT = TABLES["judge_drift"]


@dataclass(frozen=True, kw_only=True)
class JudgeStanding:
    """One judge.

    Attributes:
        judge: Its lane, model@prompt_version.
        calibrated_at: When it was pinned.
        calibration: What it said then.
        anchors_hash: SHA-256 over the anchors it was pinned on.
        drifts: Where it stood at its calibration and after each night since.
        n_right: Pinned verdicts that are the human ones.
    """

    judge: str
    calibrated_at: datetime
    calibration: Calibration
    anchors_hash: str
    drifts: Sequence[Drift]
    n_right: int

    def at(self, as_of: datetime) -> Drift | None:
        """Where it stood after this night; None: it was not asked then."""
        return next((drift for drift in self.drifts if drift.as_of == as_of), None)


def standings(snapshot: Snapshot, *, as_of: datetime | None = None) -> tuple[JudgeStanding, ...]:
    """Every judge that was calibrated, by name.

    The last calibration counts: judgings of at least five repeats that answered enough. A judge
    that only failed at it is not calibrated.

    Args:
        snapshot: What is visible.
        as_of: Only what was judged by then.

    Raises:
        ContractError: Anchors are not what they were when a judge was calibrated on them.
    """
    rows = snapshot.read("anchor_verdicts").sort("judge", "as_of", "anchor_id", "repeat")
    if as_of is not None:
        rows = rows.filter(pl.col("as_of") <= as_of)
    verdicts = rows.collect()
    if verdicts.is_empty():
        return ()
    anchors = {row["anchor_id"]: row for row in read_anchors(snapshot)}
    pins = _pins(snapshot)
    found = []
    for (judge,), own in verdicts.group_by("judge", maintain_order=True):
        nights = {at: rows for (at,), rows in own.group_by("as_of", maintain_order=True)}
        standing = _standing(str(judge), nights, anchors, pins)
        if standing is not None:
            found.append(standing)
    return tuple(found)


def read_anchors(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The anchors, by id."""
    return snapshot.read("anchors").drop("_commit").sort("anchor_id").collect().to_dicts()


def anchors_hash(anchors: Sequence[Mapping[str, Any]]) -> str:
    """SHA-256 over anchors in id order: what a calibration pins."""
    return hash_of(
        {row["anchor_id"]: [row[name] for name in TABLES["anchors"].content] for row in anchors}
    )


def write_drift(
    workspace: Workspace, standing: JudgeStanding, as_of: datetime, attribution: str
) -> dict[str, Any]:
    """Write the row of `judge_drift` of a night; the same night gives the same bytes.

    Args:
        workspace: Where to.
        standing: The judge, which was asked in that night.
        as_of: The night.
        attribution: Who moved.

    Returns:
        The row.
    """
    drift = standing.at(as_of)
    if drift is None:
        raise ValueError(f"{standing.judge} was not asked as of {as_of}")
    row = {
        "workspace_id": workspace.name,
        "as_of": as_of,
        "judge": standing.judge,
        "n_anchors": drift.n_anchors,
        "n_failed": drift.n_failed,
        "n_flips": drift.n_flips,
        "f0": drift.f0,
        "p_flip": drift.p_flip,
        "e_value": drift.wealth.e_value,
        "alarm": drift.alarm,
        "attribution": attribution,
    }
    about = {
        "crucible.anchors_hash": standing.anchors_hash,
        "crucible.calibrated_at": standing.calibrated_at.isoformat(),
    }
    file = MartFile(
        table=JUDGE_DRIFT.name,
        name=file_name(f"{as_of:%Y%m%dT%H%M%S.%fZ}-{standing.judge}"),
        rows=pl.DataFrame([row], schema=JUDGE_DRIFT.schema),
        about=about,
    )
    workspace.publish_marts(workspace.stage_marts([file]))
    return row


def _standing(
    judge: str,
    nights: Mapping[Any, pl.DataFrame],
    anchors: Mapping[str, Mapping[str, Any]],
    pins: Mapping[tuple[str, str], str],
) -> JudgeStanding | None:
    calibrations = [
        (at, found)
        for at, rows in nights.items()
        if (rows["repeat"] >= MIN_REPEATS - 1).any() and (found := _calibration(rows)).pinned
    ]
    if not calibrations:
        return None
    at, calibration = calibrations[-1]
    asked = [anchors[name] for name in nights[at]["anchor_id"].unique().sort()]
    pinned = pins.get((judge, at.isoformat()))
    if (now := anchors_hash(asked)) != pinned:
        raise ContractError(
            f"The anchors are not those that {judge} was calibrated on at {at:%Y-%m-%d %H:%M} UTC",
            problems=[f"hash {now[:12]}, at the calibration {str(pinned)[:12]}"],
            fix="restore the store: anchors are frozen; `crucible doctor` looks for damage.",
        )
    later = [_night(when, rows) for when, rows in nights.items() if when > at]
    scales = {name: anchors[name]["scale"] for name in calibration.pinned}
    return JudgeStanding(
        judge=judge,
        calibrated_at=at,
        calibration=calibration,
        anchors_hash=now,
        drifts=[_at_first(at, calibration), *follow(calibration, later, scales)],
        n_right=sum(
            word == anchors[name]["human_verdict"] for name, word in calibration.pinned.items()
        ),
    )


def _calibration(rows: pl.DataFrame) -> Calibration:
    said: dict[str, list[str | None]] = defaultdict(list)
    for anchor, verdict in rows.select("anchor_id", "verdict").iter_rows():
        said[anchor].append(verdict)
    return calibrate(said, rows["judge_model"].drop_nulls().unique())


def _night(as_of: datetime, rows: pl.DataFrame) -> JudgedNight:
    first = rows.filter(pl.col("repeat") == 0)
    return JudgedNight(
        as_of=as_of,
        verdicts=dict(first.select("anchor_id", "verdict").iter_rows()),
        models=frozenset(first["judge_model"].drop_nulls()),
    )


def _at_first(as_of: datetime, calibration: Calibration) -> Drift:
    """The night of the calibration: every anchor says what is pinned, by definition."""
    night = JudgedNight(as_of=as_of, verdicts=calibration.pinned, models=frozenset())
    scales = dict.fromkeys(calibration.pinned, "verdict")
    return follow(calibration, [night], scales)[0]


def _pins(snapshot: Snapshot) -> dict[tuple[str, str], str]:
    """Hash of the anchors by judge and time of its calibrations."""
    events = snapshot.read("audit_log").filter(pl.col("action") == CALIBRATE)
    columns = {name: pl.col("detail").str.json_path_match(f"$.{name}") for name in PINNED}
    rows = events.select("target", **columns).collect()
    return {(judge, as_of): pinned for judge, as_of, pinned in rows.iter_rows()}


PINNED = ("as_of", "anchors_hash")
"""Keys of the detail of a calibration."""


def calibration_event(
    workspace: str, judge: str, as_of: datetime, now: datetime, anchors: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Row of `audit_log`: these anchors are what the judge is pinned on."""
    detail = {"as_of": as_of.isoformat(), "anchors_hash": anchors_hash(anchors)}
    return {
        "workspace_id": workspace,
        "event_id": f"{CALIBRATE}:{hash_of({'judge': judge, **detail})[:32]}",
        "action": CALIBRATE,
        "target": judge,
        "actor": judge,
        "occurred_at": now,
        "detail": canonical_json({**detail, "n_anchors": len(anchors)}),
    }
