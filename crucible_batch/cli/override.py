"""`crucible override qrel|verdict|claim`: let another value count for one judgment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crucible_batch.cli.completing import runs
from crucible_batch.cli.options import Author, Json, Root, Workspace, acting, open_store
from crucible_batch.cli.output import tell

if TYPE_CHECKING:
    from crucible_batch.assemble.overrides import Override

app = typer.Typer(
    name="override",
    help="Corrections of single judgments; both rows stay, the newest counts.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Reason = Annotated[str, typer.Option("--reason", help="Why.")]
Judge = Annotated[
    str | None,
    typer.Option("--judge", help="Whose judgment, where several judged.", show_default=False),
]
Sample = Annotated[int, typer.Option("--sample", help="Sample of the item, from 0.")]
Run = Annotated[str, typer.Argument(help="Run.", autocompletion=runs)]
Item = Annotated[str, typer.Argument(help="Golden item.")]


@app.command()
def qrel(
    query: Annotated[str, typer.Argument(help="Golden item judged.")],
    doc: Annotated[str, typer.Argument(help="Document judged; of a chunk, the chunk.")],
    grade: Annotated[int, typer.Option("--grade", help="0 to 3.")],
    reason: Reason,
    source: Annotated[
        str | None,
        typer.Option("--source", help="human, provenance or llm.", show_default=False),
    ] = None,
    judge: Judge = None,
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Let another grade count for one lane of a document or chunk."""
    where = {
        "query_id": query,
        "target": (f"doc:{doc}", doc),
        "source": source,
        "judge": judge,
    }
    said = _override(
        workspace, "qrels", "grade", where, str(grade), author=author, reason=reason, root=root
    )
    _show(said, json=json)


@app.command()
def verdict(
    run: Run,
    item: Item,
    assertion: Annotated[str, typer.Argument(help="Assertion of the item.")],
    reason: Reason,
    to: Annotated[
        str | None,
        typer.Option(
            "--verdict", help="supported, partial, missing or contradicted.", show_default=False
        ),
    ] = None,
    context_supported: Annotated[
        str | None,
        typer.Option(
            "--context-supported",
            help="Does the evidence support it: true, false or null.",
            show_default=False,
        ),
    ] = None,
    sample: Sample = 0,
    judge: Judge = None,
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Let another verdict on an assertion count, or another word on its evidence."""
    column, new = _one(verdict=to, context_supported=context_supported)
    where = {
        "run_id": run,
        "item_id": item,
        "sample_index": sample,
        "assertion_id": assertion,
        "judge": judge,
    }
    table = "assertion_verdicts"
    said = _override(workspace, table, column, where, new, author=author, reason=reason, root=root)
    _show(said, json=json)


@app.command()
def claim(
    run: Run,
    item: Item,
    claim_id: Annotated[str, typer.Argument(metavar="CLAIM", help="Claim of the answer.")],
    reason: Reason,
    grounded: Annotated[
        str | None, typer.Option("--grounded", help="true, false or null.", show_default=False)
    ] = None,
    correct: Annotated[
        str | None, typer.Option("--correct", help="true, false or null.", show_default=False)
    ] = None,
    sample: Sample = 0,
    judge: Judge = None,
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Let another word on a claim count: is it grounded, is it correct."""
    column, new = _one(grounded=grounded, correct=correct)
    where = {
        "run_id": run,
        "item_id": item,
        "sample_index": sample,
        "claim_id": claim_id,
        "judge": judge,
    }
    table = "claims"
    said = _override(workspace, table, column, where, new, author=author, reason=reason, root=root)
    _show(said, json=json)


def _one(**values: str | None) -> tuple[str, str]:
    from crucible_batch.errors import UsageError

    given = [(name, value) for name, value in values.items() if value is not None]
    if len(given) != 1:
        options = " or ".join("--" + name.replace("_", "-") for name in values)
        raise UsageError("One value is overridden at a time", fix=f"say {options}.")
    return given[0]


def _override(
    workspace: str,
    table: str,
    column: str,
    where: dict[str, Any],
    new: str,
    *,
    author: str | None,
    reason: str,
    root: Path | None,
) -> Override:
    from crucible_batch.assemble.overrides import override_judgment

    return override_judgment(
        open_store(root),
        workspace,
        table,
        column,
        where,
        new,
        author=acting(author),
        reason=reason,
    )


def _show(done: Override, *, json: bool) -> None:
    what = f"{', '.join(map(str, done.target))}: {done.column}"
    text = f"nothing to do: {what} is {done.new} already"
    if done.created:
        text = f"{what} {done.old} → {done.new} (commit {done.commit})"
    tell(text, vars(done), json=json)
