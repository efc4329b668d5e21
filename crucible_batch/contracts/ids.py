"""Ids that follow from what a row says, for rows that come without one."""

from __future__ import annotations

import json
import unicodedata
from hashlib import sha256


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
