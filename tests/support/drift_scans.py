"""Corpora, rules and rows to scan, and what a scan said."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.store import Plan

MAY = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)
CHURN = """\
[staleness]
max_document_age = "never"
[[thresholds]]
id = "churn"
metric = "doc_churn_ratio"
warn = {op = ">", value = 0.10, clear = 0.07}
"""


def rules(loads, text):
    (loads.store.root / "default" / "settings.toml").write_text(text, encoding="utf-8")


def corpus(loads, version, names, *, seen, types=None, **options):
    rows = [
        {"doc_id": name, "content_hash": hashlib.sha256(name.encode()).hexdigest(),
         "hash_version": "v", "source_updated_at": seen}
        for name in names
    ]  # fmt: skip
    paths = [loads.parquet("documents.parquet", rows)]
    if types:
        listed = [
            {"entity_id": f"{kind}{n}", "entity_type": kind}
            for kind, count in types.items()
            for n in range(count)
        ]
        paths.append(loads.parquet("entities.parquet", listed))
    return loads.corpus(*paths, corpus_version=version, observed_at=seen, **options)


def two_versions(loads, **types):
    corpus(loads, "v1", "abcdefghij", seen=MAY - 2 * DAY, types=types.get("before"))
    corpus(loads, "v2", "abcdefghkl", seen=MAY - DAY, types=types.get("now"))


def append(loads, table, *rows):
    """Rows of an event table, as another part of the product would have committed them."""
    spec = TABLES[table]
    full = [dict.fromkeys(spec.names) | {"workspace_id": "default"} | row for row in rows]
    frame = pl.DataFrame(full, schema=spec.schema)
    loads.store.workspace("default").commit(
        lambda _: Plan(events={table: frame}), kind="test", idempotency_key=f"{table}-{len(rows)}"
    )


def n_commits(loads):
    return loads.store.table("commits", "default").collect().height


def verdicts(scan):
    return dict(scan.evaluations.select("rule_id", "verdict").iter_rows())


def reasons(scan):
    return dict(scan.evaluations.select("rule_id", "reason").iter_rows())
