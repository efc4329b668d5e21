"""`crucible alerts list|show|ack|snooze|history|deliver|redeliver`: what is wrong, who knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from crucible_batch.cli.options import Author, Json, Root, Workspace, acting, open_store
from crucible_batch.cli.output import committed, emit, emit_json, progress, table, tell

app = typer.Typer(
    name="alerts",
    help="Alerts: what is wrong, who has it, and whether everybody was told.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Alert = Annotated[
    str, typer.Argument(metavar="ALERT", help="Id of the alert, or its first characters.")
]
Note = Annotated[str | None, typer.Option("--note", help="A remark.", show_default=False)]

_DELIVERY = ("event_id", "kind", "endpoint", "state", "n_tries", "due_at", "last_error")


@app.command("list")
def list_(
    resolved: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Print the alerts that are open, critical ones first."""
    from crucible_batch.assemble.alerts import kept_back, list_alerts

    snapshot = open_store(root).workspace(workspace).snapshot()
    found = list_alerts(snapshot, resolved=resolved)
    if json:
        _emit_rows(found.iter_rows(named=True))
    elif found.is_empty():
        emit("no alert is open" if not resolved else "there has never been an alert")
    else:
        header = ("alert", "state", "severity", "rule", "labels", "since", "quiet")
        emit(table(header, [_line(row) for row in found.iter_rows(named=True)]))
        for line in kept_back(snapshot):
            emit(line)


@app.command()
def show(
    alert: Alert, root: Root = None, workspace: Workspace = "default", json: Json = False
) -> None:
    """Print one alert with its history and what endpoints are owed of it."""
    from crucible_batch.assemble.alerts import show_alert

    snapshot = open_store(root).workspace(workspace).snapshot()
    found = show_alert(snapshot, alert)
    if json:
        emit_json(
            {
                "alert": found.alert,
                "events": found.events.to_dicts(),
                "deliveries": found.deliveries.to_dicts(),
            }
        )
        return
    emit(table(("column", "value"), list(found.alert.items())))
    columns = ("event_id", "occurred_at", "kind", "severity", "episode", "seq", "scan_id")
    emit("\n" + table(columns, list(found.events.select(columns).iter_rows())))
    if not found.deliveries.is_empty():
        emit("\n" + table(_DELIVERY, list(found.deliveries.select(_DELIVERY).iter_rows())))


@app.command()
def ack(
    alert: Alert,
    note: Note = None,
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Say that somebody has an alert; nobody is told of it again before it ends."""
    from crucible_batch.assemble.alerts import acknowledge_alert

    done = acknowledge_alert(open_store(root), workspace, alert, author=acting(author), note=note)
    text = f"acknowledged (commit {done.seq})" if done.created else "nothing to do: somebody has it"
    tell(text, {"alert": alert, **committed(done)}, json=json)


@app.command()
def snooze(
    alert: Alert,
    until: Annotated[
        str,
        typer.Option(
            "--until", help="A date (its end) or an instant with a zone; a past one ends a snooze."
        ),
    ],
    note: Note = None,
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Tell nobody of an alert for a while; it goes on being watched."""
    from crucible_batch.assemble.alerts import snooze_alert
    from crucible_batch.assemble.nightly import parse_as_of

    end, store = parse_as_of(until), open_store(root)
    done = snooze_alert(store, workspace, alert, until=end, author=acting(author), note=note)
    text = "nothing to do: it is snoozed until then already"
    if done.created:
        moment, is_past = end.isoformat(), end <= store.workspace(workspace).now()
        what = f"not snoozed: {moment} is past" if is_past else f"snoozed until {moment}"
        text = f"{what} (commit {done.seq})"
    said = {"alert": alert, "snoozed_until": end.isoformat(), **committed(done)}
    tell(text, said, json=json)


@app.command()
def history(
    alert: Annotated[
        str | None,
        typer.Argument(metavar="[ALERT]", help="Only of this alert.", show_default=False),
    ] = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Print everything that happened to alerts, oldest first."""
    from crucible_batch.assemble.alerts import alert_history

    found = alert_history(open_store(root).workspace(workspace).snapshot(), alert)
    if json:
        _emit_rows(found.iter_rows(named=True))
    elif found.is_empty():
        emit("there has never been an alert")
    else:
        header = ("when", "alert", "kind", "severity", "rule", "labels", "reason", "author", "note")
        emit(table(header, [_event(row) for row in found.iter_rows(named=True)]))


@app.command()
def deliver(root: Root = None, workspace: Workspace = "default", json: Json = False) -> None:
    """Send every notice that is due; exit code 2 if an endpoint cannot be sent to."""
    from crucible_batch.assemble.deliver import deliver as deliver_due

    with progress("delivering") as shown:
        done = deliver_due(open_store(root), workspace, progress=shown)
    if json:
        emit_json({**vars(done), "outcomes": dict(done.outcomes)})
    else:
        for line in done.lines():
            emit(line)
    done.check()


@app.command()
def redeliver(
    event: Annotated[
        str | None,
        typer.Argument(
            metavar="[EVENT]", help="Id of an event, or its first characters.", show_default=False
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            "--endpoint",
            help="Only to this endpoint; without EVENT, what was given up for it.",
            show_default=False,
        ),
    ] = None,
    author: Author = None,
    root: Root = None,
    workspace: Workspace = "default",
    json: Json = False,
) -> None:
    """Make notices due again, with all tries before them; `alerts deliver` then sends them."""
    from crucible_batch.assemble.deliver import redeliver as arm

    done = arm(open_store(root), workspace, author=acting(author), event=event, endpoint=endpoint)
    for event_id, name in done.deliveries:
        said = {"event_id": event_id, "endpoint": name}
        tell(f"due again: {event_id} to {name}", said, json=json)
    if not done.deliveries and not json:
        emit("nothing to do: nothing was given up")


def _emit_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    for row in rows:
        emit_json(row)


def _line(row: Mapping[str, Any]) -> tuple[object, ...]:
    from crucible_batch.assemble.alerts import labels_text

    quiet = "acknowledged" if row["acknowledged"] else row["snoozed_until"]
    since = row["resolved_at"] if row["state"] == "resolved" else row["opened_at"]
    return (
        *(row["fingerprint"][:12], row["state"], row["severity"], row["rule_id"]),
        *(labels_text(row["labels"]), since, quiet),
    )


def _event(row: Mapping[str, Any]) -> tuple[object, ...]:
    from crucible_batch.assemble.alerts import labels_text

    return (
        *(row["occurred_at"], row["fingerprint"][:12], row["kind"], row["severity"]),
        *(row["rule_id"], labels_text(row["labels"]), row["reason"], row["author"], row["note"]),
    )
