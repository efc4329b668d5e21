"""Which failures are worth another try."""

from __future__ import annotations

from typing import Any

from prefect import Task
from prefect.client.schemas.objects import State, TaskRun

TRIES = {"retries": 2, "retry_delay_seconds": [5, 60]}


def is_transient(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """A lost disk or network heals by itself; a broken contract or a wrong name never does."""
    return isinstance(state.result(raise_on_failure=False), OSError)
