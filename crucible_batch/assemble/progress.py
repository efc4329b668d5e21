"""How far a long step has come, told in words to whoever watches."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """Progress that nobody watches."""
