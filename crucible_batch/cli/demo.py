"""`crucible demo`: the whole job on the example that ships with the package."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli.nightly import show_gate, show_night
from crucible_batch.cli.options import Json, folder
from crucible_batch.cli.output import emit, emit_json, progress

if TYPE_CHECKING:
    from crucible_batch.assemble.demo import Demo


def demo(
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            help="Keep the store here; a new temporary folder if absent.",
            parser=folder,
            metavar="PATH",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Is run B better than run A? The whole nightly job on two real runs of an example."""
    from crucible_batch.assemble.demo import run_demo

    with progress("demo") as show:
        done = run_demo(root, progress=show)
    if json:
        emit_json({"root": str(done.root), **done.night.to_dict()})
    else:
        _show(done, root)
    if done.night.exit_code:
        raise typer.Exit(done.night.exit_code)


def _show(done: Demo, root: Path | None) -> None:
    """Print what came out, and what to try next."""
    show_night(done.night)
    folder = done.root / done.workspace
    emit(f"tables: {folder}/marts/*/*.parquet, {folder}/lake/*/*.parquet")
    emit("\ntry next:")
    night, where = done.night, shlex.join(_where(done))
    for command in (
        f"compare {night.baseline} {night.candidate} --slice shape",
        "sql \"FROM error_classes WHERE slice_by = 'all'\"",
        f"score {night.candidate} --qrel-source llm",
    ):
        emit(f"  {_program()} {command} {where}")
    if root is None:
        emit("\nThe store is a temporary folder (--root DIR keeps it elsewhere). Remove it with:")
        emit(f"  {shlex.join(['rm', '-r', str(done.root)])}")
    show_gate(night)


def _where(done: Demo) -> list[str]:
    """Options that name the store from anywhere, whatever the environment says."""
    words = ["--root", str(done.root.absolute())]
    if os.environ.get("CRUCIBLE_WORKSPACE", done.workspace) != done.workspace:
        words += ["--workspace", done.workspace]
    return words


def _program() -> str:
    """How the reader's shell starts this program: as it was started just now."""
    if "UV_RUN_RECURSION_DEPTH" in os.environ:  # `uv run` finds what the shell itself does not
        return "uv run crucible"
    started, found = Path(sys.argv[0]), shutil.which("crucible")
    is_on_path = found is not None and started.exists() and Path(found).samefile(started)
    return "crucible" if is_on_path else shlex.quote(str(started))
