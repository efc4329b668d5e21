"""The nightly job: load, score, compare, snapshot, report; resumable, and done once."""

from __future__ import annotations

from crucible_batch.assemble.nightly.config import NightlyConfig, load_config
from crucible_batch.assemble.nightly.instants import parse_as_of, parse_nights
from crucible_batch.assemble.nightly.night import Night, alone, open_night
from crucible_batch.assemble.nightly.run import NightResult, do_night

__all__ = [
    "Night",
    "NightResult",
    "NightlyConfig",
    "alone",
    "do_night",
    "load_config",
    "open_night",
    "parse_as_of",
    "parse_nights",
]
