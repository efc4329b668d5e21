"""What a judging did, and that in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crucible_batch.judges.chat_client import JudgeError
from crucible_batch.judges.question import Estimate


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far the asking has come.

    Attributes:
        n_done: Calls answered, or given up.
        n_calls: Calls there are to make.
        cost_usd: Spent so far; None when not known.
        n_failed: Calls given up.
    """

    n_done: int
    n_calls: int
    cost_usd: float | None
    n_failed: int


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a command did, or would do (dry run).

    Attributes:
        judge: The lane: model@prompt_version.
        n_pool: Rows a judge could have an opinion on, those left out included.
        n_there: Rows that had their judgment.
        n_kept_malformed: Rows whose judge did not speak plainly earlier; not asked again.
        n_reused: Rows whose input an earlier call judged.
        n_calls: Calls to make; one call may judge several rows with the same input.
        n_ok: Rows judged now, reused ones included.
        n_malformed: Rows whose judge did not speak plainly now.
        n_failed: Rows whose call was given up; they are asked again by the next command.
        n_recovered: Verdicts of a killed command that were committed first.
        left_out: Rows that cannot be judged, by reason.
        failures: Why calls were given up, the most frequent first.
        stopped: Why not every call was made; None: every one was.
        estimate: Tokens and cost of the calls; a chat judge's dry run only.
        prompt_tokens: Tokens in.
        completion_tokens: Tokens out.
        cost_usd: Spent; None when not known.
    """

    judge: str
    n_pool: int
    n_there: int
    n_kept_malformed: int
    n_reused: int
    n_calls: int
    n_ok: int = 0
    n_malformed: int = 0
    n_failed: int = 0
    n_recovered: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    stopped: str | None = None
    estimate: Estimate | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


def judged_lines(done: Judged, *, dry_run: bool) -> list[str]:
    """Lines for people: what there was, what was done or would be, and what is left."""
    parts = [
        f"{done.n_pool:,} in the pool",
        f"{done.n_there:,} judged already",
        f"{done.n_reused:,} known from the same input" if done.n_reused else "",
        f"{done.n_kept_malformed:,} malformed earlier (--retry-malformed asks again)"
        if done.n_kept_malformed
        else "",
    ]
    lines = [f"{done.judge}: " + ", ".join(part for part in parts if part)]
    if done.n_recovered:
        lines.append(f"{done.n_recovered:,} verdicts of a command that was killed are committed")
    lines += _planned(done) if dry_run else _done(done)
    if done.n_ok:
        lines.append("they count when a run is next scored or compared")
    lines += [f"left out, {count:,}: {why}" for why, count in done.left_out.items()]
    if done.stopped:
        lines.append(f"stopped: {done.stopped}; the same command goes on from here")
    return lines


def _planned(done: Judged) -> list[str]:
    calls = f"would make {_calls(done.n_calls)}"
    if done.estimate is None:
        return [f"{calls}; nothing was asked"]
    cost = done.estimate.cost_usd
    price = (
        "cost unknown: set judge.usd_per_million_tokens" if cost is None else f"at most ${cost:.4f}"
    )
    return [
        f"{calls}: about {done.estimate.prompt_tokens:,} tokens in, at most "
        f"{done.estimate.completion_tokens:,} out, {price}; nothing was asked"
    ]


def _done(done: Judged) -> list[str]:
    if not (done.n_ok or done.n_malformed or done.n_failed):
        return ["nothing was asked"]
    counts = f"{done.n_ok:,} judged, {done.n_malformed:,} malformed, {done.n_failed:,} failed"
    if done.prompt_tokens is None:
        return [counts]
    cost = "cost unknown" if done.cost_usd is None else f"${done.cost_usd:.4f}"
    out = "unknown" if done.completion_tokens is None else f"{done.completion_tokens:,}"
    return [f"{counts}; {done.prompt_tokens:,} tokens in, {out} out, {cost}"]


def _calls(count: int) -> str:
    return f"{count:,} call" if count == 1 else f"{count:,} calls"


def require_answers(done: Judged) -> None:
    """Refuse to call a judging complete whose calls were not all answered.

    Raises:
        JudgeError: Calls were given up; says why.
    """
    if done.n_failed:
        raise JudgeError(
            f"The judge left {done.n_failed:,} of the rows without an answer",
            problems=done.failures,
            fix="say the same command again: what was judged is kept, only the rest is asked.",
        )
