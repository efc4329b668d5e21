"""`crucible demo`: the whole job on the example that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crucible_batch.cli.output import emit, progress, table


def demo(
    root: Annotated[
        Path | None,
        typer.Option("--root", help="Keep the store here; a temporary folder if absent."),
    ] = None,
) -> None:
    """Load the example: a golden set, judgments, two real runs, a corpus in two versions."""
    from crucible_batch.assemble.demo import run_demo

    with progress("demo") as show:
        result = run_demo(root, progress=show)
    rows = [
        (report.kind, part.table, part.n_accepted, part.n_quarantined)
        for report in result.loads
        for part in report.tables
    ]
    emit(table(("loaded", "table", "rows", "quarantined"), rows))
    emit(f"\nstore: {result.root}")
    emit("\ntry next:")
    for command in result.next_commands:
        emit(f"  {command}")
