"""The corpus of a night: one scan against the rules, the alerts it moves, the notices owed."""

from __future__ import annotations

from typing import NamedTuple

from crucible_batch.assemble.alerts import alerts_follow
from crucible_batch.assemble.deliver import deliver
from crucible_batch.assemble.drift import scan_drift, scan_lines
from crucible_batch.assemble.nightly.night import Night
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.settings import load_settings


class Scanned(NamedTuple):
    """What the scan of a night found.

    Attributes:
        scan_id: Its id.
        lines: The corpus, the verdicts counted, and every rule that is not ok, in words.
    """

    scan_id: str
    lines: tuple[str, ...]


def scan_corpus(night: Night, *, progress: Progress = quiet) -> Scanned | None:
    """Hold the newest complete corpus version against the rules; None without one.

    Alerts move in the commit of the scan. The same night again finds its scan done.

    Raises:
        UsageError: A settings file cannot be used.
        ContractError: The version lacks rows that it says it has.
    """
    progress("looking at the corpus")
    done = scan_drift(
        night.store,
        night.workspace,
        as_of=night.as_of,
        follow=alerts_follow(night.store, night.workspace),
    )
    return None if done is None else Scanned(done.facts.scan_id, scan_lines(done))


def send_notices(night: Night, *, progress: Progress = quiet) -> tuple[str, ...]:
    """Send the notices that are due, if there are endpoints; says what was done, in words.

    The night is over by then: an endpoint that cannot be sent to is told, and what it is owed
    waits for the next pass.
    """
    if not load_settings(night.store.root, night.workspace).webhooks:
        return ()
    progress("sending notices")
    done = deliver(night.store, night.workspace)
    return (*done.lines(), *done.problems)
