"""Hold the newest complete corpus version against the rules; alerts move in the same commit.

python -m flows.drift_scan --root STORE
"""

# Annotations are no text here: Prefect pickles a served flow for its process, and text could not be
# resolved there.
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from prefect import flow
from prefect.events import emit_event
from prefect.runtime import flow_run

from crucible_batch.assemble.alerts import alerts_follow
from crucible_batch.assemble.drift import scan_drift, scan_text, why_no_snapshot
from crucible_batch.assemble.nightly import parse_as_of
from crucible_batch.store import Store


@flow(name="drift-scan", log_prints=True)
def drift_scan(root: Path, workspace: str = "default", as_of: str | None = None) -> str | None:
    """Scan once; the same scan again is a no-op that says so.

    After the commit of a new scan Prefect is told of it, for automations of its own.

    Args:
        root: Folder of the store.
        workspace: Workspace within the store.
        as_of: A date (its end) or an instant with a zone; the scheduled start if absent.

    Returns:
        The id of the scan; None when no complete corpus version was observed by then.
    """
    start: datetime = flow_run.scheduled_start_time or datetime.now(UTC)
    instant = parse_as_of(as_of or start.isoformat())
    store = Store.open(root)
    done = scan_drift(store, workspace, as_of=instant, follow=alerts_follow(store, workspace))
    if done is None:
        print(why_no_snapshot(store, workspace, as_of=instant))
        return None
    print(scan_text(done))
    if done.created:
        verdicts = done.evaluations["verdict"].to_list()
        emit_event(
            event="crucible.drift-scan.done",
            resource={
                "prefect.resource.id": f"crucible.workspace.{workspace}",
                "crucible.scan_id": done.facts.scan_id,
            },
            payload={word: verdicts.count(word) for word in ("ok", "breach", "unknown")},
        )
    return done.facts.scan_id


def main(
    root: Annotated[Path, typer.Option(help="Folder of the store.")],
    workspace: Annotated[str, typer.Option(help="Workspace within the store.")] = "default",
    as_of: Annotated[
        str | None,
        typer.Option(help="A date (its end) or an instant with a zone; now if not given."),
    ] = None,
) -> None:
    """Run the flow once."""
    drift_scan(root, workspace, as_of)


if __name__ == "__main__":
    typer.run(main)
