"""`crucible nightly`: the job of the flow, without a Prefect server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible_batch.cli.options import Root, open_store
from crucible_batch.cli.output import emit, progress, table

if TYPE_CHECKING:
    from crucible_batch.assemble.load import LoadReport
    from crucible_batch.assemble.nightly import NightResult


def nightly(
    config: Annotated[
        Path, typer.Option("--config", help="What is loaded, and what it is compared with.")
    ] = Path("nightly.toml"),
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", help="A date (its end) or an instant with a zone; now if absent."),
    ] = None,
    root: Root = None,
) -> None:
    """Load, score, compare with the baseline, snapshot the corpus, report; once per night."""
    from datetime import UTC, datetime

    from crucible_batch.assemble.nightly import parse_as_of, run_night

    instant = datetime.now(UTC) if as_of is None else parse_as_of(as_of)
    store = open_store(root)
    with progress("nightly") as show:
        night = run_night(store, config, instant, progress=show)
    show_night(night)
    if night.exit_code:
        raise typer.Exit(night.exit_code)


def show_night(night: NightResult) -> None:
    """Print what became of a night."""
    from crucible_batch.assemble.compare.text import comparison_text

    if night.is_repeat:
        emit(
            f"the night of {night.as_of:%Y-%m-%d %H:%M} UTC is done already: "
            f"{night.baseline} → {night.candidate} (no-op)"
        )
        return
    if night.loads:
        emit(table(("loaded", "rows", "quarantined", "already there"), _loaded(night.loads)))
        emit("")
    if night.comparison is None:
        emit(f"no new run to judge as of {night.as_of:%Y-%m-%d %H:%M} UTC")
    else:
        emit(comparison_text(night.comparison))
    if night.corpus is not None:
        emit(night.corpus)
    if night.report is not None:
        emit(f"report: {night.report}")


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
