"""Asking a judge about every anchor, some of them more than once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crucible_batch.assemble.anchors.questions import question_of
from crucible_batch.assemble.judge.options import AnyJudge, JudgeOptions, find_endpoint
from crucible_batch.assemble.judge.session import Watch
from crucible_batch.assemble.judge.told import Standing
from crucible_batch.errors import UsageError
from crucible_batch.judges.ask import Budget, ask_all
from crucible_batch.judges.chat_client import JudgeError
from crucible_batch.judges.offline import LexicalJudge
from crucible_batch.judges.question import Question, Reply
from crucible_batch.settings import Judging
from crucible_batch.store import canonical_json, text_sha256
from crucible_batch.watch.judge_drift import MIN_REPEATS

REPEATS = 10
"""Judgings of an anchor at calibration: fewer make a noise floor too high to see a small lean."""

NOT_ASKED = Reply(status="failed", raw="the judge was given up before this call")


@dataclass(frozen=True, kw_only=True)
class AnchorOptions:
    """How to judge the anchors.

    Attributes:
        asking: Who judges, where, how many calls at once.
        calibrate: Pin the judge anew, on all anchors there are.
        repeats: Judgings of an anchor at a calibration.
        tolerant: An endpoint that refuses every call is a night of failed calls, no error.
    """

    asking: JudgeOptions = field(default_factory=JudgeOptions)
    calibrate: bool = False
    repeats: int = REPEATS
    tolerant: bool = False

    def __post_init__(self) -> None:
        """Refuse a calibration that says nothing of the judge's noise."""
        if self.repeats < MIN_REPEATS:
            raise UsageError(
                f"repeats is {self.repeats}", fix=f"calibrate with {MIN_REPEATS} or more."
            )


@dataclass(frozen=True)
class Asked:
    """One call: an anchor, the number of its repetition, and what came of it."""

    anchor: Mapping[str, Any]
    repeat: int
    input_hash: str
    reply: Reply


def ask(
    judge: AnyJudge,
    anchors: Sequence[Mapping[str, Any]],
    repeats: int,
    options: AnchorOptions,
    settings: Judging,
    watch: Watch | None,
) -> list[Asked]:
    """Ask about every anchor so many times; round after round, as nights would."""
    calls = [(row, repeat) for repeat in range(repeats) for row in anchors]
    questions = [question_of(row) for row, _ in calls]
    replies = _replies(judge, questions, options, settings, watch)
    return [
        Asked(row, repeat, text_sha256(canonical_json(judge.inputs(question))), replies[number])
        for number, ((row, repeat), question) in enumerate(zip(calls, questions, strict=True))
    ]


def _replies(
    judge: AnyJudge,
    questions: Sequence[Question],
    options: AnchorOptions,
    settings: Judging,
    watch: Watch | None,
) -> Mapping[int, Reply]:
    if isinstance(judge, LexicalJudge):
        return {number: judge.answer(question) for number, question in enumerate(questions)}
    replies: dict[int, Reply] = defaultdict(lambda: NOT_ASKED)

    def take(number: int, reply: Reply) -> None:
        replies[number] = reply
        if watch is not None:
            failed = sum(one.status == "failed" for one in replies.values())
            watch(
                Standing(
                    n_done=len(replies), n_calls=len(questions), cost_usd=None, n_failed=failed
                )
            )

    try:
        ask_all(
            judge,
            find_endpoint(options.asking, settings),
            questions,
            take,
            concurrency=options.asking.concurrency or settings.concurrency,
            budget=Budget(),
        )
    except JudgeError:
        if not options.tolerant:
            raise
    return replies
