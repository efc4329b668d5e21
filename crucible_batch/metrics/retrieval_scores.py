"""`retrieval_scores`: rankings and judgments in, one value per query and metric out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from crucible_batch.errors import ContractError, UsageError, suggestion
from crucible_batch.metrics.frames import RUN, check_values, open_table, read_table
from crucible_batch.metrics.grades import (
    Granularity,
    check_granularity,
    place,
    read_qrels,
    resolve,
)
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.ranking_frame import codes, columns_read, ranking_frame, stretches
from crucible_batch.metrics.retrieval import RELEVANT_AT, named
from crucible_batch.metrics.score import score

log = logging.getLogger(__name__)

ORDERS = ("score", "rank")
DUPLICATES = ("first", "refuse")


def retrieval_scores(
    run: Any,
    qrels: Any,
    metrics: str | Sequence[str],
    *,
    relevant_at: int = RELEVANT_AT,
    granularity: str = "document",
    order: str = "score",
    duplicates: str = "first",
    ignore_identical_ids: bool = False,
    trec_compat: bool = False,
) -> pl.DataFrame:
    """Score rankings against judgments, per query.

    Args:
        run: query_id, doc_id, score and/or rank (chunk_id optional). Polars (lazy too), pandas,
            Arrow, a DuckDB relation, or pytrec_eval's `{query: {doc: score}}`.
        qrels: query_id, doc_id, grade (source, judge, chunk_id optional), or
            `{query: {doc: grade}}`. Grades are any integers; below 0 means unjudged. See
            `resolve_grades` for several judgments of one document.
        metrics: Names such as `ndcg@10`, `recall_at_100`, `mrr`, `bpref`; any cut-off from 1.
        relevant_at: Smallest grade that counts as relevant; never affects nDCG.
        granularity: `document`: chunks collapse to their document at the first occurrence.
            `chunk`: chunks are ranked and judged themselves.
        order: `score` descending when there is one, else by rank; `rank` forces ranks. Equal
            values go by id, descending bytewise, as in trec_eval.
        duplicates: `first` keeps the best-ranked occurrence, `refuse` raises.
        ignore_identical_ids: Drop documents whose id is the query's own (BEIR's convention).
        trec_compat: As `trec_eval -c`: undefined values are 0, queries without judgments are
            left out.

    Returns:
        query_id, metric (canonical name), value (Float64), null_reason: one row per query of
        `qrels` or `run` and metric, sorted by query_id, then in the order asked. A judged query
        that the run lacks has an empty ranking and scores 0; a query without judgments is null.

    Raises:
        CutoffError: A cut-off is below 1; raised before any work.
        UnknownNameError: A metric is not known.
        UsageError: An option has an unknown value.
        ContractError: An input breaks what is said above; rows are named, counted from 1.
    """
    asked = parse(metrics)
    level = check_granularity(granularity)
    _check_option("order", order, ORDERS)
    _check_option("duplicates", duplicates, DUPLICATES)
    if isinstance(relevant_at, bool) or not isinstance(relevant_at, int) or relevant_at < 1:
        raise UsageError(f"relevant_at is {relevant_at!r}", fix="Give a grade from 1 on.")

    rows = _rows(run, level, order, duplicates, ignore_identical_ids=ignore_identical_ids)
    judgments = read_qrels(qrels)
    ranked, judged = stretches(rows["query_id"]), stretches(judgments["query_id"])
    queries = _queries(ranked["value"], judged["value"])
    rows = _coded(rows, ranked, queries)
    # From here on a query is its place in `queries`.
    placed = place(_coded(judgments, judged, queries).rename({"group": "query_id"}), None, level)
    frame = ranking_frame(
        _results(queries, codes(judged, queries), placed["query_id"], level),
        rows,
        resolve(placed).rename({"query_id": "group", "target": "doc"}),
        relevant_at=relevant_at,
        columns={"n_dropped", *columns_read(asked)},
    ).frame
    if duplicates == "refuse" and frame["n_dropped"].sum():
        _refuse_repeats(rows, queries)
    if trec_compat:
        frame = frame.filter(pl.col("n_qrels") > 0)
    scores = score({"ranking": frame}, asked, ["query_id"])
    if trec_compat:
        scores = scores.with_columns(
            pl.col("value").fill_null(0.0), null_reason=pl.lit(None, dtype=pl.String)
        )
    return scores


def parse(metrics: str | Iterable[str]) -> list[Metric]:
    """The metrics that names mean, without repeats.

    Raises:
        UsageError: No metric is asked for, or one is no text.
        CutoffError: A cut-off is below 1.
        UnknownNameError: A metric is not known.
    """
    listed = [metrics] if isinstance(metrics, str) or not isinstance(metrics, Iterable) else metrics
    given = list(listed)
    if odd := [repr(name) for name in given if not isinstance(name, str)]:
        raise UsageError(
            "A metric is asked for by its name",
            problems=[f"{name} is no name" for name in odd],
            fix='Name metrics as text, e.g. metrics=["ndcg@10"].',
        )
    asked = {metric.name: metric for metric in map(named, given)}
    if not asked:
        raise UsageError("No metric is asked for", fix='Name one, e.g. metrics=["ndcg@10"].')
    return list(asked.values())


def _check_option(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}", fix=suggestion(str(value), allowed))


def _rows(
    run: Any, level: Granularity, order: str, duplicates: str, *, ignore_identical_ids: bool
) -> pl.DataFrame:
    """The run as `query_id`, `doc`, `order` (larger is better)."""
    frame, value = _ordered_run(run, order, chunks=level == "chunk" or duplicates == "refuse")
    if ignore_identical_ids:
        frame = frame.filter(pl.col("doc_id") != pl.col("query_id"))
    target = pl.col("doc_id")
    if level == "chunk":
        if "chunk_id" not in frame.columns:
            raise ContractError(
                "run has no column chunk_id, which granularity='chunk' ranks",
                fix="Add chunk_id, or score documents.",
            )
        target = pl.coalesce("chunk_id", pl.concat_str(pl.lit("doc:"), "doc_id"))
    elif "chunk_id" in frame.columns:
        frame = _refuse_repeated_chunks(frame, value)
    return frame.select("query_id", doc=target, order=value)


def _ordered_run(run: Any, order: str, *, chunks: bool) -> tuple[pl.DataFrame, pl.Expr]:
    """The run, and what it is ordered by: scores when there are any, else ranks."""
    lazy = open_table(run, RUN, "run")
    there = lazy.collect_schema().names()
    candidates = [name for name in ORDERS if name in there and order in {"score", name}]
    if not candidates:
        raise ContractError(
            f"run has no column {' or '.join(ORDERS) if order == 'score' else order}",
            fix="Say how documents are ordered: a score (higher is better) or a rank (from 1).",
        )
    wanted = {"query_id", "doc_id", *({"chunk_id"} if chunks else ())}
    by = candidates[0]
    frame = read_table(lazy, RUN, "run", wanted=wanted | {by})
    if len(candidates) > 1 and frame.height and frame[by].null_count() == frame.height:
        by = candidates[1]
        frame = read_table(lazy, RUN, "run", wanted=wanted | {by})
    field = next(field for field in RUN if field.name == by)
    check_values(frame[by], replace(field, nullable=False), "run")
    return frame, pl.col("score") if by == "score" else -pl.col("rank").cast(pl.Float64)


def _refuse_repeated_chunks(frame: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    """Refuse a chunk that a query ranks twice; several chunks of a document are no repeat.

    Returns:
        The best chunk of every document.
    """
    key = ["query_id", "doc_id", "chunk_id"]
    repeats = frame.filter(pl.struct(key).is_first_distinct().not_())
    if repeats.height:
        raise ContractError(
            f"run has {repeats.height:,} duplicate ({', '.join(key)})",
            problems=[str(row) for row in repeats.select(key).iter_rows()],
            fix='Leave the repeats out, or pass duplicates="first" to keep the best-ranked one.',
        )
    return frame.group_by(key[:2]).agg(pl.all().get(value.arg_max()))


def _queries(ranked: pl.Series, judged: pl.Series) -> pl.Series:
    """Every query of the run or the judgments, once, in order of first appearance."""
    ranked, judged = ranked.unique(maintain_order=True), judged.unique(maintain_order=True)
    if len(ranked) and len(judged) and not ranked.is_in(judged.implode()).any():
        # Ids that differ throughout look like a run of zeros.
        log.warning(
            "run and qrels share no query_id (run has %r, qrels has %r): all queries score 0",
            ranked[0],
            judged[0],
        )
    return pl.concat([ranked, judged]).unique(maintain_order=True).alias("query_id")


def _coded(rows: pl.DataFrame, runs: pl.DataFrame, queries: pl.Series) -> pl.DataFrame:
    """Replace query_id, whose stretches are `runs`, by `group`, its place in `queries`."""
    group = pl.Series(codes(runs, queries).view(np.uint32))
    return rows.select(pl.exclude("query_id"), group=group)


def _results(
    queries: pl.Series, judged: npt.NDArray[np.int32], placed: pl.Series, level: Granularity
) -> pl.DataFrame:
    """How many judgments each query has: query_id, n_qrels, n_placed."""
    n_placed = np.bincount(placed.to_numpy(), minlength=len(queries))
    # Judgments of documents say nothing about chunks: such a query has none.
    n_qrels = n_placed if level == "chunk" else np.bincount(judged, minlength=len(queries))
    return pl.DataFrame(
        {"query_id": queries, "n_qrels": n_qrels, "n_placed": n_placed},
        schema_overrides={"n_qrels": pl.Int64, "n_placed": pl.Int64},
    )


def _refuse_repeats(rows: pl.DataFrame, queries: pl.Series) -> None:
    """Name the documents that a query ranks twice."""
    pairs = rows.filter(pl.struct("group", "doc").is_first_distinct().not_())
    raise ContractError(
        f"run has {pairs.height:,} duplicate (query_id, doc_id)",
        problems=[
            str(pair) for pair in zip(queries.gather(pairs["group"]), pairs["doc"], strict=True)
        ],
        fix='Leave the repeats out, or pass duplicates="first" to keep the best-ranked one.',
    )
