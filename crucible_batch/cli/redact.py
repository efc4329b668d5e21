"""`crucible redact`: take texts out of a store."""

from __future__ import annotations

from typing import Annotated

import typer

from crucible_batch.cli.completing import runs
from crucible_batch.cli.options import Author, Json, Root, Workspace, acting, open_store
from crucible_batch.cli.output import emit, emit_json, table


def redact(
    reason: Annotated[str, typer.Option("--reason", help="Why; it stays in the audit log.")],
    item: Annotated[
        list[str] | None,
        typer.Option(
            "--item",
            help="Golden item whose texts go; with --run, only results of it. Repeatable.",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            help="Run whose results lose their texts.",
            show_default=False,
            autocompletion=runs,
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", help="With --run: only this sample.", show_default=False),
    ] = None,
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Replace texts of items or results by [redacted]; keys, grades and numbers stay."""
    from crucible_batch.assemble.redact import redact as take_out

    done = take_out(
        open_store(root),
        workspace,
        items=item or (),
        run_id=run,
        sample_index=sample,
        author=acting(author),
        reason=reason,
    )
    if json:
        emit_json(vars(done))
        return
    if done.created:
        emit(table(("table", "rows redacted"), sorted(done.rows.items())))
    else:
        emit("nothing to do: there is no such text any more")
    for note in done.notes:
        emit(note)
