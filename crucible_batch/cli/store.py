"""`crucible init`, `sql` and `doctor`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli.options import Json, Pin, Root, Workspace, folder, open_store
from crucible_batch.cli.output import emit, emit_json
from crucible_batch.errors import CrucibleError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from crucible_batch.store import Store


LEAVE = ("\\q", "exit", "quit")
"""Words that end the interactive prompt, as in other SQL shells."""


def init(
    root: Annotated[
        Path, typer.Argument(help="Folder of the new store.", parser=folder, metavar="ROOT")
    ],
) -> None:
    """Make an empty store with a commented crucible.toml."""
    from crucible_batch.settings.template import template
    from crucible_batch.store import Store

    there = (root / "crucible.toml").is_file()
    store = Store.create(root, settings_text=template())
    names = store.workspaces()
    if there:
        emit(f"{store.root} is already a store")
    elif names:
        emit(f"made a store at {store.root} of the workspaces there: {', '.join(names)}")
    else:
        emit(f"made an empty store at {store.root}")
    emit(f"next: export CRUCIBLE_ROOT={store.root}; crucible load golden FILE")


def sql(
    query: Annotated[
        str | None, typer.Argument(help="One SELECT; without it, an interactive prompt.")
    ] = None,
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Ask DuckDB, with every table of the workspace as a view; nothing can be written."""
    store = open_store(root)
    if query is not None:
        _answer(store, query, workspace, pin, json=json)
        return
    if not sys.stdin.isatty():
        _answer(store, _piped(), workspace, pin, json=json)
        return
    _prompt(store, workspace, pin, json=json)


def _piped() -> str:
    """The statement on stdin.

    Raises:
        UsageError: It is no text.
    """
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise UsageError(
            "The statement is no text", problems=[str(error)], fix="write it in UTF-8."
        ) from error


def _answer(store: Store, query: str, workspace: str, pin: int | None, *, json: bool) -> None:
    rows = store.sql(query, workspace=workspace, pin=pin)
    if json:
        for row in rows.iter_rows(named=True):
            emit_json(row)
    else:
        emit(_plain(rows))


def _plain(rows: pl.DataFrame) -> str:
    from crucible_batch.cli.output import table

    return table(rows.columns, rows.rows()) + f"\n({rows.height:,} rows)"


def _prompt(store: Store, workspace: str, pin: int | None, *, json: bool) -> None:
    """Read statements up to a semicolon until end of input."""
    import readline  # noqa: F401 (line editing and history for input())

    emit(f"One SELECT at a time, ended by a semicolon. {', '.join(LEAVE)} or Control-D leaves.")
    lines: list[str] = []
    while True:
        try:
            lines.append(input("   > " if lines else "sql> "))
        except EOFError:
            emit("")
            return
        except KeyboardInterrupt:
            emit("")
            lines = []
            continue
        if len(lines) == 1 and lines[0].strip().rstrip(";").lower() in LEAVE:
            return
        if not lines[-1].rstrip().endswith(";"):
            continue
        query, lines = "\n".join(lines), []
        try:
            _answer(store, query, workspace, pin, json=json)
        except CrucibleError as error:
            emit(f"error: {error}")


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
