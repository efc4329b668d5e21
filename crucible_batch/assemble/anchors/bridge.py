"""A bridge from one judge to another: both on the same stored answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from crucible_batch.assemble.agreement import PairAgreement, verdict_agreement
from crucible_batch.assemble.judge import Judged, JudgeOptions, judge_assertions
from crucible_batch.assemble.judge.options import appoint
from crucible_batch.assemble.judge.session import Watch
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.exact import exact_mean
from crucible_batch.judges.question import lane
from crucible_batch.report import words
from crucible_batch.settings import load_settings
from crucible_batch.store import Snapshot, Store
from crucible_batch.watch.judge_drift import SCALES

KEY = ("run_id", "item_id", "sample_index", "assertion_id")


@dataclass(frozen=True, kw_only=True, eq=False)
class Bridge:
    """Two judges on the same answers.

    Attributes:
        old: The judge that had judged them.
        new: The judge that was asked now.
        judged: What asking it took.
        agreement: Of the new with the old.
        shift: Mean score of the new minus the old, over assertions both judged plainly: what a
            changed judge alone does to correctness. None without any.
        n_up: Assertions the new one scores higher.
        n_down: Assertions it scores lower.
    """

    old: str
    new: str
    judged: Judged
    agreement: PairAgreement | None
    shift: float | None
    n_up: int
    n_down: int

    def to_dict(self) -> dict[str, Any]:
        """The bridge as plain values for JSON."""
        agreed = self.agreement
        return {
            "old": self.old,
            "new": self.new,
            "judged": asdict(self.judged),
            "n": 0 if agreed is None else agreed.n,
            "raw": None if agreed is None else agreed.raw,
            "kappa": None if agreed is None else agreed.kappa,
            "kappa_linear": None if agreed is None else agreed.kappa_linear,
            "shift": self.shift,
            "n_up": self.n_up,
            "n_down": self.n_down,
        }


def bridge_judges(
    store: Store,
    workspace: str,
    runs: Sequence[str],
    *,
    against: str | None = None,
    options: JudgeOptions | None = None,
    watch: Watch | None = None,
) -> Bridge:
    """Let another judge say what it thinks of answers that one judge has judged already.

    Nothing that was said changes: the verdicts of both stand in lanes of their own.

    Args:
        store: The store.
        workspace: Workspace of the runs.
        runs: Runs whose assertions one judge has judged.
        against: That judge's lane; may be left out where there is one other lane only.
        options: The other judge, and how it is asked.
        watch: Is told how far it has come.

    Raises:
        UnknownNameError: No such workspace or run, or `against` has judged none of the runs.
        UsageError: Both are one judge, or there are several judges to compare with.
        JudgeError: The endpoint refuses every call.
    """
    settings = load_settings(store.root, workspace).judge
    new = lane(appoint(options or JudgeOptions(), settings, "assertion"), "assertion")
    old = _held_against(store.workspace(workspace).snapshot(), runs, against, new)
    judged = judge_assertions(store, workspace, runs, options=options, watch=watch)
    pairs = verdict_agreement(store, workspace, human=old, runs=runs)
    before, after = _scores(store.workspace(workspace).snapshot(), runs, old, new)
    changes = [now - then for then, now in zip(before, after, strict=True)]
    return Bridge(
        old=old,
        new=new,
        judged=judged,
        agreement=next((pair for pair in pairs if pair.judge == new), None),
        shift=exact_mean(changes),
        n_up=sum(change > 0 for change in changes),
        n_down=sum(change < 0 for change in changes),
    )


def bridge_lines(bridge: Bridge) -> list[str]:
    """Lines for people."""
    agreed = bridge.agreement
    if agreed is None or not agreed.n:
        return [f"{bridge.old} and {bridge.new} have judged no assertion both"]
    return [
        f"{bridge.old} → {bridge.new} on {agreed.n:,} assertions: the same verdict on "
        f"{words.decimal(agreed.raw)} of them, kappa {words.decimal(agreed.kappa)}",
        f"mean score {words.signed(bridge.shift, 4)}: {bridge.n_up:,} up, {bridge.n_down:,} down; "
        "that much of a change between runs of these two judges is the judge's",
    ]


def _held_against(snapshot: Snapshot, runs: Sequence[str], against: str | None, new: str) -> str:
    """The lane the new judge is held against: the named one, or the only other one."""
    rows = snapshot.read("assertion_verdicts").filter(pl.col("run_id").is_in(list(runs)))
    lanes = sorted(rows.select("judge").unique().collect()["judge"])
    if against is not None and against not in lanes:
        raise UnknownNameError("judge with verdicts of these runs", against, lanes)
    others = [name for name in lanes if name != new] if against is None else [against]
    if others == [new]:
        raise UsageError(f"{new} is held against itself", fix="name another judge with --judge.")
    if not others:
        raise UsageError(
            f"No other judge than {new} has judged these runs",
            fix="say --judge NEW, or let the old one judge first: "
            "crucible judge assertions RUN --judge OLD.",
        )
    if len(others) > 1:
        raise UsageError(
            "Several judges have judged these runs",
            problems=others,
            fix="name one with --against.",
        )
    return others[0]


def _scores(
    snapshot: Snapshot, runs: Sequence[str], old: str, new: str
) -> tuple[list[float], list[float]]:
    """Scores of both judges on the assertions that both judged plainly, in key order."""
    values = SCALES["verdict"]
    rows = snapshot.read("assertion_verdicts").filter(
        pl.col("run_id").is_in(list(runs)), pl.col("verdict").is_in(list(values))
    )
    scored = rows.with_columns(score=pl.col("verdict").replace_strict(values)).collect()
    sides = [scored.filter(pl.col("judge") == judge).select(*KEY, "score") for judge in (old, new)]
    both = sides[0].join(sides[1], on=KEY, how="inner", suffix="_new").sort(KEY)
    return both["score"].to_list(), both["score_new"].to_list()
