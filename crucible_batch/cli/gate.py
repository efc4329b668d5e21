"""`crucible gate` and `crucible gate selftest`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crucible_batch.cli.completing import runs
from crucible_batch.cli.options import Json, Root, Workspace, open_store
from crucible_batch.cli.output import emit, emit_json, progress
from crucible_batch.errors import UsageError

app = typer.Typer(
    name="gate",
    rich_markup_mode=None,
    invoke_without_command=True,
)

Candidate = Annotated[
    str | None,
    typer.Option(
        "--candidate", help="Run that is judged.", show_default=False, autocompletion=runs
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        help="Run it is held against: a run id, pinned:NAME or latest-succeeded.",
        autocompletion=runs,
        show_default=False,
    ),
]
Config = Annotated[Path, typer.Option("--config", help="The rules.")]
GATE_TOML = Path("gate.toml")


@app.callback(invoke_without_command=True)
def gate(
    context: typer.Context,
    candidate: Candidate = None,
    baseline: Baseline = None,
    config: Config = GATE_TOML,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", help="The night it speaks of: a date (its end) or an instant."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write JUnit XML to this file.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json-file", help="Write JSON to this file.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write Markdown to this file.")
    ] = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """May CANDIDATE be released? Exit code 0 pass, 1 fail, 3 inconclusive, 4 not comparable."""
    if context.invoked_subcommand is not None:
        return
    from crucible_batch.assemble.gate import gate_text, run_gate, write_files
    from crucible_batch.assemble.nightly import parse_as_of
    from crucible_batch.assemble.outputs import check_apart

    judged, held = _both(candidate, baseline)
    instant = None if as_of is None else parse_as_of(as_of)
    check_apart([path for path in (junit, json_file, markdown) if path is not None], [config])
    store = open_store(root)
    with progress("gate") as show:
        done = run_gate(store, workspace, judged, held, config, as_of=instant, progress=show)
    written = write_files(done.verdict, junit=junit, json_file=json_file, markdown=markdown)
    if json:
        emit_json(done.verdict.to_dict())
    else:
        emit(gate_text(done.verdict))
        emit(f"gate_results: {done.path}")
        for path in written:
            emit(f"wrote {path}")
    if done.exit_code:
        raise typer.Exit(done.exit_code)


@app.command()
def selftest(
    candidate: Candidate = None,
    baseline: Baseline = None,
    config: Config = GATE_TOML,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Try the rules out: a run against itself must pass, with a planted drop it must fail."""
    from crucible_batch.assemble.gate import self_test, self_test_text

    judged, held = _both(candidate, baseline)
    store = open_store(root)
    with progress("gate selftest") as show:
        done = self_test(store, workspace, judged, held, config, progress=show)
    if json:
        emit_json(done.to_dict())
    else:
        emit(self_test_text(done))
    if done.exit_code:
        raise typer.Exit(done.exit_code)


def _both(candidate: str | None, baseline: str | None) -> tuple[str, str]:
    """The two runs; a group's own options cannot be required, because its commands have them."""
    if candidate is None or baseline is None:
        absent = [
            f"{name} is missing"
            for name, run in (("--candidate", candidate), ("--baseline", baseline))
            if run is None
        ]
        raise UsageError(
            "A gate holds one run against another",
            problems=absent,
            fix="crucible gate --candidate RUN --baseline RUN|pinned:NAME|latest-succeeded.",
        )
    return candidate, baseline
