"""The commands by name and first sentence: all that `crucible --help` shows.

Typer reads the annotations of every parameter of every command before it prints anything; that is
a third of the time of `--help`, and grows with each command.
"""

from __future__ import annotations

from collections.abc import Callable

import typer
from typer.main import solve_typer_info_help


def outline(app: typer.Typer) -> typer.Typer:
    """The same application with commands that have no parameters: only good for its help."""
    info, callback = app.info, app.registered_callback
    light = typer.Typer(
        name=info.name,
        help=info.help,
        no_args_is_help=info.no_args_is_help,
        rich_markup_mode=app.rich_markup_mode,
        pretty_exceptions_enable=app.pretty_exceptions_enable,
        add_completion=False,
    )
    if callback is not None and callback.callback is not None:
        light.callback()(callback.callback)
    for command in app.registered_commands:
        light.command(command.name)(_said(command.callback.__doc__ if command.callback else None))
    for group in app.registered_groups:
        inner = typer.Typer(help=solve_typer_info_help(group))
        inner.callback()(_said(None))
        light.add_typer(inner, name=group.name)
    return light


def _said(help_text: str | None) -> Callable[[], None]:
    def command() -> None:
        """Do nothing."""

    command.__doc__ = help_text
    return command
