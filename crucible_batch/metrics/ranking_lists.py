"""Columns of the ranking grain from sorted arrays: a list or a number per result.

Rows of a result stand together, so a column of lists is its values and where each list begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa

from crucible_batch.metrics.grades import GRADE_LIMIT
from crucible_batch.metrics.ranking import Flags, Ints

COUNTED = 4
"""Counters per judgment, at most, of grades that are counted and not sorted."""


@dataclass(frozen=True, eq=False)
class Given:
    """Judgments, retrieved or not.

    Attributes:
        result: The result each belongs to, from 0; ascending.
        grade: Its grade.
    """

    result: Ints
    grade: Ints


@dataclass(frozen=True, eq=False)
class Assumed:
    """Unjudged documents that count as judged.

    Attributes:
        grade: Their grade; 0 where there are none.
        number: How many every result has.
    """

    grade: int
    number: Ints


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

    def only(self, at: Ints) -> Placed:
        """Some of the documents, by place."""
        return Placed(self.result[at], self.position[at], self.grade[at], self.by_llm[at])


def counts(result: Ints, n_results: int) -> Ints:
    """How often every result stands in `result`."""
    return np.bincount(result, minlength=n_results)


def lists(result: Ints, values: Ints, n_results: int) -> pl.Series:
    """One list of values per result; `result` is ascending."""
    return _lists(_offsets(result, n_results), values)


def of_grades(
    given: Given, assumed: Assumed, relevant_at: int, columns: Collection[str]
) -> dict[str, Ints | pl.Series]:
    """What the judgments alone say, whatever was retrieved."""
    n_results = len(assumed.number)
    facts: dict[str, Ints | pl.Series] = {}
    for name, counted, more in (
        ("n_relevant", given.grade >= relevant_at, assumed.grade >= relevant_at),
        ("n_nonrelevant", given.grade < relevant_at, assumed.grade < relevant_at),
    ):
        if name in columns:
            facts[name] = counts(given.result[np.flatnonzero(counted)], n_results)
            if more:
                facts[name] += assumed.number
    if "ideal" in columns:
        facts["ideal"] = lists(*_best_first(given, assumed), n_results)
    return facts


def _best_first(given: Given, assumed: Assumed) -> tuple[Ints, Ints]:
    """Result and grade of the positive grades, by result, the best first."""
    positive = np.flatnonzero(given.grade > 0)
    result, grade = given.result[positive], given.grade[positive]
    top, n_results = max(int(grade.max(initial=0)), assumed.grade), len(assumed.number)
    n_assumed = int(assumed.number.sum()) if assumed.grade > 0 else 0
    if 0 < top * n_results <= COUNTED * (len(given.grade) + n_assumed):
        # Counted by result and grade, which takes a third of the time of a sort.
        counted = counts(result * top + (top - grade), top * n_results)
        if n_assumed:
            counted[top - assumed.grade :: top] += assumed.number
        of, graded = np.repeat(np.arange(n_results), top), np.tile(np.arange(top, 0, -1), n_results)
        return np.repeat(of, counted), np.repeat(graded, counted)
    if n_assumed:
        result = np.concatenate([result, np.repeat(np.arange(n_results), assumed.number)])
        grade = np.concatenate([grade, np.full(n_assumed, assumed.grade)])
    # One sort of numbers that hold both: grades lie below GRADE_LIMIT, a power of two.
    packed = (result + 1) * GRADE_LIMIT - grade
    packed.sort()
    of = packed >> (GRADE_LIMIT.bit_length() - 1)
    return of, (of + 1) * GRADE_LIMIT - packed


@dataclass(frozen=True, eq=False)
class _Some:
    """Some of the documents, by place, and where the list of each result begins."""

    at: Placed
    which: Flags
    n_results: int

    @cached_property
    def places(self) -> Ints:
        # Places are looked up several times as fast as flags.
        return np.flatnonzero(self.which)

    @cached_property
    def result(self) -> Ints:
        return self.at.result[self.places]

    @cached_property
    def offsets(self) -> Ints:
        return _offsets(self.result, self.n_results)

    def lists(self, values: Ints) -> pl.Series:
        return _lists(self.offsets, values[self.places])


def of_places(
    at: Placed, n_results: int, relevant_at: int, columns: Collection[str]
) -> dict[str, pl.Series]:
    """Where judged documents stand, in rank order."""
    found = _Some(at, at.grade > 0, n_results)
    relevant = _Some(at, at.grade >= relevant_at, n_results)

    def nonrelevant_above() -> pl.Series:
        """Judged non-relevant documents ranked above each relevant one."""
        before = np.zeros(len(at.result) + 1, np.int64)
        np.cumsum(~relevant.which, out=before[1:])
        above = before[_offsets(at.result, n_results)[:-1]]
        return _lists(relevant.offsets, before[relevant.places] - above[relevant.result])

    make: dict[str, Callable[[], pl.Series]] = {
        "judged": lambda: lists(at.result, at.position, n_results),
        "judged_by_llm": lambda: _Some(at, at.by_llm, n_results).lists(at.position),
        "found": lambda: found.lists(at.position),
        "found_grades": lambda: found.lists(at.grade),
        "relevant": lambda: relevant.lists(at.position),
        "nonrelevant_above": nonrelevant_above,
    }
    return {name: column() for name, column in make.items() if name in columns}


def _offsets(result: Ints, n_results: int) -> Ints:
    """Where the list of every result begins, and the end; `result` is ascending."""
    offsets = np.zeros(n_results + 1, np.int64)
    np.cumsum(counts(result, n_results), out=offsets[1:])
    return offsets


def _lists(offsets: Ints, values: Ints) -> pl.Series:
    return pl.Series(_Capsule(pa.LargeListArray.from_arrays(_arrow(offsets), _arrow(values))))


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
