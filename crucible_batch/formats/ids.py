"""Stable ids for rows that come without one."""

from __future__ import annotations

import json
import unicodedata
from hashlib import sha256

import polars as pl


def assertion_id(level: str, text: str) -> str:
    """Return `a-` + 12 hex digits of the SHA-256 of the JSON list [level, text].

    The bytes hashed are `json.dumps([level, text], separators=(",", ":"), ensure_ascii=False)` in
    UTF-8, the strings in NFC: two spellings of one character give one id, as in `item_hash`.
    """
    parts = [unicodedata.normalize("NFC", part) for part in (level, text)]
    canonical = json.dumps(parts, separators=(",", ":"), ensure_ascii=False)
    return "a-" + sha256(canonical.encode()).hexdigest()[:12]


def question_id(question: str) -> str:
    """Return `q-` + 16 hex digits of the SHA-256 of the question in NFC, in UTF-8."""
    return "q-" + sha256(unicodedata.normalize("NFC", question).encode()).hexdigest()[:16]


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
