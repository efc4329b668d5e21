"""`crucible schema` and `docs`: what tables promise, and the handbook."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crucible_batch.cli.completing import tables
from crucible_batch.cli.completing import topics as topics_starting
from crucible_batch.cli.options import Json
from crucible_batch.cli.output import emit, emit_json, tell


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]", help="A table; without it, all of them.", autocompletion=tables
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print the contract of a table: columns, types, allowed values, rules."""
    from crucible_batch.assemble.dictionary import describe, overview, to_dict
    from crucible_batch.contracts import ALL, get_table

    if name is None:
        if json:
            for table in ALL:
                emit_json(to_dict(table))
        else:
            emit(overview())
        return
    table = get_table(name)
    if json:
        emit_json(to_dict(table))
    else:
        emit(describe(table))


def docs(
    topic: Annotated[
        str | None,
        typer.Argument(
            help="A topic of the handbook; without it, the list.", autocompletion=topics_starting
        ),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the generated docs of this checkout again.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Fail if a generated doc of this checkout is stale.")
    ] = False,
    json: Json = False,
) -> None:
    """Read the handbook, or keep the generated docs of a checkout true."""
    from crucible_batch.assemble.handbook import generated, handbook, topics

    if write or check:
        stale = generated(Path.cwd(), write=write)
        did = "wrote" if write else "stale"
        for path in stale:
            tell(f"{did}: {path}", {did: str(path)}, json=json)
        if check and stale:
            raise typer.Exit(4)
        return
    if json:
        for name in topics() if topic is None else (topic,):
            emit_json({"topic": name, "text": handbook(name)})
        return
    text = handbook(topic)
    if topic is not None and read_by_a_person():
        import pydoc

        pydoc.pager(text)
    else:
        emit(text)


def read_by_a_person() -> bool:
    """Whether both ends are a terminal: in a pipe or a file a page is plain Markdown."""
    return sys.stdin.isatty() and sys.stdout.isatty()
