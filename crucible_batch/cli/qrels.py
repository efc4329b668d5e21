"""`crucible qrels export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crucible_batch.cli.options import Pin, Root, Workspace, open_store
from crucible_batch.cli.output import emit

app = typer.Typer(
    help="Relevance judgments.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def qrels() -> None:
    """Relevance judgments."""


@app.command()
def export(
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write.")],
    format: Annotated[  # noqa: A002 (the option's name)
        str, typer.Option("--format", help="trec: lines of query, 0, document, grade.")
    ] = "trec",
    source: Annotated[
        str, typer.Option("--source", help="human, llm or resolved (the strongest wins).")
    ] = "resolved",
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
) -> None:
    """Write one effective grade per query and document, for other evaluators."""
    from crucible_batch.assemble.qrels_export import export_qrels

    count = export_qrels(open_store(root), workspace, output, source=source, format=format, pin=pin)
    emit(f"wrote {count:,} judgment{'' if count == 1 else 's'} to {output}")
