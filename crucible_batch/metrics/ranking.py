"""Rankings: rows in rank order, repeats dropped, and where documents stand in them."""

from __future__ import annotations

from dataclasses import dataclass

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


_TABLE_SIZE = 1 << 20
_TABLE_SHIFT = np.uint64(64 - 20)
_HALF = np.uint64(32)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rankings of a bucket.

    Attributes:
        rows: The rows that count, by group and in rank order.
        found: For every table of targets, the row of each target, -1 for one not retrieved.
    """

    rows: pl.DataFrame
    found: tuple[Ints, ...]


def ranked(rows: pl.DataFrame, *targets: pl.DataFrame) -> Ranking:
    """Bring rows into rank order, `order` then `doc` (bytewise) descending, and find targets.

    That is trec_eval's order, in float64. A document counts at its first occurrence and the
    ranking closes up behind later ones.

    Args:
        rows: `group` (UInt32, which ranking), `doc` (String), `order` (Float64, finite); rows of
            a group stand together, in any order.
        targets: Documents to find: `group` and `doc`, unique together in each table; `hash` where
            `hashes` were made already.
    """
    # Looking rows up in one chunk is several times as fast as in two.
    rows = rows.rechunk()
    if not _is_ordered(rows):
        rows = rows.sort("group", "order", "doc", descending=[False, True, True])
    again, found = _match(_Pairs.of(rows), [_Pairs.of(table) for table in targets])
    if len(again):
        counts = np.ones(rows.height, np.bool_)
        counts[again] = False
        rows = rows.filter(pl.Series(counts))
        found = [np.where(at < 0, at, at - np.searchsorted(again, at)) for at in found]
    return Ranking(rows, tuple(found))


def first_rows(rows: pl.DataFrame, column: str, targets: pl.DataFrame) -> Ints:
    """The first of the rows that holds each target in `column`, -1 where none does.

    Args:
        rows: `group`, `column` (String).
        column: Where to look; may repeat within a group.
        targets: `group`, `doc`, unique together.
    """
    _, (found,) = _match(_Pairs.of(rows, column), [_Pairs.of(targets)])
    return found


def hashes(group: npt.NDArray[np.uint32], doc: pl.Series) -> Words:
    """A hash of every pair of group and document."""
    words: Words = group.astype(np.uint64)
    words *= _ODD
    words ^= doc.hash().to_numpy()
    return words


def ties(rows: pl.DataFrame) -> Ints:
    """The rows of a ranking whose `score` equals that of the next one of their group."""
    score, group = rows["score"].to_numpy(), rows["group"].to_numpy()
    return np.flatnonzero((score[1:] == score[:-1]) & (group[1:] == group[:-1]))


def _is_ordered(rows: pl.DataFrame) -> bool:
    """Whether rows stand in rank order; document ids are compared only in ties."""
    group, order, docs = rows["group"].to_numpy(), rows["order"].to_numpy(), rows["doc"]
    # Few orders rise, or stay as they are: those that do are found before groups are looked at.
    rise = np.flatnonzero(order[1:] > order[:-1])
    if (group[rise + 1] == group[rise]).any():
        return False
    tied = np.flatnonzero(order[1:] == order[:-1])
    tied = tied[group[tied + 1] == group[tied]]
    return bool((docs[tied + 1] <= docs[tied]).all())


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Documents of groups: two columns of one length."""

    group: npt.NDArray[np.uint32]
    doc: pl.Series
    words: Words | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame, column: str = "doc") -> _Pairs:
        words = frame["hash"].to_numpy() if "hash" in frame.columns else None
        # Gathering from one chunk is several times as fast as from two.
        return cls(frame["group"].to_numpy(), frame[column].rechunk(), words)

    def __len__(self) -> int:
        return len(self.group)

    def hashes(self) -> Words:
        return hashes(self.group, self.doc) if self.words is None else self.words

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

    def at(self, places: Ints) -> _Pairs:
        return _Pairs(self.group[places], self.doc[places])

    def frame(self, places: Ints) -> pl.DataFrame:
        some = self.at(places)
        return pl.DataFrame({"group": some.group, "doc": some.doc, "place": places})

    def equals(self, other: _Pairs) -> Flags:
        same: Flags = (self.doc == other.doc).to_numpy() & (self.group == other.group)
        return same


def _match(rows: _Pairs, tables: list[_Pairs]) -> tuple[Ints, list[Ints]]:
    """Rows that repeat an earlier one (ascending), and the first row of every target, or -1.

    Few rows of a ranking are asked for or repeat, and a table of marks by the first bits of a hash
    leaves out nearly all others. Hashes only propose; the ids decide.
    """
    targets = _Pairs(
        np.concatenate([table.group for table in tables] or [rows.group[:0]]),
        pl.concat([table.doc for table in tables] or [rows.doc[:0]]),
    )
    words = rows.hashes()
    asked = np.concatenate([table.hashes() for table in tables] or [words[:0]])
    places = np.flatnonzero(_marks(rows, words, asked)[_slots(words)])
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


def _slots(words: Words) -> Ints:
    """The place of each hash in a table of marks, by its first bits."""
    # Signed as NumPy's own indices are: any other kind would be copied first.
    return (words >> _TABLE_SHIFT).view(np.int64)


def _marks(rows: _Pairs, words: Words, asked: Words) -> Flags:
    """By the first bits of a hash: whether a row that has them is asked for or may repeat."""
    marks = np.zeros(_TABLE_SIZE, np.bool_)
    marks[_slots(asked)] = True
    # Half of the bits sort in half of the time; rows that share them by chance are few.
    halves = (words >> _HALF).astype(np.uint32)
    if depth := rows.common_length():
        # Repeats stand in one ranking, and many short sorts take a third of one long sort.
        halves = halves.reshape(-1, depth)
    halves.sort(axis=-1)
    again = halves[..., 1:][halves[..., 1:] == halves[..., :-1]]
    marks[again >> (_TABLE_SHIFT - _HALF).astype(np.uint32)] = True
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
