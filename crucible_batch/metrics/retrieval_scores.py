"""`retrieval_scores`: rankings and judgments in, one value per query and metric out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import Any

import polars as pl

from crucible_batch.errors import UsageError, suggestion
from crucible_batch.metrics.grades import check_granularity, read_qrels
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.query_batches import Scattered, in_batches, joined_up
from crucible_batch.metrics.query_facts import Judgments, facts_of_queries
from crucible_batch.metrics.ranking_frame import columns_read
from crucible_batch.metrics.retrieval import RELEVANT_AT, named
from crucible_batch.metrics.run_rows import DUPLICATES, ORDERS, RunRows, refuse_repeats
from crucible_batch.metrics.score import score

log = logging.getLogger(__name__)


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

    ranked = RunRows.open(run, level, order, duplicates, ignore_identical_ids=ignore_identical_ids)
    with ThreadPoolExecutor(1) as beside:
        # Only stretches of equal query ids are looked at: categories will do.
        graded = beside.submit(read_qrels, qrels, coded=["query_id"])
        judgments = beside.submit(lambda: Judgments.of(graded.result(), level))
        # Read together, both would end late and leave the ordering of judgments for the end.
        wait([graded])
        if graded.exception() is not None:
            # A run at fault is named first, whenever either is found to be.
            ranked.read()
            graded.result()
        gather = partial(
            facts_of_queries,
            judgments=judgments,
            relevant_at=relevant_at,
            columns={"n_dropped", "n_retrieved", *columns_read(asked)},
        )
        frame = None
        with suppress(Scattered), ranked.pieces() as pieces:
            frame = gather(joined_up(pieces))
        # Only here, where the pieces are gone.
        if frame is None:
            rows = ranked.read()
            frame = gather(in_batches(rows))
            if duplicates == "refuse" and frame["n_dropped"].sum():
                refuse_repeats(rows)
    _warn_of_strangers(frame)
    if trec_compat and not (judged := frame["n_qrels"] > 0).all():
        frame = frame.filter(judged)
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


def _warn_of_strangers(frame: pl.DataFrame) -> None:
    """Say that no query is both ranked and judged: ids that differ look like a run of zeros."""
    ranked, judged = frame["n_retrieved"] > 0, frame["n_qrels"] > 0
    if ranked.any() and judged.any() and not (ranked & judged).any():
        log.warning(
            "run and qrels share no query_id (run has %r, qrels has %r): all queries score 0",
            *(frame["query_id"].filter(which)[0] for which in (ranked, judged)),
        )
