"""`crucible compare` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli.completing import runs
from crucible_batch.cli.heap import share_heap
from crucible_batch.cli.options import Json, Pin, Root, Workspace, open_store
from crucible_batch.cli.output import emit, emit_json, progress, tell, terminal_width
from crucible_batch.errors import UsageError

if TYPE_CHECKING:
    from crucible_batch.assemble.compare import Comparison

Judge = Annotated[
    str | None, typer.Option("--judge", help="Whose verdicts count, where several judged.")
]
AllowGoldenChange = Annotated[
    bool,
    typer.Option("--allow-golden-change", help="Pair unchanged items of two golden-set versions."),
]


def compare(
    baseline: Annotated[str, typer.Argument(help="Run compared with.", autocompletion=runs)],
    candidate: Annotated[str, typer.Argument(help="Run compared.", autocompletion=runs)],
    slice_by: Annotated[
        str | None,
        typer.Option(
            "--slice",
            help="Also print this facet: question_type, popularity, dynamism, answerable, shape "
            "or tag.",
        ),
    ] = None,
    unit: Annotated[str, typer.Option("--unit", help="auto, item or cluster.")] = "auto",
    adjust: Annotated[
        str | None, typer.Option("--adjust", help="holm, bh or by, for headline metrics.")
    ] = None,
    judge: Judge = None,
    allow_golden_change: AllowGoldenChange = False,
    form: Annotated[
        str | None,
        typer.Option("--format", help="Print only a table to publish: latex or markdown."),
    ] = None,
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Is CANDIDATE better than BASELINE? Delta, interval, p and verdict per metric."""
    share_heap()
    from crucible_batch.assemble.compare import CompareOptions, compare_runs
    from crucible_batch.assemble.compare.text import check_facet, check_form, comparison_as

    if slice_by is not None:
        check_facet(slice_by)
    if form is not None:
        check_form(form)
    if json and form is not None:
        raise UsageError("--json and --format ask for two forms", fix="leave one of them out.")
    options = CompareOptions(
        unit=unit, adjust=adjust, judge=judge, allow_golden_change=allow_golden_change
    )
    store = open_store(root)
    with progress("comparing") as show:
        done = compare_runs(
            store, workspace, baseline, candidate, options=options, pin=pin, progress=show
        )
    if json:
        for row in done.rows.iter_rows(named=True):
            emit_json(row)
    elif form is not None:
        emit(comparison_as(done, form, slice_by))
    else:
        show_comparison(done, slice_by)
    if not done.is_comparable:
        raise typer.Exit(4)


def show_comparison(done: Comparison, slice_by: str | None = None) -> None:
    """Print a comparison: headline metrics, slices, what moved most, where the rest is."""
    from crucible_batch.assemble.compare.text import compared_text

    emit(compared_text(done, slice_by, width=terminal_width()))
    for name, path in sorted(done.paths.items()):
        emit(f"{name}: {path}")


def report(
    run: Annotated[
        list[str],
        typer.Argument(
            help="Id of the run; several make a league page.",
            metavar="RUN...",
            autocompletion=runs,
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write: .html, .md or .json.")
    ],
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Run that each is compared with.", autocompletion=runs),
    ] = None,
    judge: Judge = None,
    allow_golden_change: AllowGoldenChange = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Write the report of a run, or a league page of several: HTML, Markdown or JSON."""
    from crucible_batch.assemble.compare import CompareOptions
    from crucible_batch.assemble.league import report_league, write_league
    from crucible_batch.assemble.report import check_report_path, report_run, write_report

    check_report_path(output)
    options = CompareOptions(judge=judge, allow_golden_change=allow_golden_change)
    store, named = open_store(root), list(dict.fromkeys(run))
    with progress("report") as show:
        if len(named) > 1:
            league = report_league(
                store, workspace, named, baseline=baseline, options=options, progress=show
            )
            path = write_league(league, output)
        else:
            done = report_run(
                store, workspace, named[0], baseline=baseline, options=options, progress=show
            )
            path = write_report(done.report, output)
    tell(f"wrote {path}", {"path": str(path)}, json=json)
