"""Grades are resolved when they are read: the strongest source wins, within it the maximum.

human > provenance > llm (METRICS.md, judged grades). Judgment rows are never changed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from crucible_batch.contracts.vocabulary import GRANULARITIES, SOURCES
from crucible_batch.errors import ContractError, UsageError, suggestion
from crucible_batch.metrics.frames import CHUNKS, QRELS, normalise

Granularity = Literal["document", "chunk"]

GRADE_LIMIT = 2**31
"""Grades lie strictly inside ± this, so that source and grade pack into one sortable number."""


def resolve_grades(
    qrels: object, *, chunks: object = None, granularity: str = "document"
) -> pl.DataFrame:
    """Resolve judgments to one grade per query and target.

    Args:
        qrels: query_id, doc_id, grade; optional source (human without it), judge, chunk_id.
            Polars, pandas, Arrow, DuckDB or pytrec_eval's `{query: {doc: grade}}`.
        chunks: chunk_id, doc_id: where chunk judgments without a doc_id belong.
        granularity: `document` (chunk judgments count for their document) or `chunk` (chunk
            judgments only; a document's grade is not spread to its chunks).

    Returns:
        query_id, doc_id, grade (Int64), source, sorted by query_id and doc_id; with
        `granularity="chunk"` also chunk_id after doc_id. Grades below 0 mean unjudged and are
        left out, as are chunk judgments whose document is not known.

    Raises:
        ContractError: A column is missing, a grade is no integer, a source is unknown, or a chunk
            is in two documents.
        UsageError: `granularity` is neither of the two.

    Example:
        d1 {llm 0, provenance 2, human 1, human 3} → 3; d2 {llm 3, provenance 0} → 0.
    """
    level = check_granularity(granularity)
    placed = place(read_qrels(qrels), chunks, level)
    out = resolve(placed)
    if level == "document":
        out = out.rename({"target": "doc_id"})
        columns = ["query_id", "doc_id", "grade", "source"]
    else:
        doc_of = placed.group_by("query_id", "target").agg(pl.col("doc_id").drop_nulls().min())
        out = out.join(doc_of, on=["query_id", "target"], how="left").rename({"target": "chunk_id"})
        columns = ["query_id", "doc_id", "chunk_id", "grade", "source"]
    sort_key = ["query_id", "doc_id"] if level == "document" else ["query_id", "chunk_id"]
    out = out.select(columns)
    return out if _is_ordered(out, *sort_key) else out.sort(sort_key)


def _is_ordered(grades: pl.DataFrame, first: str, second: str) -> bool:
    """Whether the rows stand in the order of two columns without nulls: stored ones often do."""
    here, after = grades[:-1], grades[1:]
    rises = after[first] > here[first]
    rises |= (after[first] == here[first]) & (after[second] >= here[second])
    return bool(rises.all())


def check_granularity(granularity: str) -> Granularity:
    """Return `granularity` when it is one of the two."""
    if granularity not in GRANULARITIES:
        raise UsageError(
            f"granularity is {granularity!r}", fix=suggestion(granularity, GRANULARITIES)
        )
    return cast("Granularity", granularity)


def read_qrels(qrels: object, *, coded: Collection[str] = ()) -> pl.DataFrame:
    """Judgments as query_id, doc_id ?, chunk_id ?, grade, source, judge ?.

    Args:
        qrels: As of `resolve_grades`.
        coded: Ids that may stay categories.

    Raises:
        ContractError: See `resolve_grades`.
    """
    frame = normalise(qrels, QRELS, "qrels", coded=coded)
    if "doc_id" not in frame.columns and "chunk_id" not in frame.columns:
        raise ContractError(
            f"qrels has neither doc_id nor chunk_id; it has {', '.join(frame.columns)}",
            fix="Say which document or chunk each row judges.",
        )
    absent = [name for name in ("doc_id", "chunk_id", "judge") if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in absent)
    if "source" not in frame.columns:
        frame = frame.with_columns(source=pl.lit(SOURCES[0]))
    _check_rows(frame)
    return frame


def _check_rows(frame: pl.DataFrame) -> None:
    """Refuse rows without a target, unknown sources and absurd grades; names them."""
    faults = {
        "neither doc_id nor chunk_id": pl.col("doc_id").is_null() & pl.col("chunk_id").is_null(),
        f"a source outside {', '.join(SOURCES)}": ~pl.col("source").is_in(SOURCES),
        "a grade beyond 2^31": ~pl.col("grade").is_between(-GRADE_LIMIT + 1, GRADE_LIMIT - 1),
    }
    found = frame.select(fault.any().alias(what) for what, fault in faults.items())
    for what, any_bad in found.row(0, named=True).items():
        if any_bad:
            bad = frame.with_row_index("row", offset=1).filter(faults[what])
            raise ContractError(
                f"qrels has {bad.height:,} rows with {what}",
                problems=[str(row) for row in bad.head(6).iter_rows(named=True)],
                fix="Correct or leave out these rows.",
            )


def place(qrels: pl.DataFrame, chunks: object, granularity: Granularity) -> pl.DataFrame:
    """Keep the judgments that have a target of the granularity, and name it in `target`.

    Args:
        qrels: The frame of `read_qrels`.
        chunks: None, or a table of chunk_id and doc_id, one document per chunk.
        granularity: What a target is.

    Returns:
        query_id, target, doc_id, grade, source; grades below 0 are still there.
    """
    if granularity == "chunk":
        placed = qrels.filter(pl.col("chunk_id").is_not_null())
        return placed.select("query_id", "doc_id", "grade", "source", target="chunk_id")
    if chunks is not None and qrels["doc_id"].has_nulls():
        known = _documents_of(chunks).rename({"doc_id": "chunk_doc"})
        qrels = qrels.join(known, on="chunk_id", how="left", maintain_order="left")
        qrels = qrels.with_columns(pl.coalesce("doc_id", "chunk_doc").alias("doc_id"))
    # A filter copies all rows, and few judgments lack their document.
    placed = qrels.filter(pl.col("doc_id").is_not_null()) if qrels["doc_id"].has_nulls() else qrels
    return placed.select("query_id", "doc_id", "grade", "source", target="doc_id")


def _documents_of(chunks: object) -> pl.DataFrame:
    """The document of each chunk: chunk_id, doc_id.

    Raises:
        ContractError: A chunk is in two documents: its judgments could count for either.
    """
    known = normalise(chunks, CHUNKS, "chunks").unique(maintain_order=True)
    torn = known.filter(pl.col("chunk_id").is_duplicated()).sort("chunk_id", "doc_id")
    if torn.height:
        raise ContractError(
            "chunks says of a chunk that it is in two documents",
            problems=[f"chunk {chunk!r}: document {doc!r}" for chunk, doc in torn.iter_rows()],
            fix="Give every chunk the one document it belongs to.",
        )
    return known


def resolve(placed: pl.DataFrame) -> pl.DataFrame:
    """One grade per query and target, of the strongest source that gives one of at least 0.

    Args:
        placed: query_id, target, grade, source.

    Returns:
        query_id, target, grade, source; in no particular order.
    """
    frame = placed.select("query_id", "target", "grade", "source")
    if not (known := frame["grade"] >= 0).all():
        frame = frame.filter(known)
    if distinct(frame["query_id"].hash().to_numpy() ^ frame["target"].hash().to_numpy()):
        return frame
    strength = pl.col("source").replace_strict(
        {source: len(SOURCES) - n for n, source in enumerate(SOURCES)}, return_dtype=pl.Int64
    )
    by_strength = {len(SOURCES) - n: source for n, source in enumerate(SOURCES)}
    packed = (strength * GRADE_LIMIT + pl.col("grade")).max().alias("packed")
    return (
        frame.group_by("query_id", "target")
        .agg(packed)
        .select(
            "query_id",
            "target",
            grade=pl.col("packed") % GRADE_LIMIT,
            source=(pl.col("packed") // GRADE_LIMIT).replace_strict(
                by_strength, return_dtype=pl.String
            ),
        )
    )


def distinct(hashes: npt.NDArray[np.uint64]) -> bool:
    """Whether no two hashes are equal: then what they were made of surely stands there once."""
    # NumPy sorts hashes faster than they are counted.
    ordered = np.sort(hashes)
    return not bool((ordered[1:] == ordered[:-1]).any())
