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

from crucible_batch.metrics.ranking import Flags, Ints, Pairs, first_rows, ranked, sorted_by, ties
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
        group: The group of every row, ascending.
        start: The group of the first result.
        lengths: Rows of every result.
        begins: The first row of every result.
    """

    group: npt.NDArray[np.uint32]
    start: int
    lengths: Ints
    begins: Ints

    @classmethod
    def of(cls, rows: pl.DataFrame, start: int, n_results: int) -> Retrieved:
        """Count the rows of every result; `start` is the first one."""
        group = rows["group"].to_numpy()
        # Rows of a result stand together: only where they change is looked at.
        begins = np.flatnonzero(group[1:] != group[:-1]) + 1
        edges = np.concatenate([[0], begins, [len(group)]]) if len(group) else np.zeros(1, np.int64)
        lengths = np.zeros(n_results, np.int64)
        lengths[group[edges[:-1]].astype(np.int64) - start] = np.diff(edges)
        return cls(group, start, lengths, np.cumsum(lengths) - lengths)

    def at(self, rows: Ints) -> tuple[Ints, Ints]:
        """Result (from 0) and position (from 1) of some rows."""
        result = self.group[rows].astype(np.int64) - self.start
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
    given = Given(_result(judged, start), judged["grade"].to_numpy().astype(np.int64, copy=False))
    wanted = None
    if unjudged is None and not PLACED & set(columns):
        wanted = np.flatnonzero(given.grade > 0)
    chunks = "document" in rows.columns
    needed = [Pairs.of(required)] if required is not None else []
    ranking = ranked(rows, Pairs.of(judged, kept=wanted), *([] if chunks else needed))
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
        at = first_rows(ranking.rows, "document", *needed) if chunks else ranking.found[1]
        facts["n_required"] = counts(_result(required, start), n_results)
        facts["required"] = lists(*retrieved.at(np.sort(at[at >= 0])), n_results)
    by_llm = np.zeros(len(given.grade), np.bool_)
    if "judged_by_llm" in columns:
        by_llm = (judged["source"] == "llm").to_numpy()
    nothing = Assumed(0, np.zeros(n_results, np.int64))
    placed = _placed(ranking.found[0], retrieved, given, wanted, by_llm)
    views = [(nothing, placed, columns)]
    if unjudged is not None:
        every, is_assumed = _at_best(placed, retrieved, unjudged.grade)
        for cut, read in unjudged.views.items():
            top, assumed = _up_to(cut, every, is_assumed)
            n_assumed = counts(assumed, n_results)
            views.append((Assumed(unjudged.grade, n_assumed), top, read))
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


def _placed(
    row: Ints, retrieved: Retrieved, given: Given, wanted: Ints | None, by_llm: Flags
) -> Placed:
    """Where the graded documents stand, given the row of each that was looked up."""
    target = np.flatnonzero(row >= 0)
    row, target = sorted_by(row[target], target)
    result, position = retrieved.at(row)
    judgment = target if wanted is None else wanted[target]
    return Placed(result, position, given.grade[judgment], by_llm[judgment])


def _at_best(placed: Placed, retrieved: Retrieved, grade: int) -> tuple[Placed, Flags]:
    """Every retrieved document, the unjudged as if they had `grade`; and which these are."""
    n_rows = len(retrieved.group)
    result = np.repeat(np.arange(len(retrieved.lengths)), retrieved.lengths)
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
