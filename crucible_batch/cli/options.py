"""Options that many commands share, and how a command finds its store."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.errors import UsageError

if TYPE_CHECKING:
    from crucible_batch.store import Store


def folder(text: str) -> Path:
    """The path of a folder; an empty one, often an unset variable, is not the current folder."""
    if not str(text).strip():
        raise typer.BadParameter("the path is empty; '.' is the current folder")
    return Path(text)


Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        parser=folder,
        metavar="PATH",
        envvar="CRUCIBLE_ROOT",
        help="Folder of the store; the current folder if it is one.",
        show_default=False,
    ),
]
Workspace = Annotated[
    str,
    typer.Option("--workspace", envvar="CRUCIBLE_WORKSPACE", help="Workspace within the store."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Pin = Annotated[
    int | None,
    typer.Option("--pin", help="Show the store as of this commit.", show_default=False),
]

AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        help="The time it speaks of: a date (its end) or an instant with a zone; now if absent.",
        show_default=False,
    ),
]

Author = Annotated[
    str | None,
    typer.Option("--author", help="Who says so; the user's name if absent.", show_default=False),
]


def acting(author: str | None) -> str:
    """Who acts: the author as given, else the name of the user."""
    if author is not None:
        return author
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without a user database
        return "unknown"


def open_store(root: Path | None) -> Store:
    """Open the store a command speaks of.

    Raises:
        UsageError: No root is given and the current folder is no store.
        StoreError: There is no store at the root.
    """
    from crucible_batch.settings import load_settings
    from crucible_batch.store import Engine, Store

    if root is None:
        root = Path.cwd()
        if not (root / "crucible.toml").is_file():
            raise UsageError(
                "No store is named, and the current folder is none",
                fix="say --root DIR or set CRUCIBLE_ROOT; `crucible init DIR` makes a store.",
            )
    settings = load_settings(root)
    return Store.open(root, engine=Engine(memory_limit=settings.machine.memory_limit))
