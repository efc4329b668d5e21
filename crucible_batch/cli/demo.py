"""`crucible demo`: the whole job on the example that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crucible_batch.cli.nightly import show_night
from crucible_batch.cli.output import emit, progress


def demo(
    root: Annotated[
        Path | None,
        typer.Option("--root", help="Keep the store here; a temporary folder if absent."),
    ] = None,
) -> None:
    """Is run B better than run A? The whole nightly job on two real runs of an example."""
    from crucible_batch.assemble.demo import run_demo

    with progress("demo") as show:
        done = run_demo(root, progress=show)
    show_night(done.night)
    folder = done.root / done.workspace
    emit(f"tables: {folder}/marts/*/*.parquet, {folder}/lake/*/*.parquet")
    emit("\ntry next:")
    night = done.night
    for command in (
        f"crucible compare {night.baseline} {night.candidate} --slice shape",
        "crucible sql \"FROM error_classes WHERE slice_by = 'all'\"",
        f"crucible score {night.candidate} --qrel-source llm",
    ):
        emit(f"  {command} --root {done.root}")
