"""`crucible golden show|hash|diff|check`: look at the ruler before measuring with it."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated

import typer

from crucible_batch.cli.options import Json, Pin, Root, Workspace, open_store
from crucible_batch.cli.output import emit, emit_json, table

app = typer.Typer(
    name="golden",
    help="Golden sets: what is in them, which version, what changed, are they ready.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

GoldenSet = Annotated[
    str | None,
    typer.Option(
        "--golden-set", help="The set; may be left out if it is the only one.", show_default=False
    ),
]


@app.command()
def show(
    item: Annotated[
        str | None, typer.Argument(help="One item; without it, all of them.", show_default=False)
    ] = None,
    golden_set: GoldenSet = None,
    version: Annotated[
        str | None,
        typer.Option(
            "--version",
            help="A golden-set hash (or its first digits), or a run: the version it pinned.",
            show_default=False,
        ),
    ] = None,
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Print the items of a golden set, or one item with all that belongs to it."""
    from crucible_batch.assemble.golden.sets import item_detail, list_items, resolve_hash, the_set

    snapshot = open_store(root).workspace(workspace).snapshot(pin)
    if version is None:
        value = the_set(snapshot, golden_set).golden_set_hash
    else:
        value = resolve_hash(snapshot, version)
    if item is not None:
        found = item_detail(snapshot, value, item)
        if json:
            emit_json(found)
        else:
            emit(json_.dumps(found, ensure_ascii=False, indent=2, default=str))
        return
    items = list_items(snapshot, value)
    if json:
        for row in items.iter_rows(named=True):
            emit_json(row)
        return
    shown = items.drop("tags")
    emit(table(shown.columns, list(shown.iter_rows())))
    emit(f"{items.height:,} items, {value}")


@app.command("hash")
def hash_(
    golden_set: GoldenSet = None,
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Print the hash that names the present version of each golden set."""
    from crucible_batch.assemble.golden.sets import list_sets, the_set

    snapshot = open_store(root).workspace(workspace).snapshot(pin)
    sets = list_sets(snapshot) if golden_set is None else [the_set(snapshot, golden_set)]
    if json:
        for one in sets:
            emit_json(vars(one))
    elif not sets:
        emit("there is no golden set yet: crucible load golden FILE")
    else:
        columns = ("golden_set", "golden_set_hash", "n_items", "n_retired", "commit")
        emit(table(columns, [[getattr(one, name) for name in columns] for one in sets]))


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A hash, its first digits, a set, or a run.")],
    after: Annotated[str, typer.Argument(help="What it is held against, named the same way.")],
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Print what changed between two versions, item by item."""
    from crucible_batch.assemble.golden.diff import diff_sets
    from crucible_batch.assemble.golden.text import diff_text

    changes = diff_sets(open_store(root).workspace(workspace).snapshot(), before, after)
    if json:
        for change in changes:
            emit_json(change.to_dict())
    else:
        emit(diff_text(changes))


@app.command()
def check(
    golden_set: GoldenSet = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write Markdown to this file.")
    ] = None,
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Is the set ready? One line per check: ok, warn or missing, and the command that helps."""
    from crucible_batch.assemble.golden.run import check_set
    from crucible_batch.assemble.golden.text import readiness_markdown, readiness_text

    report = check_set(open_store(root), workspace, golden_set, pin=pin)
    if markdown is not None:
        markdown.parent.mkdir(parents=True, exist_ok=True)
        markdown.write_text(readiness_markdown(report), encoding="utf-8")
    if json:
        emit_json(report.to_dict())
        return
    emit(readiness_text(report))
    if markdown is not None:
        emit(f"wrote {markdown}")
