"""`crucible score RUN` and `crucible metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli import completing
from crucible_batch.cli.completing import runs
from crucible_batch.cli.heap import share_heap
from crucible_batch.cli.options import Json, Pin, Root, Workspace, open_store
from crucible_batch.cli.output import emit, emit_json, progress, table

if TYPE_CHECKING:
    from crucible_batch.assemble.evaluate import Evaluation


def score(
    run: Annotated[str, typer.Argument(help="Id of the run.", autocompletion=runs)],
    qrel_source: Annotated[
        str, typer.Option("--qrel-source", help="human, llm or resolved (the strongest wins).")
    ] = "resolved",
    judge: Annotated[
        str | None, typer.Option("--judge", help="Whose verdicts count, where several judged.")
    ] = None,
    relevant_at: Annotated[
        int | None, typer.Option("--relevant-at", help="Smallest grade that counts as relevant.")
    ] = None,
    granularity: Annotated[
        str, typer.Option("--granularity", help="document or chunk.")
    ] = "document",
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Score a run with every metric; other options than the defaults write variants."""
    share_heap()
    from crucible_batch.assemble.evaluate import Options, evaluate_run

    options = Options(
        qrel_source=qrel_source, judge=judge, relevant_at=relevant_at, granularity=granularity
    )
    store = open_store(root)
    with progress(f"scoring {run}") as show:
        done = evaluate_run(store, workspace, run, options=options, pin=pin, progress=show)
    if json:
        overall = done.read("run_metrics")
        emit_json(
            {
                "evaluation": done.row,
                "scores": done.read("scores").to_dicts(),
                "aggregate": overall.to_dicts(),
            }
        )
    else:
        _show(done)


def _show(done: Evaluation) -> None:
    from crucible_batch.assemble.summary import (
        counted_line,
        judging_hint,
        judgments_line,
        metric_rows,
    )

    row = done.row
    emit(f"{row['run_id']}: {row['status']}" + (f" ({r})" if (r := row["status_reason"]) else ""))
    emit(counted_line(done))
    emit(judgments_line(done))
    emit(table(("metric", "mean", "95 %", "n", "coverage", "not measured"), metric_rows(done)))
    if (hint := judging_hint([done])) is not None:
        emit(hint)
    if not done.created:
        emit("nothing to do: this evaluation is there already")
    for name, path in sorted(done.paths.items()):
        emit(f"{name}: {path}")


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[METRIC]",
            help="A metric; without it, all of them.",
            autocompletion=completing.metrics,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print the metrics: range, direction, when a value is null, where the formula is from."""
    from crucible_batch.assemble.metric_dictionary import describe_metric, metric_overview
    from crucible_batch.metrics import catalog

    if name is not None:
        emit(describe_metric(catalog.find(name)))
    elif json:
        for row in catalog.to_frame().iter_rows(named=True):
            emit_json(row)
    else:
        emit(metric_overview())
