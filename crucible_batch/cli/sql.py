"""`crucible sql`: one statement, or a prompt for many."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli.options import Json, Pin, Root, Workspace, open_store
from crucible_batch.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from crucible_batch.store import Store


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    MARKDOWN = "markdown"


SUFFIXES = {
    ".csv": Format.CSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".md": Format.MARKDOWN,
    ".parquet": Format.PARQUET,
}
"""What the name of an output file says of its format."""

SHOWN = 200
"""Rows a table has on a terminal; every other format, and a table in a pipe, has all."""


@dataclass(frozen=True)
class Session:
    """Where statements are asked, and how their rows are shown."""

    store: Store
    workspace: str
    pin: int | None
    form: Format
    output: Path | None = None

    def rows(self, query: str) -> pl.DataFrame:
        """Run one reading statement."""
        return self.store.sql(query, workspace=self.workspace, pin=self.pin)

    def answer(self, query: str) -> None:
        """Run one statement and show its rows, or write them to the output file."""
        from crucible_batch.cli import rows as write

        found = self.rows(query)
        if self.output is not None:
            write.to_file(found, self.form, self.output)
        else:
            write.to_stdout(found, self.form)


def sql(
    query: Annotated[
        str | None, typer.Argument(help="One SELECT; without it, an interactive prompt.")
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="How to write the rows; by the name of the output file, else a table. json is"
            " one object per line.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the rows to this file.", show_default=False),
    ] = None,
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Ask DuckDB, with every table of the workspace as a view; nothing can be written."""
    chosen = _format(form, output, json=json)
    session = Session(open_store(root), workspace, pin, chosen, output)
    if query is not None:
        session.answer(query)
    elif not sys.stdin.isatty():
        session.answer(_piped())
    elif output is not None:
        raise UsageError(
            "The prompt writes no file", fix='give the statement: crucible sql "SELECT …" -o FILE'
        )
    else:
        from crucible_batch.cli.shell import prompt

        prompt(session)


def _format(form: Format | None, output: Path | None, *, json: bool) -> Format:
    """The format that the options mean.

    Raises:
        UsageError: Two options contradict each other, or Parquet would go to a terminal.
    """
    if json and form not in {None, Format.JSON}:
        raise UsageError(f"--json and --format {form} are two formats", fix="say one of them.")
    named = SUFFIXES.get(output.suffix.lower()) if output is not None else None
    chosen = Format.JSON if json else form or named or Format.TABLE
    if chosen is Format.PARQUET and output is None and sys.stdout.isatty():
        raise UsageError(
            "Parquet is nothing to read on a terminal", fix="say -o FILE, or pipe it on."
        )
    return chosen


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
