"""`crucible baseline`: names for the runs that others are held against."""

from __future__ import annotations

from typing import Annotated

import typer

from crucible_batch.cli.completing import runs
from crucible_batch.cli.options import Author, Json, Root, Workspace, acting, open_store
from crucible_batch.cli.output import committed, emit, emit_json, table, tell

app = typer.Typer(
    name="baseline",
    help="Names for the runs that others are held against.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def pin(
    name: Annotated[str, typer.Argument(help="The name; used as pinned:NAME.")],
    run: Annotated[str, typer.Argument(help="Run it stands for from now on.", autocompletion=runs)],
    reason: Annotated[str, typer.Option("--reason", help="Why this run.")],
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Let a name stand for a run; earlier pins stay on record."""
    from crucible_batch.assemble.baselines import pin_baseline

    done = pin_baseline(
        open_store(root), workspace, name, run, reason=reason, author=acting(author)
    )
    text = f"nothing to do: pinned:{name} is {run} already"
    if done.created:
        text = f"pinned:{name} is {run} from now on (commit {done.seq})"
    tell(text, {"name": name, "run_id": run, **committed(done)}, json=json)


@app.command("list")
def list_(root: Root = None, workspace: Workspace = "default", json: Json = False) -> None:
    """Print every pin, oldest first; the last of a name counts."""
    from crucible_batch.assemble.baselines import list_baselines

    pins = list_baselines(open_store(root).workspace(workspace).snapshot())
    if json:
        for row in pins.iter_rows(named=True):
            emit_json(row)
    elif pins.is_empty():
        emit("nothing is pinned: crucible baseline pin NAME RUN --reason TEXT")
    else:
        columns = ("name", "seq", "run_id", "reason", "author", "created_at")
        emit(table(columns, list(pins.select(columns).iter_rows())))
