"""What to ask: the judgments that are missing, less those an earlier call gives.

A verdict is known by judge, kind and input hash: an input that was judged once is never asked
again, whatever run it comes from.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.assemble.judge.options import AnyJudge, JudgeOptions
from crucible_batch.assemble.judge.target import Judgment, Pool, Target
from crucible_batch.judges.offline import LexicalJudge
from crucible_batch.judges.question import Reply, lane
from crucible_batch.metrics import judgments
from crucible_batch.store import Snapshot, canonical_json, text_sha256


@dataclass(frozen=True, kw_only=True)
class Task:
    """One target in need of a judgment.

    Attributes:
        target: What is judged.
        input_hash: SHA-256 of all the judge reads.
        n_before: Calls of this target with this input that are stored already.
        old: The judgment that stands, when the call is made again; None for a missing one.
    """

    target: Target
    input_hash: str
    n_before: int
    old: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a command has to do.

    Attributes:
        ask: Tasks by input hash, in the order of the pool: one call each.
        known: Tasks whose input an earlier call judged, and what it said.
        n_there: Targets that have their judgment.
        n_malformed: Targets whose judge did not speak plainly; asked again only on demand.
        left_out: Rows without a judgment that cannot be judged, by reason.
    """

    ask: Mapping[str, list[Task]]
    known: tuple[tuple[Task, Reply], ...]
    n_there: int
    n_malformed: int
    left_out: Mapping[str, int]


def plan_work(
    snapshot: Snapshot,
    judge: AnyJudge,
    judgment: Judgment,
    pool: Pool,
    options: JudgeOptions,
) -> Work:
    """Say which targets have to be asked about.

    Args:
        snapshot: What is visible.
        judge: Who is asked.
        judgment: What is judged.
        pool: All there is to judge, of one kind.
        options: Whether to ask again what is malformed or has changed.
    """
    name = lane(judge, judgment.kind)
    past = _Past.read(snapshot, judgment, name)
    standing = standing_judgments(snapshot, judgment, name)
    corrected = _corrected(snapshot, judgment, name)
    ask: dict[str, list[Task]] = defaultdict(list)
    known: list[tuple[Task, Reply]] = []
    reasons = sorted(why for key, why in pool.left_out.items() if key not in standing)
    n_there, n_malformed = len(pool.left_out) - len(reasons), 0
    for target in pool.targets:
        key = target.key
        hashed = text_sha256(canonical_json(judge.inputs(target.question)))
        old = standing.get(target.lane_key)
        malformed = past.is_malformed(key, hashed, old)
        again = options.retry_malformed and malformed
        again = again or (options.rejudge_changed and past.has_changed(key, hashed))
        again = again and key not in corrected
        if not again and (old is not None or malformed):
            n_there, n_malformed = n_there + (not malformed), n_malformed + malformed
            continue
        task = Task(target=target, input_hash=hashed, n_before=past.tried[key, hashed], old=old)
        reply = past.reply(judge, task)
        if reply is None or (reply.status == "malformed" and options.retry_malformed):
            ask[hashed].append(task)
        else:
            known.append((task, reply))
    return Work(
        ask=ask,
        known=tuple(known),
        n_there=n_there,
        n_malformed=n_malformed,
        left_out=dict(Counter(reasons)),
    )


@dataclass(frozen=True)
class _Past:
    """The stored calls of one judge and kind.

    Attributes:
        said: (status, raw) by input hash; a plain answer comes before a malformed one.
        tried: Calls by (target key, input hash).
        last: (input hash, status) of the newest answered call by target key.
    """

    said: Mapping[str, tuple[str, str | None]]
    tried: Counter[tuple[str, str]]
    last: Mapping[str, tuple[str, str]]

    @classmethod
    def read(cls, snapshot: Snapshot, judgment: Judgment, name: str) -> _Past:
        calls = snapshot.read("judge_calls").filter(
            (pl.col("judge") == name) & (pl.col("kind") == judgment.kind)
        )
        rows = calls.sort("_commit", "created_at", "call_id").collect().to_dicts()
        said: dict[str, tuple[str, str | None]] = {}
        last: dict[str, tuple[str, str]] = {}
        for row in rows:
            if row["status"] != "failed":
                last[row["target_key"]] = (row["input_hash"], row["status"])
                if row["status"] == "ok" or row["input_hash"] not in said:
                    said[row["input_hash"]] = (row["status"], row["raw"])
        return cls(said, Counter((row["target_key"], row["input_hash"]) for row in rows), last)

    def is_malformed(self, key: str, hashed: str, old: Mapping[str, Any] | None) -> bool:
        """Whether the last word on this input was malformed, or what stands in its lane is."""
        if old is not None and any(value is not None for value in old.values()):
            return old.get("verdict") == "malformed"
        return self.last.get(key) == (hashed, "malformed")

    def has_changed(self, key: str, hashed: str) -> bool:
        """Whether the target was judged by another input. Unknown inputs count as the same."""
        return key in self.last and self.last[key][0] != hashed

    def reply(self, judge: AnyJudge, task: Task) -> Reply | None:
        """What an earlier call said of the same input: it costs nothing now."""
        status, raw = self.said.get(task.input_hash, (None, None))
        if status is None or raw is None or isinstance(judge, LexicalJudge):
            return None
        values = judge.read(task.target.question, raw) if status == "ok" else None
        return Reply(
            status="malformed" if values is None else "ok",
            values=values or {},
            raw=raw,
            prompt_tokens=0,
            completion_tokens=0,
            cost_usd=0.0,
        )


def standing_judgments(
    snapshot: Snapshot, judgment: Judgment, name: str
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The judgments of a lane as they count now, overrides applied, by lane key."""
    rows = snapshot.read(judgment.table).filter(pl.col("judge") == name)
    if judgment.kind == "qrel":
        rows = rows.filter(pl.col("source") == "llm")
    found = rows.drop("_commit").collect()
    overrides = snapshot.read("judgment_overrides").drop("_commit").collect()
    for column, parse in PARSERS[judgment.kind].items():
        table, key = judgment.table, judgment.key
        found = judgments.overridden(found, overrides, table, column, key, parse)
    return {
        tuple(row[n] for n in judgment.lane_key): {n: row[n] for n in judgment.values}
        for row in found.iter_rows(named=True)
    }


def _corrected(snapshot: Snapshot, judgment: Judgment, name: str) -> frozenset[str]:
    """Target keys that somebody else than the judge has overridden: their word stays."""
    overrides = snapshot.read("judgment_overrides").filter(
        (pl.col("target_table") == judgment.table) & (pl.col("author") != name)
    )
    return frozenset(overrides.select("target_key").collect()["target_key"])


PARSERS: Mapping[str, Mapping[str, Callable[[str], Any]]] = {
    "qrel": {"grade": int},
    "assertion": {"verdict": str, "context_supported": judgments.boolean},
    "claim": {"grounded": judgments.boolean, "correct": judgments.boolean},
}
