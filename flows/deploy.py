"""Serve the nightly job on a schedule: one long-lived process, no work pool needed.

python -m flows.deploy --root STORE --config nightly.toml --cron "0 3 * * *"
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from prefect.schedules import Cron

from crucible_batch.assemble.nightly import load_config
from crucible_batch.errors import CrucibleError
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
        load_config(config)  # a slip of the pen is told now, not at three in the morning
    except CrucibleError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(error.exit_code) from None
    nightly.serve(
        name="nightly",
        schedule=Cron(cron, timezone="UTC"),
        parameters={"root": str(root.resolve()), "config": str(config.resolve())},
        limit=1,
    )


if __name__ == "__main__":
    app()
