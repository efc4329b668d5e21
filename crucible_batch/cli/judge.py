"""`crucible judge assertions|claims|bridge RUN` and `crucible qrels judge RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli.completing import runs
from crucible_batch.cli.options import Json, Root, Workspace, open_store
from crucible_batch.cli.output import calls_bar, emit, emit_json

if TYPE_CHECKING:
    from crucible_batch.assemble.judge import Judged

app = typer.Typer(
    help="Judge what runs answered: assertions and claims; one judge beside another.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Runs = Annotated[
    list[str], typer.Argument(help="Ids of the runs.", metavar="RUN...", autocompletion=runs)
]
JudgeName = Annotated[
    str | None,
    typer.Option(
        "--judge",
        envvar="CRUCIBLE_JUDGE",
        help="lexical, a model id, or model@prompt_version; judge.model when absent.",
        show_default=False,
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="CRUCIBLE_JUDGE_URL",
        help="Address of the chat API, up to /v1; judge.base_url when absent.",
        show_default=False,
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option("--concurrency", help="Calls under way at once.", show_default=False),
]
MaxCalls = Annotated[
    int | None, typer.Option("--max-calls", help="Most calls to make.", show_default=False)
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", help="Most US dollars to spend.", show_default=False),
]
RetryMalformed = Annotated[
    bool, typer.Option("--retry-malformed", help="Ask again where no verdict could be read.")
]
RejudgeChanged = Annotated[
    bool,
    typer.Option(
        "--rejudge-changed",
        help="Ask again where the texts changed; another verdict becomes an override.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be asked and what it takes; ask nothing.")
]


def qrels(
    runs: Runs,
    depth: Annotated[
        int | None,
        typer.Option(
            "-k",
            "--depth",
            help="Documents of each ranking; the largest of scoring.ks when absent.",
            show_default=False,
        ),
    ] = None,
    texts: Annotated[
        list[Path] | None,
        typer.Option(
            "--texts",
            help="Files with doc_id and text, or files of text; else the texts retrieved.",
            show_default=False,
        ),
    ] = None,
    judge: JudgeName = None,
    base_url: BaseUrl = None,
    concurrency: Concurrency = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    retry_malformed: RetryMalformed = False,
    rejudge_changed: RejudgeChanged = False,
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Grade the documents that runs retrieved and the judge has not graded."""
    from crucible_batch.assemble.judge import JudgeOptions, judge_qrels

    options = JudgeOptions(
        judge=judge,
        base_url=base_url,
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        retry_malformed=retry_malformed,
        rejudge_changed=rejudge_changed,
        dry_run=dry_run,
    )
    store = open_store(root)
    with calls_bar("grading documents") as watch:
        done = judge_qrels(
            store, workspace, runs, depth=depth, texts=texts or (), options=options, watch=watch
        )
    _show(done, dry_run=dry_run, json=json)


@app.command()
def assertions(
    runs: Runs,
    judge: JudgeName = None,
    base_url: BaseUrl = None,
    concurrency: Concurrency = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    retry_malformed: RetryMalformed = False,
    rejudge_changed: RejudgeChanged = False,
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Judge whether answers make the assertions of their items, and whether evidence does."""
    from crucible_batch.assemble.judge import JudgeOptions, judge_assertions

    options = JudgeOptions(
        judge=judge,
        base_url=base_url,
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        retry_malformed=retry_malformed,
        rejudge_changed=rejudge_changed,
        dry_run=dry_run,
    )
    store = open_store(root)
    with calls_bar("judging assertions") as watch:
        done = judge_assertions(store, workspace, runs, options=options, watch=watch)
    _show(done, dry_run=dry_run, json=json)


@app.command()
def claims(
    runs: Runs,
    judge: JudgeName = None,
    base_url: BaseUrl = None,
    concurrency: Concurrency = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    retry_malformed: RetryMalformed = False,
    rejudge_changed: RejudgeChanged = False,
    dry_run: DryRun = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Judge whether the claims of answers are grounded in the evidence, and correct."""
    from crucible_batch.assemble.judge import JudgeOptions, judge_claims

    options = JudgeOptions(
        judge=judge,
        base_url=base_url,
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        retry_malformed=retry_malformed,
        rejudge_changed=rejudge_changed,
        dry_run=dry_run,
    )
    store = open_store(root)
    with calls_bar("judging claims") as watch:
        done = judge_claims(store, workspace, runs, options=options, watch=watch)
    _show(done, dry_run=dry_run, json=json)


@app.command()
def bridge(
    runs: Runs,
    judge: JudgeName = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="Lane that has judged the runs; the only other one when absent.",
            show_default=False,
        ),
    ] = None,
    base_url: BaseUrl = None,
    concurrency: Concurrency = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Let another judge judge the same stored answers, and say how far the two are apart."""
    from crucible_batch.assemble.anchors import bridge_judges, bridge_lines
    from crucible_batch.assemble.judge import JudgeOptions, judged_lines, require_answers

    options = JudgeOptions(
        judge=judge,
        base_url=base_url,
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
    )
    store = open_store(root)
    with calls_bar("judging assertions") as watch:
        done = bridge_judges(store, workspace, runs, against=against, options=options, watch=watch)
    if json:
        emit_json(done.to_dict())
    else:
        for line in (*judged_lines(done.judged, dry_run=False), *bridge_lines(done)):
            emit(line)
    require_answers(done.judged)


def _show(done: Judged, *, dry_run: bool, json: bool) -> None:
    """Print what was done.

    Raises:
        JudgeError: Calls were given up; the rest is committed and printed first.
    """
    from dataclasses import asdict

    from crucible_batch.assemble.judge import judged_lines, require_answers

    if json:
        emit_json({**asdict(done), "dry_run": dry_run})
    else:
        for line in judged_lines(done, dry_run=dry_run):
            emit(line)
    require_answers(done)
