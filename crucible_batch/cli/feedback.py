"""`crucible feedback list|correct|promote|dismiss|status`: from a failure to a test."""

from __future__ import annotations

from textwrap import shorten
from typing import Annotated

import typer

from crucible_batch.cli.completing import runs
from crucible_batch.cli.options import Author, Json, Root, Workspace, acting, open_store
from crucible_batch.cli.output import committed, emit, emit_json, table, tell

TEXT_WIDTH = 60
"""Most characters of a question or an answer in a list."""

app = typer.Typer(
    name="feedback",
    help="Failures: what scoring found, what would be right, and which items test it now.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Feedback = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the failure, or its first characters.")
]


@app.command("list")
def list_(
    run: Annotated[
        str | None,
        typer.Option("--run", help="Only of this run.", show_default=False, autocompletion=runs),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status", help="classified, corrected, promoted or dismissed.", show_default=False
        ),
    ] = None,
    error_class: Annotated[
        str | None,
        typer.Option("--class", help="Only of this error class.", show_default=False),
    ] = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Print the failures that scoring found, each with its status, question and answer."""
    from crucible_batch.assemble.feedback import list_feedback, with_texts

    snapshot = open_store(root).workspace(workspace).snapshot()
    found = list_feedback(snapshot, run_id=run, status=status, error_class=error_class)
    found = with_texts(snapshot, found)
    if json:
        for row in found.iter_rows(named=True):
            emit_json(row)
        return
    columns = ("feedback_id", "status", "run_id", "item_id", "sample_index", "error_class")
    rows = found.select(*columns, "question", "answer").iter_rows()
    emit(
        table(
            (*columns, "question", "answer"),
            [(*row[:-2], *map(_begins, row[-2:])) for row in rows],
        )
    )


def _begins(text: str | None) -> str | None:
    """The first words of a text, on one line; the whole stands in --json."""
    from crucible_batch.report import words

    return text and shorten(words.one_line(text), TEXT_WIDTH, placeholder=" …")


@app.command()
def correct(
    feedback: Feedback,
    answer: Annotated[
        str | None, typer.Option("--answer", help="The right answer.", show_default=False)
    ] = None,
    assertion: Annotated[
        list[str] | None,
        typer.Option(
            "--assertion",
            help="What a right answer must state; repeatable. Without it, the answer.",
            show_default=False,
        ),
    ] = None,
    doc: Annotated[
        list[str] | None,
        typer.Option("--doc", help="A document it rests on; repeatable.", show_default=False),
    ] = None,
    note: Annotated[
        str | None, typer.Option("--note", help="A remark.", show_default=False)
    ] = None,
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Say what the right answer would have been."""
    from crucible_batch.assemble.feedback import Corrected, correct_feedback

    done = correct_feedback(
        open_store(root),
        workspace,
        feedback,
        Corrected(answer=answer, assertions=tuple(assertion or ()), doc_ids=tuple(doc or ())),
        author=acting(author),
        note=note,
    )
    text = "nothing to do: the last correction says the same"
    if done.created:
        text = f"corrected (commit {done.seq}); next: crucible feedback promote {feedback}"
    tell(text, {"feedback_id": feedback, **committed(done)}, json=json)


@app.command()
def promote(
    feedback: Feedback,
    item: Annotated[
        str | None,
        typer.Option(
            "--item",
            help="Make a new item of this id; else the next revision of the failed one.",
            show_default=False,
        ),
    ] = None,
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Make a golden item of a corrected failure, with the tag regression."""
    from crucible_batch.assemble.feedback import promote_feedback

    done = promote_feedback(
        open_store(root), workspace, feedback, author=acting(author), item_id=item
    )
    if json:
        emit_json(vars(done))
        return
    what = f"{done.feedback_id} is item {done.item_id}, revision {done.revision}"
    emit(what if done.created else f"nothing to do: {what} already")
    emit(f"golden_set: {done.golden_set}")
    emit(f"golden_set_hash: {done.golden_set_hash}")


@app.command()
def dismiss(
    feedback: Feedback,
    note: Annotated[str, typer.Option("--note", help="Why it needs no test.")],
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Say that a failure needs no test."""
    from crucible_batch.assemble.feedback import dismiss_feedback

    done = dismiss_feedback(open_store(root), workspace, feedback, author=acting(author), note=note)
    text = "dismissed" if done.created else "nothing to do: it is dismissed already"
    tell(text, {"feedback_id": feedback, **committed(done)}, json=json)


@app.command()
def status(root: Root = None, workspace: Workspace = "default", json: Json = False) -> None:
    """Do later runs keep the promoted failures caught? kept, broken, open or unscored."""
    from crucible_batch.assemble.feedback import promoted_status

    opened = open_store(root).workspace(workspace)
    found = promoted_status(opened, opened.snapshot())
    if json:
        for row in found.iter_rows(named=True):
            emit_json(row)
    elif found.is_empty():
        emit("nothing is promoted yet: crucible feedback list --status corrected")
    else:
        emit(table(found.columns, list(found.iter_rows())))
