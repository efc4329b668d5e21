"""Judge the anchors again: every one is asked about, whatever was said of it before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.assemble.anchors.asking import AnchorOptions, Asked, ask
from crucible_batch.assemble.anchors.questions import question_of, verdict_of
from crucible_batch.assemble.anchors.standing import (
    calibration_event,
    read_anchors,
    standings,
    write_drift,
)
from crucible_batch.assemble.judge.options import AnyJudge, appoint
from crucible_batch.assemble.judge.session import Watch
from crucible_batch.assemble.judge.target import frame
from crucible_batch.errors import UsageError
from crucible_batch.exact import exact_sum
from crucible_batch.judges.question import lane
from crucible_batch.settings import Judging, load_settings
from crucible_batch.store import Plan, Snapshot, Store, Workspace, canonical_json, key_hash
from crucible_batch.watch.judge_drift import attribute


@dataclass(frozen=True, kw_only=True)
class JudgedAnchors:
    """What one judge did.

    Attributes:
        judge: Its lane.
        as_of: The night.
        created: Whether it was asked now; false: it had been asked already.
        calibrated: Whether this is a calibration.
        n_anchors: Anchors it was asked about.
        n_left_out: Anchors it has nothing to go by.
        n_calls: Calls.
        n_failed: Those that were given up.
        n_malformed: Those whose verdict could not be read.
        cost_usd: Spent; None when not known.
    """

    judge: str
    as_of: datetime
    created: bool
    calibrated: bool
    n_anchors: int
    n_left_out: int
    n_calls: int = 0
    n_failed: int = 0
    n_malformed: int = 0
    cost_usd: float | None = None


def judge_anchors(
    store: Store,
    workspace: str,
    *,
    as_of: datetime | None = None,
    options: AnchorOptions | None = None,
    watch: Watch | None = None,
) -> tuple[JudgedAnchors, ...]:
    """Ask the judge about every anchor, and write where it stands now.

    A judge that was never calibrated is, by this. Each judge and night is asked once; a kill loses
    the calls under way, and the same command asks them again.

    Args:
        store: The store.
        workspace: Workspace of the anchors.
        as_of: The night, UTC; now when None.
        options: Who judges and how.
        watch: Is told how far it has come.

    Returns:
        One result per lane: grades have their own, the other scales share one.

    Raises:
        UnknownNameError: No such workspace.
        UsageError: There are no anchors, or the judge's endpoint is not known.
        JudgeError: The endpoint refuses every call, and `tolerant` is false; nothing is written.
        ContractError: Anchors are not what they were at the calibration.
    """
    chosen = options or AnchorOptions()
    opened = store.workspace(workspace)
    settings = load_settings(store.root, workspace).judge
    snapshot = opened.snapshot()
    at = as_of or opened.now()
    anchors = read_anchors(snapshot)
    if not anchors:
        raise UsageError(f"Workspace {workspace} has no anchors", fix="crucible anchors add FILE.")
    done = [
        _judge(opened, snapshot, judge, name, rows, at, chosen, settings, watch)
        for name, (judge, rows) in _by_lane(anchors, chosen, settings).items()
    ]
    for standing in standings(opened.snapshot(), as_of=at):
        drift = standing.at(at)
        if drift is not None and any(one.judge == standing.judge and one.created for one in done):
            who = attribute(drift, judged_moved=False, free_moved=False)
            write_drift(opened, standing, at, who)
    return tuple(done)


def _by_lane(
    anchors: Sequence[Mapping[str, Any]], options: AnchorOptions, settings: Judging
) -> dict[str, tuple[AnyJudge, list[Mapping[str, Any]]]]:
    lanes: dict[str, tuple[AnyJudge, list[Mapping[str, Any]]]] = {}
    for anchor in anchors:
        kind = question_of(anchor).kind
        judge = appoint(options.asking, settings, kind)
        lanes.setdefault(lane(judge, kind), (judge, []))[1].append(anchor)
    return dict(sorted(lanes.items()))


def _judge(
    workspace: Workspace,
    snapshot: Snapshot,
    judge: AnyJudge,
    name: str,
    anchors: Sequence[Mapping[str, Any]],
    as_of: datetime,
    options: AnchorOptions,
    settings: Judging,
    watch: Watch | None,
) -> JudgedAnchors:
    """Ask one judge, unless it was asked in this night, and commit what it said."""
    able = [row for row in anchors if judge.can_judge(question_of(row))]
    known = {one.judge for one in standings(snapshot, as_of=as_of)}
    calibrates = options.calibrate or name not in known
    nothing = JudgedAnchors(
        judge=name,
        as_of=as_of,
        created=False,
        calibrated=False,
        n_anchors=len(able),
        n_left_out=len(anchors) - len(able),
    )
    if not able or _is_there(snapshot, name, as_of):
        return nothing
    asked = ask(judge, able, options.repeats if calibrates else 1, options, settings, watch)
    created = _commit(workspace, name, as_of, asked, able if calibrates else ())
    costs = [one.reply.cost_usd for one in asked if one.reply.status != "failed"]
    spent = [cost for cost in costs if cost is not None]
    return replace(
        nothing,
        created=created,
        calibrated=calibrates,
        n_calls=len(asked),
        n_failed=sum(one.reply.status == "failed" for one in asked),
        n_malformed=sum(one.reply.status == "malformed" for one in asked),
        cost_usd=exact_sum(spent) if len(spent) == len(costs) else None,
    )


def _is_there(snapshot: Snapshot, judge: str, as_of: datetime) -> bool:
    rows = snapshot.read("anchor_verdicts")
    own = rows.filter((pl.col("judge") == judge) & (pl.col("as_of") == as_of))
    return own.head(1).collect().height > 0


def _commit(
    workspace: Workspace,
    judge: str,
    as_of: datetime,
    asked: Sequence[Asked],
    pinned: Sequence[Mapping[str, Any]],
) -> bool:
    """Append verdicts, calls and, for a calibration, what it pins; all or nothing."""
    now = workspace.now()
    tables = {
        "anchor_verdicts": frame(
            "anchor_verdicts", [_verdict(workspace.name, judge, as_of, one) for one in asked]
        ),
        "judge_calls": frame(
            "judge_calls", [_call(workspace.name, judge, as_of, one, now) for one in asked]
        ),
    }
    if pinned:
        event = calibration_event(workspace.name, judge, as_of, now, pinned)
        tables["audit_log"] = frame("audit_log", [event])

    def decide(snapshot: Snapshot) -> Plan:
        return Plan() if _is_there(snapshot, judge, as_of) else Plan(events=tables)

    key = key_hash("anchors-", 24, [judge, as_of.isoformat()])
    return workspace.commit(decide, kind="anchors judge", idempotency_key=key).created


def _verdict(workspace: str, judge: str, as_of: datetime, one: Asked) -> dict[str, object]:
    return {
        "workspace_id": workspace,
        "anchor_id": one.anchor["anchor_id"],
        "judge": judge,
        "as_of": as_of,
        "repeat": one.repeat,
        "verdict": verdict_of(one.reply, one.anchor["scale"]),
        "judge_model": one.reply.model,
    }


def _call(
    workspace: str, judge: str, as_of: datetime, one: Asked, now: datetime
) -> dict[str, object]:
    key = canonical_json([one.anchor["anchor_id"], judge, as_of.isoformat(), one.repeat])
    return {
        "workspace_id": workspace,
        "call_id": key_hash("c", 26, [judge, "anchor", key, one.input_hash]),
        "kind": "anchor",
        "target_key": key,
        "judge": judge,
        "input_hash": one.input_hash,
        "status": one.reply.status,
        "raw": one.reply.raw,
        "prompt_tokens": one.reply.prompt_tokens,
        "completion_tokens": one.reply.completion_tokens,
        "cost_usd": one.reply.cost_usd,
        "created_at": now,
    }
