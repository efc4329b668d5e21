"""What a person should know beside the rules: notices that never arrived.

A gate is read every day; an endpoint that takes nothing any more is told of there, because the
alert about it may be what it did not take. No rule is about it, so the outcome stays as it is.
"""

from __future__ import annotations

from datetime import datetime

from crucible_batch.assemble.deliver import dead_deliveries
from crucible_batch.report import words
from crucible_batch.store import Snapshot


def dead_notices(snapshot: Snapshot, as_of: datetime | None) -> tuple[str, ...]:
    """One line per endpoint that notices to were given up.

    Args:
        snapshot: What is visible.
        as_of: Later attempts do not exist yet; None: no limit.
    """
    by_endpoint = dead_deliveries(snapshot, as_of=as_of).group_by("endpoint").len()
    return tuple(
        f"dead deliveries: {words.count(n, 'notice')} to {words.one_line(endpoint)} given up; "
        "crucible alerts redeliver EVENT tries again"
        for endpoint, n in by_endpoint.sort("endpoint").iter_rows()
    )
