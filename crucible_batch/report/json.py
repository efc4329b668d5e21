"""The report as JSON: every number with the text it is printed as."""

from __future__ import annotations

import json

from crucible_batch.report.league import League
from crucible_batch.report.model import Report


def to_json(report: Report | League) -> str:
    """Print the model as JSON, keys in the order of the page."""
    return json.dumps(report.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
