"""The commands, in the order a user meets them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from crucible_batch.cli import (
    alerts,
    anchors,
    baseline,
    compare,
    contract,
    demo,
    drift,
    feedback,
    gate,
    golden,
    judge,
    load,
    nightly,
    override,
    qrels,
    redact,
    score,
    sql,
    start,
    store,
)
from crucible_batch.cli.options import folder

app = typer.Typer(
    name="crucible",
    help="Is run B better than run A? Golden sets, scores, comparisons and drift over Parquet.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 120},  # of the terminal's width; click stops at 80
)


@app.callback(invoke_without_command=True)
def crucible(
    context: typer.Context,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", help="Folder of the store.", parser=folder, metavar="PATH", show_default=False
        ),
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", help="Workspace within the store.", show_default=False),
    ] = None,
) -> None:
    """Is run B better than run A? Golden sets, scores, comparisons and drift over Parquet."""
    # Commands read these two from the environment, so both places of the option work.
    if root is not None:
        context.with_resource(_variable("CRUCIBLE_ROOT", str(root)))
    if workspace is not None:
        context.with_resource(_variable("CRUCIBLE_WORKSPACE", workspace))
    if context.invoked_subcommand is None:
        start.start(context.get_help())


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable for one command: a program may call `main` many times."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


app.command("demo")(demo.demo)
app.command("init")(store.init)
app.add_typer(load.app, name="load")
app.add_typer(golden.app, name="golden")
app.command("score")(score.score)
app.command("compare")(compare.compare)
app.add_typer(gate.app, name="gate")
app.add_typer(baseline.app, name="baseline")
app.add_typer(feedback.app, name="feedback")
app.command("report")(compare.report)
app.add_typer(qrels.app, name="qrels")
app.add_typer(override.app, name="override")
app.add_typer(judge.app, name="judge")
app.add_typer(drift.app, name="drift")
app.add_typer(anchors.app, name="anchors")
app.add_typer(alerts.app, name="alerts")
app.command("nightly")(nightly.nightly)
app.command("sql")(sql.sql)
app.command("metrics")(score.metrics)
app.command("schema")(contract.schema)
app.command("docs")(contract.docs)
app.command("doctor")(store.doctor)
app.command("redact")(redact.redact)
