"""Many questions at once: bounded concurrency, within a budget, each answer handed on at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from crucible_batch.judges.chat import ChatJudge
from crucible_batch.judges.chat_client import ChatClient, Endpoint
from crucible_batch.judges.question import Question, Reply

Take = Callable[[int, Reply], None]
"""Is given the number of a question and what came of it."""

GIVE_UP_AFTER = 10
"""So many calls in a row without an answer: the judge is not there."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Where to stop; None: nowhere.

    Attributes:
        max_calls: Most questions asked.
        max_cost: Most US dollars spent. A call begins only if its longest answer still fits.
    """

    max_calls: int | None = None
    max_cost: float | None = None


@dataclass
class _Desk:
    """What the workers share; `held` is a question that the budget had no room for yet."""

    judge: ChatJudge
    budget: Budget
    waiting: Iterator[tuple[int, Question]]
    take: Take
    n_asked: int = 0
    n_failed_in_a_row: int = 0
    spent: float = 0.0
    promised: float = 0.0
    stopped: str | None = None
    gave_up: bool = False
    held: tuple[int, Question] | None = None

    def next(self) -> tuple[int, Question, float] | None:
        """The next question and what it may cost; None when it is time to stop."""
        if self.gave_up:
            return None
        found = self.held or next(self.waiting, None)
        if found is None:
            return None
        self.held = found
        if self.budget.max_calls is not None and self.n_asked >= self.budget.max_calls:
            self.stopped = f"--max-calls {self.budget.max_calls:,} is reached"
            return None
        cost = self.judge.estimate(found[1]).cost_usd or 0.0
        most = self.budget.max_cost
        if most is not None and self.spent + self.promised + cost > most:
            self.stopped = f"--max-cost {most:g} would be passed"
            return None
        self.held, self.stopped = None, None
        self.n_asked += 1
        self.promised += cost
        return *found, cost

    def done(self, number: int, reply: Reply, promised: float) -> None:
        """Book a reply and hand it on."""
        self.promised -= promised
        if reply.status != "failed":
            self.spent += promised if reply.cost_usd is None else reply.cost_usd
        self.n_failed_in_a_row = 0 if reply.status != "failed" else self.n_failed_in_a_row + 1
        if self.n_failed_in_a_row >= GIVE_UP_AFTER:
            self.gave_up = True
            self.stopped = f"the judge left {GIVE_UP_AFTER} calls in a row unanswered"
        self.take(number, reply)


def ask_all(
    judge: ChatJudge,
    endpoint: Endpoint,
    questions: Sequence[Question],
    take: Take,
    *,
    concurrency: int,
    budget: Budget,
) -> str | None:
    """Ask every question once, several at a time.

    Args:
        judge: Who is asked.
        endpoint: Where.
        questions: What; asked in this order, answered in any.
        take: Called with the position of a question and its reply as soon as it is there. What it
            raises ends the asking.
        concurrency: Questions under way at once.
        budget: Where to stop.

    Returns:
        Why not every question was asked, or None.

    Raises:
        JudgeError: The endpoint refuses every call. Replies before that were handed on.
    """
    desk = _Desk(judge, budget, iter(enumerate(questions)), take)
    _run(_ask_all(desk, endpoint, min(concurrency, len(questions))))
    return desk.stopped


async def _ask_all(desk: _Desk, endpoint: Endpoint, n_workers: int) -> None:
    async with ChatClient(endpoint) as client:
        workers = [asyncio.create_task(_work(desk, client)) for _ in range(n_workers)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)


async def _work(desk: _Desk, client: ChatClient) -> None:
    while (found := desk.next()) is not None:
        number, question, promised = found
        desk.done(number, await desk.judge.ask(client, question), promised)


def _run(job: Coroutine[Any, Any, T]) -> T:
    """Run to the end, also where a loop runs already (a notebook, a flow)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(job)
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, job).result()
