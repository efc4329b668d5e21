"""The facts of a bucket of rankings: whole columns from sorted arrays, a row per result.

Rows of a result stand together, so a column of lists is its values and where each list begins:
no grouping and no join is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from crucible_batch.metrics.ranking import Flags, Ints, first_rows, ranked, sorted_by, ties
from crucible_batch.metrics.ranking_lists import (
    Assumed,
    Given,
    Placed,
    counts,
    lists,
    of_grades,
    of_places,
)

PLACED = {"judged", "judged_by_llm", "nonrelevant_above"}
"""Columns that need the places of documents with grade 0 too."""


@dataclass(frozen=True)
class Unjudged:
    """What unjudged documents might have been.

    Attributes:
        grade: The top grade of the scale.
        views: Cut-offs up to which they count (None is the whole list), each with the columns that
            metrics of this cut-off read; these read nothing below it.
    """

    grade: int
    views: Mapping[int | None, Collection[str]]


@dataclass(frozen=True, eq=False)
class Retrieved:
    """Rows in rank order, by result.

    Attributes:
        result: The result of every row, from 0; ascending. 32 bits: few rows are looked at.
        lengths: Rows of every result.
        begins: The first row of every result.
    """

    result: npt.NDArray[np.uint32]
    lengths: Ints
    begins: Ints

    @classmethod
    def of(cls, rows: pl.DataFrame, start: int, n_results: int) -> Retrieved:
        """Count the rows of every result; `start` is the first one."""
        result = rows["group"].to_numpy() - np.uint32(start)
        # Rows of a result stand together: only where they change is looked at.
        begins = np.flatnonzero(result[1:] != result[:-1]) + 1
        edges = (
            np.concatenate([[0], begins, [len(result)]]) if len(result) else np.zeros(1, np.int64)
        )
        lengths = np.zeros(n_results, np.int64)
        lengths[result[edges[:-1]]] = np.diff(edges)
        return cls(result, lengths, np.cumsum(lengths) - lengths)

    def at(self, rows: Ints) -> tuple[Ints, Ints]:
        """Result and position (from 1) of some rows."""
        result = self.result[rows].astype(np.int64)
        return result, rows - self.begins[result] + 1


def bucket_facts(
    start: int,
    stop: int,
    rows: pl.DataFrame,
    judged: pl.DataFrame,
    required: pl.DataFrame | None = None,
    *,
    relevant_at: int,
    columns: Collection[str],
    unjudged: Unjudged | None,
) -> list[pl.DataFrame]:
    """Facts of the results `start` to `stop`, as judged and then once per view of `unjudged`.

    Args:
        start: Number of the first result.
        stop: Number after the last one.
        rows: `group`, `doc`, `order` of these results, see `ranking_frame`; `group` ascending.
        judged: `group`, `doc`, `grade`, `source`; `group` ascending.
        required: `group`, `doc`; `group` ascending.
        relevant_at: Smallest grade that counts as relevant.
        columns: The columns to build.
        unjudged: What unjudged documents might have been.

    Returns:
        Frames of `stop - start` rows.
    """
    n_results = stop - start
    wanted = judged
    if unjudged is None and not PLACED & set(columns):
        # No column tells who judged: only what places need is looked up.
        wanted = judged.drop("source")[np.flatnonzero((judged["grade"] > 0).to_numpy())]
    chunks = "document" in rows.columns
    needed = required if required is not None and not chunks else judged[:0]
    ranking = ranked(rows, wanted, needed)
    at_judged, at_required = ranking.found
    retrieved = Retrieved.of(ranking.rows, start, n_results)
    dropped = rows.height - ranking.rows.height
    shared: dict[str, Callable[[], Ints | pl.Series]] = {
        "n_retrieved": lambda: retrieved.lengths,
        "n_dropped": lambda: (
            counts(_result(rows, start), n_results) - retrieved.lengths
            if dropped
            else np.zeros(n_results, np.int64)
        ),
        "tied": lambda: lists(*retrieved.at(ties(ranking.rows)), n_results),
    }
    facts = {name: make() for name, make in shared.items() if name in columns}
    if required is not None:
        if chunks:
            at_required = first_rows(ranking.rows, "document", required)
        facts["n_required"] = counts(_result(required, start), n_results)
        there = np.sort(at_required[at_required >= 0])
        facts["required"] = lists(*retrieved.at(there), n_results)
    given = Given(_result(judged, start), judged["grade"].cast(pl.Int64).to_numpy())
    nothing = Assumed(0, np.zeros(n_results, np.int64))
    placed = _placed(at_judged, retrieved, wanted, by_llm="judged_by_llm" in columns)
    views = [(nothing, placed, columns)]
    if unjudged is not None:
        every, is_assumed = _at_best(placed, retrieved, unjudged.grade)
        for cut, read in unjudged.views.items():
            at, assumed = _up_to(cut, every, is_assumed)
            n_assumed = counts(assumed, n_results)
            views.append((Assumed(unjudged.grade, n_assumed), at, read))
    return [
        pl.DataFrame(
            {
                **facts,
                **of_grades(given, assumed, relevant_at, read),
                **of_places(at, n_results, relevant_at, read),
            }
        )
        for assumed, at, read in views
    ]


def _result(frame: pl.DataFrame, start: int) -> Ints:
    """The result of every row, from 0."""
    return frame["group"].to_numpy().astype(np.int64) - start


def _placed(row: Ints, retrieved: Retrieved, targets: pl.DataFrame, *, by_llm: bool) -> Placed:
    """Where the graded documents stand, given the row of each."""
    target = np.flatnonzero(row >= 0)
    row, target = sorted_by(row[target], target)
    result, position = retrieved.at(row)
    llm = np.zeros(len(target), np.bool_)
    if by_llm:
        llm = (targets["source"][target] == "llm").to_numpy()
    grade = targets["grade"][target].cast(pl.Int64).to_numpy()
    return Placed(result, position, grade, llm)


def _at_best(placed: Placed, retrieved: Retrieved, grade: int) -> tuple[Placed, Flags]:
    """Every retrieved document, the unjudged as if they had `grade`; and which these are."""
    n_rows = len(retrieved.result)
    result = retrieved.result.astype(np.int64)
    position = np.arange(1, n_rows + 1)
    position -= np.repeat(retrieved.begins, retrieved.lengths)
    row = retrieved.begins[placed.result] + placed.position - 1
    grades, by_llm = np.full(n_rows, grade), np.zeros(n_rows, np.bool_)
    assumed = np.ones(n_rows, np.bool_)
    grades[row], by_llm[row], assumed[row] = placed.grade, placed.by_llm, False
    return Placed(result, position, grades, by_llm), assumed


def _up_to(cut: int | None, every: Placed, assumed: Flags) -> tuple[Placed, Ints]:
    """Places up to the cut-off, and the result of each that an unjudged document has."""
    if cut is not None:
        at = np.flatnonzero(every.position <= cut)
        every, assumed = every.only(at), assumed[at]
    return every, every.result[np.flatnonzero(assumed)]
