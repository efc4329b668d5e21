"""`crucible init` and `doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crucible_batch.cli.options import Json, Root, folder, open_store
from crucible_batch.cli.output import emit, emit_json


def init(
    root: Annotated[
        Path, typer.Argument(help="Folder of the new store.", parser=folder, metavar="ROOT")
    ],
    json: Json = False,
) -> None:
    """Make an empty store with a commented crucible.toml."""
    from crucible_batch.settings.template import template
    from crucible_batch.store import Store

    there = (root / "crucible.toml").is_file()
    store = Store.create(root, settings_text=template())
    names = store.workspaces()
    if json:
        emit_json({"root": str(store.root), "created": not there, "workspaces": list(names)})
        return
    if there:
        emit(f"{store.root} is already a store")
    elif names:
        emit(f"made a store at {store.root} of the workspaces there: {', '.join(names)}")
    else:
        emit(f"made an empty store at {store.root}")
    emit(f"next: export CRUCIBLE_ROOT={store.root}; crucible load golden FILE")


def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Remove what dead processes left in staging.")
    ] = False,
    root: Root = None,
    workspace: Annotated[
        str | None,
        typer.Option(
            "--workspace",
            envvar="CRUCIBLE_WORKSPACE",
            help="One workspace; all of them if absent.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Look a store over; exits with 4 when something is broken."""
    from crucible_batch.assemble.doctor import examine

    reports = examine(open_store(root), workspace, put_right=repair)
    for report in reports:
        if json:
            findings = [vars(finding) for finding in report.findings]
            emit_json({"workspace": report.workspace, "done": report.done, "findings": findings})
            continue
        for line in report.done:
            emit(f"{report.workspace}: {line}")
        for finding in report.findings:
            fix = f"\n  Fix: {finding.fix}" if finding.fix else ""
            emit(f"{report.workspace}: {finding.level}: {finding.what}{fix}")
    if not reports:
        emit("no workspace yet: the first load creates one")
    if any(report.is_broken for report in reports):
        raise typer.Exit(4)
