"""`crucible nightly`: the job of the flow, without a Prefect server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli.heap import share_heap
from crucible_batch.cli.options import Json, Root, open_store
from crucible_batch.cli.output import emit, emit_json, progress, table, terminal_width

if TYPE_CHECKING:
    from crucible_batch.assemble.load import LoadReport
    from crucible_batch.assemble.nightly import NightResult


def nightly(
    config: Annotated[
        Path, typer.Option("--config", help="What is loaded, and what it is compared with.")
    ] = Path("nightly.toml"),
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            help="A date (its end), an instant with a zone, or dates A..B; now if absent.",
            show_default=False,
        ),
    ] = None,
    root: Root = None,
    workspace: Annotated[
        str | None,
        typer.Option(
            "--workspace",
            envvar="CRUCIBLE_WORKSPACE",
            help="Workspace within the store, if the configuration does not say.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Load, score, compare with the baseline, hold against the gate, report; once per night.

    Exits with the code of the gate; without a gate with 0, or with 4 when nothing can be compared;
    with 3 when there is no new run to judge. Of several nights the last one counts.
    """
    share_heap()
    from datetime import UTC, datetime

    from crucible_batch.assemble.nightly import do_night, open_night, parse_nights

    instants = (datetime.now(UTC),) if as_of is None else parse_nights(as_of)
    folder = open_store(root).root
    code = 0
    for instant in instants:
        night = open_night(folder, config, instant, workspace)
        with progress(f"night of {instant:%Y-%m-%d %H:%M} UTC") as show:
            done = do_night(night, until_now=as_of is None, progress=show)
        if json:
            emit_json(done.to_dict())
        else:
            show_night(done)
            show_gate(done)
        code = done.exit_code
    if code:
        raise typer.Exit(code)


def show_night(night: NightResult) -> None:
    """Print what became of a night."""
    from crucible_batch.assemble.compare.text import comparison_text

    if night.is_repeat:
        emit(
            f"the night of {night.as_of:%Y-%m-%d %H:%M} UTC is done already: "
            f"{night.baseline} → {night.candidate} (no-op)"
        )
    if night.loads:
        emit(table(("loaded", "rows", "quarantined", "already there"), _loaded(night.loads)))
        for line in _put_aside(night.loads):
            emit(line)
        emit("")
    if night.comparison is not None:
        emit(comparison_text(night.comparison, width=terminal_width()))
    if night.why_none is not None:
        emit(night.why_none)
    for line in night.watch_lines:
        emit(line)
    if night.report is not None:
        emit(f"report: {night.report}")


def show_gate(night: NightResult) -> None:
    """Print what the gate of the night says, last of all."""
    from crucible_batch.assemble.gate import gate_words

    if night.gate is not None:
        emit("")
        emit(gate_words(night.gate.verdict))
    elif night.gate_told is not None:
        emit(night.gate_told.line)


def _loaded(loads: tuple[LoadReport, ...]) -> list[tuple[object, ...]]:
    """One line per table: rows accepted, put aside, already there."""
    totals: dict[str, list[int]] = {}
    for load in loads:
        for part in load.tables:
            counts = totals.setdefault(part.table, [0, 0, 0])
            counts[0] += part.n_accepted
            counts[1] += part.n_quarantined
            counts[2] += part.n_already_there
    return [(name, *counts) for name, counts in totals.items()]


def _put_aside(loads: tuple[LoadReport, ...]) -> list[str]:
    """Why rows were put aside, and where they are."""
    reasons = [f"quarantined: {line}" for load in loads for line in load.reasons]
    return reasons + [f"quarantine file: {path}" for load in loads for path in load.quarantine]
