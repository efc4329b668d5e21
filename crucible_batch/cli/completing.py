"""What the shell may complete: runs of the store, tables, metrics, topics of the handbook.

A completion that cannot be had is none: nothing is printed while a person types.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import typer

from crucible_batch.errors import CrucibleError


def words() -> list[str]:
    """The command line that a shell asks to complete; empty when none does."""
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()


def runs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of the runs in the store the command line speaks of."""
    from crucible_batch.cli.options import open_store

    try:
        root = _said(ctx, "root", "CRUCIBLE_ROOT")
        store = open_store(Path(root) if root else None)
        workspace = _said(ctx, "workspace", "CRUCIBLE_WORKSPACE") or "default"
        ids = store.table("runs", workspace).collect()["run_id"]
    except (CrucibleError, OSError):
        return []
    return _starting(ids.sort(), incomplete)


def tables(incomplete: str) -> list[str]:
    """Names of tables and views."""
    from crucible_batch.contracts import TABLES

    return _starting(TABLES, incomplete)


def metrics(incomplete: str) -> list[str]:
    """Names of metrics."""
    from crucible_batch.metrics import catalog

    return _starting((metric.name for metric in catalog.ALL), incomplete)


def topics(incomplete: str) -> list[str]:
    """Topics of the handbook."""
    from crucible_batch.assemble.handbook import topics as pages

    return _starting(pages(), incomplete)


def _said(ctx: typer.Context, option: str, variable: str) -> str | None:
    """What the command or the program was told, else the environment."""
    for place in (ctx, ctx.find_root()):
        value = place.params.get(option)
        source = place.get_parameter_source(option)
        if value is not None and source is not None and source.name != "DEFAULT":
            return str(value)
    return os.environ.get(variable)


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
