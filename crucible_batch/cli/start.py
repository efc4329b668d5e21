"""`crucible` without a command: what there is, and what to do next."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from crucible_batch.cli.options import open_store
from crucible_batch.cli.output import emit
from crucible_batch.errors import CrucibleError


def start(help_text: str) -> None:
    """Print the commands, then the ones that fit where the reader stands."""
    emit(help_text)
    root = os.environ.get("CRUCIBLE_ROOT")
    if root is None and not Path("crucible.toml").is_file():
        emit("\nNo store is named, and the current folder is none. Next:")
        _show(WITHOUT_STORE)
        return
    from crucible_batch.assemble.next_steps import next_steps

    try:
        steps = next_steps(
            open_store(Path(root) if root else None),
            os.environ.get("CRUCIBLE_WORKSPACE", "default"),
        )
    except CrucibleError as error:
        emit(f"\n{error}")
        return
    emit(f"\n{steps.state}. Next:")
    _show(steps.commands)


WITHOUT_STORE = (
    ("crucible demo", "the whole job on an example, in seconds"),
    ("crucible init DIR", "an empty store for your own questions and runs"),
    ("crucible docs", "the handbook"),
)


def _show(commands: Sequence[tuple[str, str]]) -> None:
    width = max(len(command) for command, _ in commands)
    for command, purpose in commands:
        emit(f"  {command.ljust(width)}  {purpose}")
