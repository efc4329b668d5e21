"""The commands by name and first sentence, and whole only where a command line names them.

Typer reads the annotations of every parameter of every command before it does anything; that is
a third of the time of `--help`, and grows with each command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import typer
from typer.main import solve_typer_info_help


def outline(app: typer.Typer, words: Collection[str]) -> typer.Typer:
    """The same application, with parameters only for commands and groups named in `words`.

    It is as good as the whole one for a command line of these words: no other command can be meant.
    """
    info, callback = app.info, app.registered_callback
    light = typer.Typer(
        name=info.name,
        help=info.help,
        rich_markup_mode=app.rich_markup_mode,
        pretty_exceptions_enable=app.pretty_exceptions_enable,
        context_settings=info.context_settings,
    )
    if callback is not None and callback.callback is not None:
        light.callback(invoke_without_command=callback.invoke_without_command)(callback.callback)
    for command in app.registered_commands:
        if command.name in words:
            light.registered_commands.append(command)
            continue
        light.command(command.name)(_said(command.callback.__doc__ if command.callback else None))
    for group in app.registered_groups:
        if group.name in words:
            light.registered_groups.append(group)
            continue
        inner = typer.Typer(help=solve_typer_info_help(group))
        inner.callback()(_said(None))
        light.add_typer(inner, name=group.name)
    return light


def _said(help_text: str | None) -> Callable[[], None]:
    def command() -> None:
        """Do nothing."""

    command.__doc__ = help_text
    return command
