"""A row of `drift_evaluations` in words, the same in a terminal and on a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from crucible_batch.report import words
from crucible_batch.settings.durations import age
from crucible_batch.settings.thresholds import AGES

GLYPHS = {"breach": "✕", "unknown": "?", "ok": "✓"}
"""Verdicts, those first that a person has to look at."""

Row = Mapping[str, Any]


def by_weight(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Breaches first, critical before warn, then what is unknown; by rule and labels inside."""
    verdicts, severities = list(GLYPHS), ["critical", "warn", None]
    return sorted(
        rows,
        key=lambda row: (
            verdicts.index(row["verdict"]),
            severities.index(row["severity"]),
            row["rule_id"],
            row["labels"],
        ),
    )


def about(row: Row) -> str:
    """What a rule that fans out was asked about: the values of its labels."""
    return ", ".join(str(value) for value in json.loads(row["labels"]).values())


def verdict_text(row: Row) -> str:
    """Verdict, severity of a breach, and the reason where there is one."""
    said = " ".join(part for part in (row["verdict"], row["severity"]) if part)
    return f"{said} ({row['reason']})" if row["reason"] else said


def limit_text(row: Row) -> str:
    """The configured limit, or that of sampling noise where it is the higher one."""
    configured = f"{row['operator']} {number_text(row, row['threshold'])}"
    critical = row["critical"]
    if critical is None or critical < row["threshold"]:
        return configured
    return f"> {number_text(row, critical)} (noise; configured {configured})"


def support_text(row: Row) -> str:
    """Sizes of the reference and of the current sample."""
    now = words.DASH if row["n_current"] is None else f"{row['n_current']:,}"
    return now if row["n_reference"] is None else f"{row['n_reference']:,} → {now}"


def number_text(row: Row, value: float | None) -> str:
    """A value or a limit of a row: an age as people write one, anything else to six digits."""
    if value is None:
        return words.DASH
    if row["statistic"] in AGES:
        return age(timedelta(seconds=value))
    return words.minus(f"{value:.6g}")
