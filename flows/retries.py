"""What every task of the flows has in common: what is tried again, and how many run at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import duckdb
from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

P = ParamSpec("P")
R = TypeVar("R")

TWO_AT_ONCE: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=2)
"""Polars and DuckDB use every core themselves; a second task fills the gaps of the first."""


def is_transient(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """A lost disk or network heals by itself; a broken contract or a wrong name never does."""
    fault = state.result(raise_on_failure=False)
    return isinstance(fault, OSError | duckdb.IOException)


def retried(step: Callable[P, R]) -> Task[P, R]:
    """Make a task of a step: tried three times when a fault is transient, never cached.

    The store knows what is done, so a cache could only be wrong.
    """
    return task(
        retries=2,
        retry_delay_seconds=[5, 60],
        retry_condition_fn=is_transient,
        cache_policy=NO_CACHE,
    )(step)
