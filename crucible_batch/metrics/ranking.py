"""Rankings: rows in rank order, repeats dropped, and where documents stand in them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

# Polars would import it, for ten milliseconds, in the midst of the first array it takes over.
import numpy.ma
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Spreads group numbers over 64 bits (2^64 divided by the golden ratio, made odd)."""

_MARKS = 16
"""Marks per target: with one in sixteen set few rows are looked at in vain."""

_MARK_BITS = (16, 24)
"""Smallest table of marks, which also has to hold the rows that repeat, and largest, as bits."""

_FIRST_HALF = int(sys.byteorder == "little")
"""Where the first bits of a word stand if it is seen as two."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rankings of a bucket.

    Attributes:
        rows: The rows that count, by group and in rank order.
        found: For every table of targets, the row of each target, -1 for one not retrieved.
    """

    rows: pl.DataFrame
    found: tuple[Ints, ...]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Documents of groups: two columns of one length, or some rows of them.

    Attributes:
        group: The group of every row.
        doc: Its document.
        words: The `hashes` of all rows, if they were made.
        kept: The rows that count; None is all. Texts of the others are never copied.
    """

    group: npt.NDArray[np.uint32]
    doc: pl.Series
    words: Words | None = None
    kept: Ints | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame, column: str = "doc", kept: Ints | None = None) -> Pairs:
        """Take `group`, a column of documents, and `hash` if it is there, from a frame."""
        words = frame["hash"].to_numpy() if "hash" in frame.columns else None
        return cls(frame["group"].to_numpy(), frame[column], words, kept)

    @classmethod
    def joined(cls, tables: Sequence[Pairs]) -> Pairs:
        """Tables one after another, in one chunk: their rows may be taken in any order."""
        if len(tables) == 1:
            return replace(tables[0], doc=tables[0].doc.rechunk())
        whole = [table.at(np.arange(len(table))) for table in tables]
        none = cls(np.zeros(0, np.uint32), pl.Series(dtype=pl.String))
        return cls(
            np.concatenate([none.group, *(table.group for table in whole)]),
            pl.concat([none.doc, *(table.doc for table in whole)], rechunk=True),
        )

    def __len__(self) -> int:
        return len(self.group) if self.kept is None else len(self.kept)

    def hashes(self) -> Words:
        """A hash of every row that counts."""
        words = hashes(self.group, self.doc) if self.words is None else self.words
        return words if self.kept is None else words[self.kept]

    def common_length(self) -> int:
        """How many documents every group has, 0 if they differ; a group stands together."""
        group = self.group
        if not len(group):
            return 0
        depth = int(np.argmax(group != group[0])) or len(group)
        begins, ends = group[::depth], group[depth - 1 :: depth]
        alike = (
            len(group) % depth == 0
            and np.array_equal(begins, ends)
            and not (begins[1:] == ends[:-1]).any()
        )
        return depth if alike else 0

    def at(self, places: Ints) -> Pairs:
        """Some of the rows that count, in ascending order unless the table is one chunk."""
        if self.kept is not None:
            places = self.kept[places]
        return Pairs(self.group[places], taken(self.doc, places))

    def frame(self, places: Ints) -> pl.DataFrame:
        """Some of the rows that count: `group`, `doc`, `place`."""
        some = self.at(places)
        return pl.DataFrame({"group": some.group, "doc": some.doc, "place": places})

    def equals(self, other: Pairs) -> Flags:
        """Where two tables of one length hold the same."""
        same: Flags = (self.doc == other.doc).to_numpy() & (self.group == other.group)
        return same


def ranked(rows: pl.DataFrame, *targets: Pairs) -> Ranking:
    """Bring rows into rank order, `order` then `doc` (bytewise) descending, and find targets.

    That is trec_eval's order, in float64. A document counts at its first occurrence and the
    ranking closes up behind later ones.

    Args:
        rows: `group` (UInt32, which ranking), `doc` (String), `order` (Float64, finite); rows of
            a group stand together, in any order.
        targets: Documents to find, unique in each table.
    """
    if not _is_ordered(rows):
        rows = rows.sort("group", "order", "doc", descending=[False, True, True])
    again, found = _match(Pairs.of(rows), targets)
    if len(again):
        counts = np.ones(rows.height, np.bool_)
        counts[again] = False
        rows = rows.filter(pl.Series(counts))
        found = [np.where(at < 0, at, at - np.searchsorted(again, at)) for at in found]
    return Ranking(rows, tuple(found))


def first_rows(rows: pl.DataFrame, column: str, targets: Pairs) -> Ints:
    """The first of the rows that holds each target in `column`, -1 where none does.

    Args:
        rows: `group`, `column` (String).
        column: Where to look; may repeat within a group.
        targets: Documents to find, each once.
    """
    _, (found,) = _match(Pairs.of(rows, column), [targets])
    return found


def hashes(group: npt.NDArray[np.uint32], doc: pl.Series) -> Words:
    """A hash of every pair of group and document."""
    # One type of numbers, or equal pairs would have hashes that differ.
    words: Words = np.multiply(group.astype(np.uint32, copy=False), _ODD, dtype=np.uint64)
    # By one column, which the calling thread hashes: rows of a frame go to threads that are busy.
    words ^= doc.hash().to_numpy()
    return words


def taken(column: pl.Series, places: Ints) -> pl.Series:
    """The values at `places`, ascending unless the column is one chunk."""
    if column.n_chunks() == 1:
        return column[places]
    # Chunk by chunk takes a fraction of the time that finding the chunk of every place does.
    begins = np.cumsum([0, *column.chunk_lengths()])
    edges = itertools.pairwise(np.searchsorted(places, begins))
    parts: list[pl.Series] = [
        chunk[places[start:stop] - begin]
        for chunk, begin, (start, stop) in zip(column.get_chunks(), begins[:-1], edges, strict=True)
    ]
    return pl.concat(parts)


def ties(rows: pl.DataFrame) -> Ints:
    """The rows of a ranking whose `score` equals that of the next one of their group."""
    score, group = rows["score"].to_numpy(), rows["group"].to_numpy()
    return np.flatnonzero((score[1:] == score[:-1]) & (group[1:] == group[:-1]))


def _is_ordered(rows: pl.DataFrame) -> bool:
    """Whether rows stand in rank order; document ids are compared only in ties."""
    group, order, docs = rows["group"].to_numpy(), rows["order"].to_numpy(), rows["doc"]
    # Few orders rise, or stay as they are: those that do are found before groups are looked at.
    at = np.flatnonzero(order[1:] >= order[:-1])
    at = at[group[at + 1] == group[at]]
    if (order[at + 1] > order[at]).any():
        return False
    return bool((taken(docs, at + 1) <= taken(docs, at)).all())


def _match(rows: Pairs, tables: Sequence[Pairs]) -> tuple[Ints, list[Ints]]:
    """Rows that repeat an earlier one (ascending), and the first row of every target, or -1.

    Few rows of a ranking are asked for or repeat, and a table of marks by the first bits of a hash
    leaves out nearly all others. Hashes only propose; the ids decide.
    """
    words = rows.hashes()
    asked = np.concatenate([words[:0], *(table.hashes() for table in tables)])
    targets = Pairs.joined(tables)
    bits = int(np.clip((_MARKS * len(asked)).bit_length(), *_MARK_BITS))
    places = np.flatnonzero(_marks(rows, words, asked, bits)[_slots(words, bits)])
    row, target, others = _neighbours(words[places], asked)
    row, target = sorted_by(row, target)
    row = places[row]
    same = np.flatnonzero(rows.at(row).equals(targets.at(target)))
    found = np.full(len(targets), -1, np.int64)
    found[target[same]] = row[same]
    again = others
    if len(others):
        some, more = others[others < len(places)], others[others >= len(places)] - len(places)
        again = _match_exactly(rows.frame(places[some]), targets.frame(more), found)
    ends = np.cumsum([len(table) for table in tables])
    return again, np.split(found, ends[:-1]) if tables else []


def sorted_by(keys: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Keys in ascending order, and their values; both are places in a bucket: below 2^31."""
    # One sort of numbers that hold both takes half the time of a sort of places.
    bits = int(values.max(initial=0)).bit_length()
    packed = keys << bits
    packed |= values
    packed.sort()
    return packed >> bits, packed & ((1 << bits) - 1)


def _slots(words: Words, bits: int) -> Ints:
    """The place of each hash in a table of marks, by its first bits."""
    # Signed as NumPy's own indices are: any other kind would be copied first.
    return (words >> np.uint64(64 - bits)).view(np.int64)


def _marks(rows: Pairs, words: Words, asked: Words, bits: int) -> Flags:
    """By the first bits of a hash: whether a row that has them is asked for or may repeat."""
    marks = np.zeros(1 << bits, np.bool_)
    marks[_slots(asked, bits)] = True
    # Half of the bits sort in half of the time; rows that share them by chance are few.
    halves = words.view(np.uint32)[_FIRST_HALF::2].copy()
    if depth := rows.common_length():
        # Repeats stand in one ranking, and many short sorts take a third of one long sort.
        halves = halves.reshape(-1, depth)
    halves.sort(axis=-1)
    again = halves[..., 1:][halves[..., 1:] == halves[..., :-1]]
    marks[again >> np.uint32(32 - bits)] = True
    return marks


def _neighbours(words: Words, asked: Words) -> tuple[Ints, Ints, Ints]:
    """Rows and their targets by equal hashes, and the places of all others that share a hash.

    One sort of words, a hash with a place in its lowest bits (rows first, then targets), brings
    equal pairs together, in a third of the time of a hash join.

    Returns:
        Rows and targets where a row and a target share a hash with nothing else; then, ascending,
        places in the rows followed by the targets.
    """
    n_rows, n_all = len(words), len(words) + len(asked)
    low = np.uint64((1 << n_all.bit_length()) - 1)
    words = np.concatenate([words, asked])
    words &= ~low
    words |= np.arange(n_all, dtype=np.uint64)
    words.sort()
    # Neighbours with one hash differ in the lowest bits only.
    left = np.flatnonzero((words[1:] ^ words[:-1]) <= low)
    first, second = (words[left] & low).astype(np.int64), (words[left + 1] & low).astype(np.int64)
    simple = (first < n_rows) & (second >= n_rows)
    crowd = np.flatnonzero(left[1:] == left[:-1] + 1)
    simple[crowd] = simple[crowd + 1] = False
    others = np.sort(np.concatenate([first[~simple], second[~simple]]))
    once = np.diff(others, prepend=-1) > 0
    pairs = np.flatnonzero(simple)
    return first[pairs], second[pairs] - n_rows, others[once]


def _match_exactly(own: pl.DataFrame, asked: pl.DataFrame, found: Ints) -> Ints:
    """Decide pairs (`group`, `doc`, `place`) by their ids.

    Returns:
        The rows that repeat; the first row of each target is written to `found`.
    """
    first = own.unique(["group", "doc"], keep="first", maintain_order=True)
    # A target may stand in two tables, so it is joined to its row, not the row to it.
    hits = asked.join(first, on=["group", "doc"], suffix="_of_row")
    found[hits["place"].to_numpy()] = hits["place_of_row"].to_numpy()
    return np.setdiff1d(own["place"].to_numpy(), first["place"].to_numpy())
