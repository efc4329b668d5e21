"""How old the corpus is, measured from the time a scan speaks of, never from the wall clock."""

from __future__ import annotations

from datetime import datetime, timedelta

from crucible_batch.errors import UsageError
from crucible_batch.settings.watch import Staleness
from crucible_batch.watch.measured import Measured

NO_DOCUMENTS = "no_documents"
NO_TIMESTAMPS = "no_timestamps"
ONLY_FUTURE = "only_future_timestamps"
FIRST_SCAN = "first_scan"


def document_age(
    *,
    as_of: datetime,
    newest: datetime | None,
    n_documents: int,
    n_future: int,
    staleness: Staleness,
) -> Measured:
    """Age of the newest document, in seconds.

    Args:
        as_of: The time the scan speaks of, with a zone.
        newest: Newest source time not later than as_of + clock_skew; None without one.
        n_documents: Documents of the corpus version.
        n_future: Documents with a source time later than that; they never make it fresh.
        staleness: `on_empty` is the verdict on a corpus without documents.

    Returns:
        The age, 0 for a source whose clock is ahead. None without documents (`no_documents`),
        without source times (`no_timestamps`), or with none but future ones.

    Raises:
        UsageError: A time has no zone.
    """
    if n_documents == 0:
        return Measured(value=None, n_current=0, reason=NO_DOCUMENTS, verdict=staleness.on_empty)
    if newest is None:
        reason = ONLY_FUTURE if n_future else NO_TIMESTAMPS
        return Measured(value=None, n_current=n_documents, reason=reason)
    return Measured(value=_age(newest, as_of), n_current=n_documents, support=n_documents)


def snapshot_age(*, as_of: datetime, previous: datetime | None, n_documents: int) -> Measured:
    """Age of the complete corpus version before the one that is looked at, in seconds.

    It is how long the change between both took: what comes in rarely is compared with what is old.

    Args:
        as_of: The time the scan speaks of, with a zone.
        previous: When the previous complete version was observed; partial ones are passed over.
            None: there is none (`first_scan`).
        n_documents: Documents of the version that is looked at.

    Raises:
        UsageError: A time has no zone.
    """
    if previous is None:
        return Measured(value=None, n_current=n_documents, reason=FIRST_SCAN)
    return Measured(value=_age(previous, as_of), n_current=n_documents, support=n_documents)


def _age(moment: datetime, as_of: datetime) -> float:
    for name, time in (("as_of", as_of), ("the time", moment)):
        if time.utcoffset() is None:
            raise UsageError(
                f"{name} {time.isoformat()} has no time zone: no age can be told",
                fix="write it as 2026-05-01T00:00:00Z.",
            )
    return max(as_of - moment, timedelta(0)).total_seconds()
