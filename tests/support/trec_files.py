"""Reads TREC files for tests, independently of the package's own reader."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl


def rows_of(path: Path) -> list[list[str]]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return [line.split() for line in text.splitlines() if line.strip()]


def read_qrels(path: Path) -> pl.DataFrame:
    rows = rows_of(path)
    return pl.DataFrame(
        [(r[0], r[2], int(r[3])) for r in rows],
        schema={"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int64},
        orient="row",
    )


def read_run(path: Path) -> pl.DataFrame:
    rows = rows_of(path)
    return pl.DataFrame(
        [(r[0], r[2], int(r[3]), float(r[4])) for r in rows],
        schema={
            "query_id": pl.String,
            "doc_id": pl.String,
            "rank": pl.Int64,
            "score": pl.Float64,
        },
        orient="row",
    )


def nested(frame: pl.DataFrame, value: str) -> dict[str, dict[str, float]]:
    """pytrec_eval's dict of dicts."""
    out: dict[str, dict[str, float]] = {}
    for query, doc, number in frame.select("query_id", "doc_id", value).iter_rows():
        out.setdefault(query, {})[doc] = number
    return out
