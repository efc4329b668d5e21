"""What stored configurations say."""

from __future__ import annotations

import json
from typing import Any

import polars as pl


def payload_of(rows: pl.DataFrame, snapshot_id: str | None) -> dict[str, Any]:
    """The payload of a row of `config_snapshots`; empty when there is none."""
    found = rows.filter(pl.col("snapshot_id").eq_missing(snapshot_id))["payload"].to_list()
    return dict(json.loads(found[0])) if found else {}
