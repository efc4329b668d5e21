"""`crucible anchors add|judge|status`: has the judge moved?"""

from __future__ import annotations

from typing import Annotated

import typer

from crucible_batch.cli.judge import BaseUrl, Concurrency, JudgeName
from crucible_batch.cli.load import DryRun, FormatOption, Paths, show_report
from crucible_batch.cli.options import AsOf, Json, Root, Workspace, open_store
from crucible_batch.cli.output import calls_bar, emit, emit_json, progress

app = typer.Typer(
    name="anchors",
    help="Frozen examples with a human verdict, judged again to see whether a judge moved.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def add(
    paths: Paths,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Add anchors: id, question, evidence, answer, human verdict and its scale.

    Scales: verdict (supported, partial, missing, contradicted), grounded (true, false), grade (0 to
    3). An anchor never changes.
    """
    from crucible_batch.assemble.anchors import add_anchors

    store = open_store(root)
    with progress("adding anchors") as show:
        report = add_anchors(
            store, paths, workspace=workspace, format=format, dry_run=dry_run, progress=show
        )
    show_report(report, json=json)


@app.command()
def judge(
    judge: JudgeName = None,
    base_url: BaseUrl = None,
    concurrency: Concurrency = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Pin the judge anew, on all anchors there are.")
    ] = False,
    repeats: Annotated[
        int, typer.Option("--repeats", help="Judgings of each anchor at a calibration, 5 or more.")
    ] = 10,
    as_of: AsOf = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Ask the judge about every anchor again; the first time calibrates it."""
    from dataclasses import asdict

    from crucible_batch.assemble.anchors import AnchorOptions, judge_anchors, judged_lines
    from crucible_batch.assemble.judge import JudgeOptions
    from crucible_batch.assemble.nightly import parse_as_of

    options = AnchorOptions(
        asking=JudgeOptions(judge=judge, base_url=base_url, concurrency=concurrency),
        calibrate=calibrate,
        repeats=repeats,
    )
    night = None if as_of is None else parse_as_of(as_of)
    store = open_store(root)
    with calls_bar("judging anchors") as watch:
        done = judge_anchors(store, workspace, as_of=night, options=options, watch=watch)
    if json:
        for one in done:
            emit_json(asdict(one))
    else:
        for line in judged_lines(done):
            emit(line)


@app.command()
def status(root: Root = None, workspace: Workspace = "default", json: Json = False) -> None:
    """Say where every judge stands: its noise, its flips, the evidence that it moved."""
    from crucible_batch.assemble.anchors import standings, status_lines
    from crucible_batch.assemble.anchors.standing import read_anchors
    from crucible_batch.assemble.anchors.status import status_row

    snapshot = open_store(root).workspace(workspace).snapshot()
    found = standings(snapshot)
    if json:
        for one in found:
            emit_json(status_row(one))
    else:
        for line in status_lines(found, len(read_anchors(snapshot))):
            emit(line)
