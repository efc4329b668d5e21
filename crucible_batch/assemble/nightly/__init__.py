"""The nightly job: load, score, compare, snapshot, report; resumable, and done once."""

from __future__ import annotations

from crucible_batch.assemble.nightly.config import NightlyConfig, load_config
from crucible_batch.assemble.nightly.run import NightResult, do_night, run_night
from crucible_batch.assemble.nightly.steps import Night, parse_as_of

__all__ = [
    "Night",
    "NightResult",
    "NightlyConfig",
    "do_night",
    "load_config",
    "parse_as_of",
    "run_night",
]
