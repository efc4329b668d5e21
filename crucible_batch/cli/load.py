"""`crucible load golden|qrels|run|corpus|policy|cache`: read, check, commit, count every row."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli.options import Json, Root, Workspace, open_store
from crucible_batch.cli.output import emit, emit_json, progress, table
from crucible_batch.printable import one_line, visible

if TYPE_CHECKING:
    from crucible_batch.assemble.load import LoadReport

app = typer.Typer(
    help="Load golden sets, judgments, runs, corpus versions, policy decisions, cache states.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Paths = Annotated[
    list[str], typer.Argument(help="Files, folders or globs; .gz, .bz2 and .zst are read too.")
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="parquet, jsonl, yaml, goldset, trec, topics or text; found out when absent.",
        show_default=False,
    ),
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Load the good rows although others are bad.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be committed; write nothing.")
]
GoldenSet = Annotated[
    str | None,
    typer.Option("--golden-set", help="Name of the golden set.", show_default=False),
]


@app.command()
def golden(
    paths: Paths,
    golden_set: GoldenSet = None,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    lenient: Lenient = False,
    retire_missing: Annotated[
        bool, typer.Option("--retire-missing", help="Retire items the input does not hold.")
    ] = False,
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Load golden items with their assertions, concepts and citations."""
    from crucible_batch.assemble.load import load_golden

    store = open_store(root)
    with progress("loading golden items") as show:
        report = load_golden(
            store,
            paths,
            workspace=workspace,
            golden_set=golden_set,
            format=format,
            lenient=lenient,
            retire_missing=retire_missing,
            dry_run=dry_run,
            progress=show,
        )
    show_report(report, json=json)


@app.command()
def qrels(
    paths: Paths,
    source: Annotated[
        str | None,
        typer.Option("--source", help="human, provenance or llm, for TREC files."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", help="Who judged, for TREC files; model@prompt_version of an llm."),
    ] = None,
    author: Annotated[
        str | None, typer.Option("--author", help="Who hands them in, for the audit log.")
    ] = None,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    lenient: Lenient = False,
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Load graded relevance judgments, and the chunk-to-document map."""
    from crucible_batch.assemble.load import load_qrels

    store = open_store(root)
    with progress("loading judgments") as show:
        report = load_qrels(
            store,
            paths,
            workspace=workspace,
            source=source,
            judge=judge,
            author=author,
            format=format,
            lenient=lenient,
            dry_run=dry_run,
            progress=show,
        )
    show_report(report, json=json)


@app.command()
def run(
    paths: Paths,
    run_id: Annotated[
        str | None,
        typer.Option("--run", help="Id of the run, where the input does not say."),
    ] = None,
    golden_set: GoldenSet = None,
    part: Annotated[
        str | None,
        typer.Option("--part", help="Name of this part of a run loaded in parts."),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option("--status", help="running, succeeded, failed or degraded, from now on."),
    ] = None,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Load what a run produced: results, retrievals, citations, verdicts, claims, scores."""
    from crucible_batch.assemble.load import load_run

    store = open_store(root)
    with progress("loading run") as show:
        report = load_run(
            store,
            paths,
            workspace=workspace,
            run=run_id,
            golden_set=golden_set,
            part=part,
            status=status,
            format=format,
            dry_run=dry_run,
            progress=show,
        )
    show_report(report, json=json)


@app.command()
def corpus(
    paths: Paths,
    corpus_version: Annotated[
        str | None, typer.Option("--corpus-version", help="Name of the version.")
    ] = None,
    observed_at: Annotated[
        str | None,
        typer.Option("--observed-at", help="When the corpus was looked at, with a time zone."),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="The listing is not complete.")
    ] = False,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Load a version of the corpus: its documents (or their texts), entities and mentions."""
    from crucible_batch.assemble.load import load_corpus

    store = open_store(root)
    with progress("loading corpus") as show:
        report = load_corpus(
            store,
            paths,
            workspace=workspace,
            corpus_version=corpus_version,
            observed_at=_instant(observed_at),
            partial=partial,
            format=format,
            dry_run=dry_run,
            progress=show,
        )
    show_report(report, json=json)


@app.command()
def policy(
    paths: Paths,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Load decisions of the answer policy; drift scans judge how often it decides what."""
    from crucible_batch.assemble.load import load_policy

    store = open_store(root)
    with progress("loading policy decisions") as show:
        report = load_policy(
            store, paths, workspace=workspace, format=format, dry_run=dry_run, progress=show
        )
    show_report(report, json=json)


@app.command()
def cache(
    paths: Paths,
    format: FormatOption = None,  # noqa: A002 (the option's name)
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Load observations and entries of the answer cache."""
    from crucible_batch.assemble.load import load_cache

    store = open_store(root)
    with progress("loading cache states") as show:
        report = load_cache(
            store, paths, workspace=workspace, format=format, dry_run=dry_run, progress=show
        )
    show_report(report, json=json)


def _instant(text: str | None) -> datetime | None:
    from crucible_batch.errors import UsageError

    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no time", fix="write it as 2026-05-01T00:00:00Z.") from None


def show_report(report: LoadReport, *, json: bool) -> None:
    """Print what a load did."""
    if json:
        emit_json(report.to_dict())
        return
    emit(_headline(report))
    header = ("table", "in", "accepted", "quarantined", "already there")
    rows = [
        (t.table, t.n_in, t.n_accepted, t.n_quarantined, t.n_already_there) for t in report.tables
    ]
    emit(table(header, rows))
    for name, value in report.facts.items():
        emit(f"{name}: {value}")
    for line in report.reasons:
        emit(f"quarantined: {one_line(line)}")
    for path in report.quarantine:
        emit(f"quarantine file: {_near(path)}")
    for message in report.messages:
        emit(visible(message))


def _headline(report: LoadReport) -> str:
    if report.dry_run:
        return f"load {report.kind}: dry run, nothing was written; would be committed:"
    if report.created:
        return f"load {report.kind}: committed as c{report.commit:08d} in {report.workspace}"
    return f"load {report.kind}: nothing to commit in {report.workspace}"


def _near(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
