"""Serve the nightly job on a schedule: one long-lived process, no work pool needed.

prefect server start                                     (or any Prefect server)
export PREFECT_API_URL=http://127.0.0.1:4200/api
python -m flows.deploy --root STORE --config nightly.toml --cron "0 3 * * *"
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from prefect.schedules import Cron
from prefect.settings import get_current_settings

from crucible_batch.assemble.nightly import load_config
from crucible_batch.errors import CrucibleError, UsageError
from flows.nightly import nightly

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def main(
    root: Annotated[Path, typer.Option(help="Folder of the store.")],
    config: Annotated[Path, typer.Option(help="The nightly.toml.")],
    cron: Annotated[str, typer.Option(help="When, in UTC.")] = "0 3 * * *",
) -> None:
    """Serve the nightly flow until stopped; one night at a time."""
    try:
        _check(config)
    except CrucibleError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(error.exit_code) from None
    nightly.serve(
        name="nightly",
        schedule=Cron(cron, timezone="UTC"),
        parameters={"root": str(root.resolve()), "config": str(config.resolve())},
        limit=1,
    )


def _check(config: Path) -> None:
    """Tell a slip of the pen now, not at three in the morning.

    Raises:
        UsageError: The configuration cannot be used, or no server would ever start a run.
    """
    load_config(config)
    if get_current_settings().api.url is None:
        raise UsageError(
            "No Prefect server is named, and a temporary one starts no scheduled runs",
            fix="run `prefect server start` and set PREFECT_API_URL=http://127.0.0.1:4200/api.",
        )


if __name__ == "__main__":
    app()
