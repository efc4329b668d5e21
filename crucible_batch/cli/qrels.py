"""`crucible qrels add|seed|judge|history|agreement|export`: judgments of documents, append-only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli import judge as judging
from crucible_batch.cli.completing import runs
from crucible_batch.cli.options import Author, Json, Pin, Root, Workspace, acting, open_store
from crucible_batch.cli.output import emit, emit_json, progress, table, tell

if TYPE_CHECKING:
    from crucible_batch.assemble.qrels import QrelAppend

app = typer.Typer(
    help="Relevance judgments.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def qrels() -> None:
    """Relevance judgments."""


app.command("judge")(judging.qrels)


@app.command()
def add(
    query: Annotated[
        str | None, typer.Argument(help="Golden item judged.", show_default=False)
    ] = None,
    doc: Annotated[
        str | None,
        typer.Argument(help="Document judged; may be left out with --chunk.", show_default=False),
    ] = None,
    grade: Annotated[
        int | None,
        typer.Option(
            "--grade",
            help="0 irrelevant, 1 marginal, 2 relevant, 3 perfect.",
            show_default=False,
        ),
    ] = None,
    chunk: Annotated[
        str | None,
        typer.Option("--chunk", help="Chunk judged, not its document.", show_default=False),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", help="Judgments as `load qrels` reads them.", show_default=False),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", help="human (if absent), provenance or llm.", show_default=False),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", help="The lane; model@prompt_version of an llm; else the author."),
    ] = None,
    author: Author = None,
    rationale: Annotated[
        str | None, typer.Option("--rationale", help="Why.", show_default=False)
    ] = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Append one judgment, or a file of them; what is there already stays and is shown."""
    from crucible_batch.assemble.load import load_qrels
    from crucible_batch.assemble.qrels_add import add_qrel
    from crucible_batch.cli.load import show_report
    from crucible_batch.errors import UsageError

    if file and query is None:
        with progress("adding judgments") as show:
            report = load_qrels(
                open_store(root),
                file,
                workspace=workspace,
                source=source,
                judge=judge,
                author=acting(author),
                progress=show,
            )
        show_report(report, json=json)
        return
    if file or query is None or grade is None:
        raise UsageError(
            "One judgment has a query, a document and a grade; a file has its own",
            fix="crucible qrels add QUERY DOC --grade 0..3, or crucible qrels add --file FILE.",
        )
    done = add_qrel(
        open_store(root),
        workspace,
        query,
        doc,
        grade=grade,
        chunk_id=chunk,
        source=source or "human",
        judge=judge,
        author=acting(author),
        rationale=rationale,
    )
    _show_added(done, json=json)


@app.command()
def seed(
    golden_set: Annotated[
        str | None,
        typer.Option("--golden-set", help="Only items of this set.", show_default=False),
    ] = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Grade 3, source provenance, for every document that an item requires to be cited."""
    from crucible_batch.assemble.qrels_seed import seed_qrels

    done = seed_qrels(open_store(root), workspace, golden_set)
    if json:
        emit_json({"appended": done.appended, "already_there": done.already_there})
    else:
        emit(f"{done.appended:,} appended, {done.already_there:,} already there")


@app.command()
def history(
    query: Annotated[str, typer.Argument(help="Golden item.")],
    doc: Annotated[str, typer.Argument(help="Document with all its chunks, or one chunk.")],
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Print every judgment and override of a document, oldest first, and the grade that counts."""
    from crucible_batch.assemble.qrels_history import qrel_history

    found = qrel_history(open_store(root), workspace, query, doc, pin=pin)
    if json:
        for row in found.events.iter_rows(named=True):
            emit_json(row)
        emit_json({"event": "counts", "grade": found.grade, "source": found.source})
        return
    emit(table(found.events.columns, list(found.events.iter_rows())))
    if found.grade is None:
        emit("no grade counts: its document is not known, or its lanes are left out by llm_lanes")
    else:
        emit(f"grade {found.grade} counts ({found.source})")


def _show_added(done: QrelAppend, *, json: bool) -> None:
    row = done.rows.row(0, named=True)
    if json:
        emit_json({"created": done.appended == 1, "qrel": row, "messages": list(done.messages)})
        return
    what = f"{row['query_id']}, {row['target']} ({row['source']}, {row['judge']})"
    if done.appended:
        emit(f"{what}: grade {row['grade']}, {row['qrel_id']} (commit {done.commit})")
    else:
        emit(f"nothing to do: {what} has grade {row['grade']} since {row['created_at']}")
    for message in done.messages:
        emit(message)


@app.command()
def agreement(
    golden_set: Annotated[
        str | None,
        typer.Option(
            "--golden-set",
            help="The set; may be left out if it is the only one.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", help="Retrieval metric by which both sides rank the runs.")
    ] = "ndcg_at_10",
    verdicts: Annotated[
        bool, typer.Option("--verdicts", help="Verdicts on assertions, not grades of documents.")
    ] = False,
    human: Annotated[
        str, typer.Option("--human", help="With --verdicts: the judge who is human.")
    ] = "human",
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            help="With --verdicts: only these runs.",
            show_default=False,
            autocompletion=runs,
        ),
    ] = None,
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """How well every judge agrees with people, and people with each other."""
    from crucible_batch.assemble.agreement import qrel_agreement, verdict_agreement
    from crucible_batch.assemble.agreement.text import (
        HEADER,
        agreement_details,
        agreement_rows,
        ceiling,
    )

    store = open_store(root)
    if verdicts:
        found = verdict_agreement(store, workspace, human=human, runs=run or (), pin=pin)
    else:
        found = qrel_agreement(store, workspace, golden_set=golden_set, metric=metric, pin=pin)
    if json:
        for one in found:
            emit_json(one.to_dict())
        return
    emit(table(HEADER, agreement_rows(found)))
    for one in found:
        if one.n:
            emit("\n" + agreement_details(one))
    if not verdicts:
        emit("\n" + ceiling(found))


@app.command()
def export(
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write.")],
    format: Annotated[  # noqa: A002 (the option's name)
        str, typer.Option("--format", help="trec: lines of query, 0, document, grade.")
    ] = "trec",
    source: Annotated[
        str, typer.Option("--source", help="human, llm or resolved (the strongest wins).")
    ] = "resolved",
    pin: Pin = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Write one effective grade per query and document, for other evaluators."""
    from crucible_batch.assemble.qrels_export import export_qrels

    count = export_qrels(open_store(root), workspace, output, source=source, format=format, pin=pin)
    text = f"wrote {count:,} judgment{'' if count == 1 else 's'} to {output}"
    tell(text, {"path": str(output), "n_judgments": count}, json=json)
