"""A scan in words: what was looked at, which rules are breached, and why each came out so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crucible_batch.assemble.drift.scan import DriftScan
from crucible_batch.report import words
from crucible_batch.report.evaluations import (
    GLYPHS,
    about,
    by_weight,
    limit_text,
    number_text,
    support_text,
    verdict_text,
)


def scan_text(scan: DriftScan) -> str:
    """The lines of a scan, whether it was there already, and its id."""
    lines = [*scan_lines(scan)]
    if not scan.created:
        lines.append(f"done already as c{scan.commit:08d}: nothing was written (no-op)")
    return "\n".join([*lines, f"scan_id: {scan.facts.scan_id}"])


def scan_lines(scan: DriftScan) -> tuple[str, ...]:
    """The corpus in one line, the verdicts counted, every rule that is not ok, and messages."""
    rows = scan.evaluations.to_dicts()
    open_ = by_weight([row for row in rows if row["verdict"] != "ok"])
    told = (f"{GLYPHS[row['verdict']]} {words.one_line(_told(row))}" for row in open_)
    messages = (words.one_line(message) for message in scan.messages)
    return (corpus_line(scan.snapshot.row), _counted(rows), *told, *messages)


def corpus_line(row: Mapping[str, Any]) -> str:
    """What a snapshot holds and how it moved."""
    head = (
        f"corpus {words.one_line(row['corpus_version'])} as of {row['as_of']:%Y-%m-%d %H:%M} UTC: "
        f"{row['doc_count']:,} documents, {row['entity_count']:,} entities"
    )
    if row["doc_churn_ratio"] is None:
        return f"{head}; churn not measured ({row['reason'] or 'no documents on either side'})"
    return (
        f"{head}; {row['doc_added']:,} added, {row['doc_removed']:,} removed, "
        f"{row['doc_changed']:,} changed (churn {row['doc_churn_ratio']:.1%})"
    )


EXPLAINED = ("", "rule", "about", "measured", "value", "limit that applied", "support", "verdict")
"""Header of `explained`."""


def explained(scan: DriftScan) -> list[tuple[str, ...]]:
    """One row per evaluation: its value, the limit that applied, its support and its verdict."""
    return [
        (
            GLYPHS[row["verdict"]],
            words.one_line(row["rule_id"]),
            words.one_line(about(row) or "—"),
            row["statistic"],
            number_text(row, row["value"]),
            limit_text(row),
            support_text(row),
            verdict_text(row),
        )
        for row in by_weight(scan.evaluations.to_dicts())
    ]


def scan_json(scan: DriftScan) -> dict[str, Any]:
    """A scan as one object: times in ISO 8601, labels as objects."""
    rows = [
        {**row, "labels": json.loads(row["labels"])} for row in _plain(scan.evaluations.to_dicts())
    ]
    return {
        "scan_id": scan.facts.scan_id,
        "workspace": scan.facts.workspace,
        "created": scan.created,
        "commit": scan.commit,
        "snapshot": _plain([scan.snapshot.row])[0],
        "evaluations": rows,
        "messages": list(scan.messages),
    }


def _plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: v.isoformat() if hasattr(v, "isoformat") else v for name, v in row.items()}
        for row in rows
    ]


def _counted(rows: list[dict[str, Any]]) -> str:
    verdicts = [row["verdict"] for row in rows]
    if not verdicts:
        return "no rules"
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in GLYPHS)


def _told(row: Mapping[str, Any]) -> str:
    of = f" [{about(row)}]" if about(row) else ""
    if row["value"] is None:
        return f"{row['rule_id']}{of}: {row['statistic']} {verdict_text(row)}"
    value = f"{row['statistic']} is {number_text(row, row['value'])}, limit {limit_text(row)}"
    return f"{row['rule_id']}{of}: {value}: {verdict_text(row)}"
