"""The grain frames: one row per expected result, with the facts that metrics read.

A grain frame holds every expected result (items times samples), also those that errored or have
no row: the null rules of the metrics say what becomes of them. Lists are in rank order.
"""

from __future__ import annotations

import polars as pl

from crucible_batch.metrics.metric import Column, Grain

_POSITIONS = pl.List(pl.Int64())

STATE = {
    "has_result": Column(pl.Boolean(), True, "the run has a row for the item and sample"),
    "errored": Column(pl.Boolean(), False, "the row is a provider error"),
    "answerable": Column(pl.Boolean(), True, "the golden item has an answer"),
}
"""Columns every grain has: the null rules common to all metrics read them."""

RANKING = Grain(
    name="ranking",
    columns={
        **STATE,
        "retrieval_ran": Column(pl.Boolean(), True, "retrieval ran for the result"),
        "retrieval_reported": Column(pl.Boolean(), True, "the run reports retrieval"),
        "n_qrels": Column(pl.Int64(), 1, "judgments of the item, of any grade"),
        "n_placed": Column(pl.Int64(), 1, "of these, with a target of this granularity"),
        "n_relevant": Column(pl.Int64(), 0, "documents graded at least relevant_at"),
        "n_nonrelevant": Column(pl.Int64(), 0, "documents graded 0 or more, below relevant_at"),
        "ideal": Column(_POSITIONS, [], "positive grades of all judged documents, best first"),
        "n_retrieved": Column(pl.Int64(), 0, "distinct documents retrieved"),
        "n_dropped": Column(pl.Int64(), 0, "rows dropped as repeats of a document"),
        "judged": Column(_POSITIONS, [], "positions of judged documents"),
        "judged_by_llm": Column(_POSITIONS, [], "of these, graded by judges only"),
        "found": Column(_POSITIONS, [], "positions of documents with a positive grade"),
        "found_grades": Column(_POSITIONS, [], "their grades"),
        "relevant": Column(_POSITIONS, [], "positions of documents graded at least relevant_at"),
        "nonrelevant_above": Column(
            _POSITIONS, [], "for each of these, judged non-relevant documents ranked above it"
        ),
        "tied": Column(_POSITIONS, [], "positions whose score equals that of the next one"),
        "n_required": Column(pl.Int64(), 0, "distinct documents the item requires to be cited"),
        "required": Column(_POSITIONS, [], "positions of these documents"),
    },
)
"""What the retrieval metrics read. Positions count from 1 after repeats are dropped."""
