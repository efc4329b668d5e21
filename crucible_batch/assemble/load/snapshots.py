"""Frozen configurations: canonical payloads and the ids they hash to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from crucible_batch.assemble.load.rows import canonical_text
from crucible_batch.contracts import TABLES
from crucible_batch.errors import ContractError
from crucible_batch.store.fingerprint import text_sha256

SNAPSHOTS = TABLES["config_snapshots"]


def snapshot_row(kind: str, payload: Mapping[str, Any], workspace: str) -> pl.DataFrame:
    """The config_snapshots row of a payload; its id is the SHA-256 of the canonical JSON.

    Raises:
        ContractError: A judge's payload has no `judge` of the form model@prompt_version, or a
            number is NaN or infinite.
    """
    judge = payload.get("judge")
    if kind == "judge" and not (isinstance(judge, str) and _names_a_judge(judge)):
        raise ContractError(
            "A judge's configuration does not say which judge it is",
            problems=[f"judge: {judge!r}"],
            fix='add "judge": "model@prompt_version" to the payload.',
        )
    text = canonical_text(json.dumps(payload))
    if text is None:
        raise ContractError(
            f"The configuration of the {kind} cannot be frozen",
            problems=[f"{kind}: not_json: {str(payload)[:80]}"],
            fix="NaN and infinities are no JSON: leave them out.",
        )
    row = {
        "workspace_id": workspace,
        "snapshot_id": text_sha256(text),
        "kind": kind,
        "payload": text,
    }
    return pl.DataFrame([row], schema=SNAPSHOTS.schema)


def _names_a_judge(judge: str) -> bool:
    model, at, prompt = judge.partition("@")
    return bool(model and at and prompt)


def canonical_snapshots(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows handed in, payload in canonical JSON and the id it hashes to.

    Raises:
        ContractError: A payload is no JSON object, or a stated id is not the payload's hash.
    """
    fixed, problems = [], []
    for row in rows.iter_rows(named=True):
        where = f"{row['_source_file']} row {row['_source_row']}"
        text = canonical_text(row["payload"] or "")
        if text is None or not text.startswith("{"):
            problems.append(f"{where}: payload is no JSON object: {str(row['payload'])[:80]}")
            continue
        if row["snapshot_id"] not in {None, text_sha256(text)}:
            problems.append(f"{where}: snapshot_id {row['snapshot_id']} is not {text_sha256(text)}")
            continue
        fixed.append({**row, "payload": text, "snapshot_id": text_sha256(text)})
    if problems:
        raise ContractError(
            "Configurations cannot be frozen",
            problems=problems,
            fix="leave snapshot_id out: it is the SHA-256 of the canonical payload.",
        )
    return pl.DataFrame(fixed, schema=rows.schema)
