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
import pyarrow as pa

from crucible_batch.metrics.grades import GRADE_LIMIT
from crucible_batch.metrics.ranking import Flags, Ints, first_rows, ranked, sorted_by, ties

COUNTED = 4
"""Counters per judgment, at most, of grades that are counted and not sorted."""

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


@dataclass(frozen=True, eq=False)
class Placed:
    """Documents with a grade: the result each belongs to (from 0), its position, its grade.

    Attributes:
        result: Ascending.
        position: Ascending within a result; from 1.
        grade: From 0 on.
        by_llm: Whether only an llm judged it.
    """

    result: Ints
    position: Ints
    grade: Ints
    by_llm: Flags

    def only(self, which: Flags) -> Placed:
        """Some of the documents."""
        # Places are looked up several times as fast as flags.
        at = np.flatnonzero(which)
        return Placed(self.result[at], self.position[at], self.grade[at], self.by_llm[at])


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
            _counts(_result(rows, start), n_results) - retrieved.lengths
            if dropped
            else np.zeros(n_results, np.int64)
        ),
        "tied": lambda: _lists(*retrieved.at(ties(ranking.rows)), n_results),
    }
    facts = {name: make() for name, make in shared.items() if name in columns}
    if required is not None:
        if chunks:
            at_required = first_rows(ranking.rows, "document", required)
        facts["n_required"] = _counts(_result(required, start), n_results)
        there = np.sort(at_required[at_required >= 0])
        facts["required"] = _lists(*retrieved.at(there), n_results)
    grades = _result(judged, start), judged["grade"].cast(pl.Int64).to_numpy()
    placed = _placed(at_judged, retrieved, wanted, by_llm="judged_by_llm" in columns)
    views = [(grades, placed, columns)]
    if unjudged is not None:
        every, assumed = _at_best(placed, retrieved, unjudged.grade)
        views += [
            (*_up_to(cut, grades, every, assumed), read) for cut, read in unjudged.views.items()
        ]
    return [
        pl.DataFrame(
            {
                **facts,
                **_of_grades(given, n_results, relevant_at, read),
                **_of_places(at, n_results, relevant_at, read),
            }
        )
        for given, at, read in views
    ]


def _result(frame: pl.DataFrame, start: int) -> Ints:
    """The result of every row, from 0."""
    return frame["group"].to_numpy().astype(np.int64) - start


def _counts(result: Ints, n_results: int) -> Ints:
    return np.bincount(result, minlength=n_results)


def _lists(result: Ints, values: Ints, n_results: int) -> pl.Series:
    """One list of values per result; `result` is ascending."""
    offsets = np.zeros(n_results + 1, np.int64)
    np.cumsum(_counts(result, n_results), out=offsets[1:])
    lists = pa.LargeListArray.from_arrays(_arrow(offsets), _arrow(values))
    return pl.Series(_Capsule(lists))


def _arrow(values: Ints) -> pa.Int64Array:
    """The integers as Arrow, without a copy; `pa.array` would import pandas where it is there."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


@dataclass(frozen=True, eq=False)
class _Capsule:
    """An Arrow array by its C interface alone: as itself it would import pyarrow.compute."""

    array: pa.Array

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Hand the array out."""
        pair: tuple[object, object] = self.array.__arrow_c_array__(requested_schema)
        return pair


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
    result, position = retrieved.at(np.arange(len(retrieved.result)))
    row = retrieved.begins[placed.result] + placed.position - 1
    grades, by_llm = np.full(result.size, grade), np.zeros(result.size, np.bool_)
    assumed = np.ones(result.size, np.bool_)
    grades[row], by_llm[row], assumed[row] = placed.grade, placed.by_llm, False
    return Placed(result, position, grades, by_llm), assumed


def _up_to(
    cut: int | None, grades: tuple[Ints, Ints], every: Placed, assumed: Flags
) -> tuple[tuple[Ints, Ints], Placed]:
    """Grades and places up to the cut-off when the unjudged documents there count as judged."""
    if cut is not None:
        inside = every.position <= cut
        every, assumed = every.only(inside), assumed[inside]
    result = np.concatenate([grades[0], every.result[assumed]])
    return (result, np.concatenate([grades[1], every.grade[assumed]])), every


def _of_grades(
    grades: tuple[Ints, Ints], n_results: int, relevant_at: int, columns: Collection[str]
) -> dict[str, Ints | pl.Series]:
    """What the judgments alone say, whatever was retrieved."""
    result, grade = grades
    facts: dict[str, Ints | pl.Series] = {}
    if "n_relevant" in columns:
        facts["n_relevant"] = _counts(result[np.flatnonzero(grade >= relevant_at)], n_results)
    if "n_nonrelevant" in columns:
        facts["n_nonrelevant"] = _counts(result[np.flatnonzero(grade < relevant_at)], n_results)
    if "ideal" in columns:
        facts["ideal"] = _lists(*_best_first(result, grade, n_results), n_results)
    return facts


def _best_first(result: Ints, grade: Ints, n_results: int) -> tuple[Ints, Ints]:
    """Result and grade of the positive grades, by result, the best first."""
    positive = np.flatnonzero(grade > 0)
    top = int(grade.max(initial=0))
    if 0 < top * n_results <= COUNTED * len(grade):
        # Counted by result and grade, which takes a third of the time of a sort.
        place = result[positive] * top + (top - grade[positive])
        counts = np.bincount(place, minlength=top * n_results)
        of, graded = np.repeat(np.arange(n_results), top), np.tile(np.arange(top, 0, -1), n_results)
        return np.repeat(of, counts), np.repeat(graded, counts)
    # One sort of numbers that hold both: grades lie below GRADE_LIMIT, a power of two.
    packed = (result[positive] + 1) * GRADE_LIMIT - grade[positive]
    packed.sort()
    of = packed >> (GRADE_LIMIT.bit_length() - 1)
    return of, (of + 1) * GRADE_LIMIT - packed


def _of_places(
    at: Placed, n_results: int, relevant_at: int, columns: Collection[str]
) -> dict[str, Ints | pl.Series]:
    """Where judged documents stand, in rank order."""
    relevant = at.grade >= relevant_at

    def only(which: Flags, values: Ints = at.position) -> tuple[Ints, Ints]:
        places = np.flatnonzero(which)
        return at.result[places], values[places]

    def above() -> Ints:
        """Judged non-relevant documents ranked above each document."""
        before = np.cumsum(~relevant)
        lengths = _counts(at.result, n_results)
        begins = (np.cumsum(lengths) - lengths)[at.result]
        own: Ints = before - before[begins] + ~relevant[begins]
        return own

    make: dict[str, Callable[[], tuple[Ints, Ints]]] = {
        "judged": lambda: (at.result, at.position),
        "judged_by_llm": lambda: only(at.by_llm),
        "found": lambda: only(at.grade > 0),
        "found_grades": lambda: only(at.grade > 0, at.grade),
        "relevant": lambda: only(relevant),
        "nonrelevant_above": lambda: only(relevant, above()),
    }
    return {name: _lists(*arrays(), n_results) for name, arrays in make.items() if name in columns}
