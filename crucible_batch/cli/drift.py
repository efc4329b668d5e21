"""`crucible drift scan|explain`: hold the corpus against the rules, and say why."""

from __future__ import annotations

from typing import Annotated

import typer

from crucible_batch.cli.options import AsOf, Json, Root, Workspace, open_store
from crucible_batch.cli.output import emit, emit_json, progress, table

app = typer.Typer(
    help="Watch the corpus: scan it against the rules of settings.toml, and explain a scan.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NOTHING = 3
"""Exit code when there is nothing to judge."""


@app.command()
def scan(
    as_of: AsOf = None,
    corpus_version: Annotated[
        str | None,
        typer.Option(
            "--corpus-version",
            help="Look at this complete version; the newest one if absent.",
            show_default=False,
        ),
    ] = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Snapshot the newest complete corpus version and judge it by the rules, once.

    Exits with 0 when the scan stands, whatever its verdicts: alerts and the gate act on these. With
    3 when no complete corpus version was observed by then.
    """
    from datetime import UTC, datetime

    from crucible_batch.assemble.alerts import alerts_follow
    from crucible_batch.assemble.drift import scan_drift, scan_json, scan_text, why_no_snapshot
    from crucible_batch.assemble.nightly import parse_as_of

    instant = datetime.now(UTC) if as_of is None else parse_as_of(as_of)
    store = open_store(root)
    with progress("drift scan") as show:
        done = scan_drift(
            store,
            workspace,
            as_of=instant,
            corpus_version=corpus_version,
            follow=alerts_follow(store, workspace),
            progress=show,
        )
    if done is None:
        emit(why_no_snapshot(store, workspace, as_of=instant))
        raise typer.Exit(NOTHING)
    if json:
        emit_json(scan_json(done))
    else:
        emit(scan_text(done))


@app.command()
def explain(
    as_of: AsOf = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Show the last scan by then: of every rule the value, the limit that applied, the verdict.

    Writes nothing. Exits with 3 when there was no scan yet.
    """
    from datetime import UTC, datetime

    from crucible_batch.assemble.drift import EXPLAINED, explained, latest_scan, scan_json
    from crucible_batch.assemble.drift.text import corpus_line
    from crucible_batch.assemble.nightly import parse_as_of

    instant = datetime.now(UTC) if as_of is None else parse_as_of(as_of)
    found = latest_scan(open_store(root), workspace, as_of=instant)
    if found is None:
        emit(
            f"no scan of {workspace} by {instant:%Y-%m-%d %H:%M} UTC: `crucible drift scan` "
            "makes one."
        )
        raise typer.Exit(NOTHING)
    if json:
        emit_json(scan_json(found))
        return
    emit(corpus_line(found.snapshot.row))
    emit(table(EXPLAINED, explained(found)))
    emit(f"scan_id: {found.facts.scan_id}")
