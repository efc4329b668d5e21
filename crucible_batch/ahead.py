"""Work on a few things at once and hand them on in order, without holding all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

AT_ONCE = 2
"""Things in work: while one waits for Python, the other keeps the cores busy."""


def in_order(
    work: Callable[[Given], Made], things: Iterable[Given], at_once: int = AT_ONCE
) -> Iterator[Made]:
    """Yield `work(thing)` for every thing, in their order.

    Args:
        work: Is called in threads; must not depend on the other things.
        things: Taken one at a time; those behind a result are in work while it is used.
        at_once: How many are in work.
    """
    pending: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(at_once) as pool:
        for thing in things:
            ready = [pending.popleft().result()] if len(pending) >= at_once else []
            pending.append(pool.submit(work, thing))
            yield from ready
        while pending:
            yield pending.popleft().result()
