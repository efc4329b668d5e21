"""The Prefect flows: schedules, retries and concurrency around one call each into the package.

Importing this package sets what keeps Prefect quiet and local; it has to happen before Prefect is
imported, and whatever is set already stays.
"""

from __future__ import annotations

import os

for _name, _value in {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "crucible_batch",
}.items():
    os.environ.setdefault(_name, _value)
