"""Deliveries of notices: owed to endpoints, sent in order, tried again, given up, armed again."""

from __future__ import annotations

from crucible_batch.assemble.deliver.again import Rearmed, redeliver
from crucible_batch.assemble.deliver.dispatch import Delivered, deliver
from crucible_batch.assemble.deliver.outbox import dead_deliveries, outbox

__all__ = [
    "Delivered",
    "Rearmed",
    "dead_deliveries",
    "deliver",
    "outbox",
    "redeliver",
]
