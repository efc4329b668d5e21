"""Fills the ids of rows that come without one."""

from __future__ import annotations

import polars as pl

from crucible_batch.contracts.ids import assertion_id


def with_assertion_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Fill the ids of golden assertions that have none; rows without level or text stay null."""
    given = frame["assertion_id"] if "assertion_id" in frame.columns else [None] * frame.height
    if not isinstance(given, list) and given.null_count() == 0:
        return frame
    if not {"level", "text"} <= set(frame.columns):
        return frame
    ids = [
        assertion_id(level, text)
        if known is None and level is not None and text is not None
        else known
        for known, level, text in zip(given, frame["level"], frame["text"], strict=True)
    ]
    return frame.with_columns(pl.Series("assertion_id", ids, dtype=pl.String()))
