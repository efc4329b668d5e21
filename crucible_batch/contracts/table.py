"""A table as a declared value: its columns, key, rules and how the store keeps it.

Everything else reads these declarations: the Pandera schemas (`validate`), the store (types, keys,
sort order), the catalogue views and the data dictionary. Importing this module does not import
Pandera, which costs a second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import polars as pl

UTC = pl.Datetime("us", "UTC")


class Kind(StrEnum):
    """What a column holds; each kind has one published type and its own checks."""

    ID = "id"  # non-empty text, at most 256 characters, no control characters
    TEXT = "text"  # at most 1 MiB; blank is allowed
    NONBLANK = "nonblank"  # TEXT that is not blank (questions, assertions)
    WORD = "word"  # one of a closed vocabulary
    JSON = "json"  # canonical JSON text
    INT = "int"
    FLOAT = "float"  # never NaN, never infinite
    BOOL = "bool"
    TIME = "time"  # timestamp[us, UTC]
    WORDS = "words"  # list[str]


DTYPES: dict[Kind, pl.DataType] = {
    Kind.ID: pl.String(),
    Kind.TEXT: pl.String(),
    Kind.NONBLANK: pl.String(),
    Kind.WORD: pl.String(),
    Kind.JSON: pl.String(),
    Kind.INT: pl.Int64(),
    Kind.FLOAT: pl.Float64(),
    Kind.BOOL: pl.Boolean(),
    Kind.TIME: UTC,
    Kind.WORDS: pl.List(pl.String()),
}


WORDS: dict[Kind, str] = {
    Kind.ID: "text",
    Kind.TEXT: "text",
    Kind.NONBLANK: "text",
    Kind.WORD: "text",
    Kind.JSON: "an object or a list",
    Kind.INT: "an integer",
    Kind.FLOAT: "a number",
    Kind.BOOL: "true or false",
    Kind.TIME: "an ISO 8601 time",
    Kind.WORDS: "a list of texts",
}
"""Kinds as people call their values."""


class Storage(StrEnum):
    """How the store keeps a table."""

    EVENT = "event"  # lake rows, unique by row, `_commit` inside
    BULK = "bulk"  # lake rows, unique by (table, subject, part) through `commits`
    MART = "mart"  # derived: one file per subject, replaced atomically
    FOLD = "fold"  # a view over event rows, never a file
    VIEW = "view"  # a wide view over other tables for people, never a file


class Role(StrEnum):
    """Who writes a table."""

    INPUT = "input"
    TRAIL = "trail"
    OUTPUT = "output"
    VIEW = "view"


_UNSET = object()


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: name, kind, description, and what a value must keep.

    Attributes:
        nullable: Null is allowed and means "not measured" or "not known".
        allowed: The closed vocabulary of a WORD (or of a TEXT that may only be these).
        low: Smallest allowed number, inclusive.
        high: Largest allowed number, inclusive.
        default: Stands in for a value that an input leaves out.
        filled: The loader derives the value where an input leaves it out (ids of the load, hashes,
            revisions, times).

    An input may leave out a column that is nullable, filled or has a default; any other missing
    column is an error.
    """

    name: str
    kind: Kind
    description: str
    nullable: bool = False
    allowed: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    default: object = _UNSET
    filled: bool = False

    @property
    def dtype(self) -> pl.DataType:
        """The published Polars type."""
        return DTYPES[self.kind]

    @property
    def expected(self) -> str:
        """What a value must be, in words: its type, and its range if it has one."""
        what = WORDS[self.kind]
        if self.allowed:
            return f"one of {', '.join(self.allowed)}"
        if self.low is not None and self.high is not None:
            return f"{what} in {self.low:g}..{self.high:g}"
        return what if self.low is None else f"{what} of at least {self.low:g}"

    @property
    def has_default(self) -> bool:
        """Whether a constant stands in for a value that an input leaves out."""
        return self.default is not _UNSET

    @property
    def optional(self) -> bool:
        """Whether an input may leave the column out."""
        return self.nullable or self.filled or self.has_default


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A condition across the columns of one row. False or null breaks it.

    Attributes:
        name: The reason a quarantined row carries, lower case with underscores.
        column: The column the reason names.
        expr: Boolean expression, true for a good row.
        description: The rule in words, for the dictionary.
    """

    name: str
    column: str
    expr: pl.Expr = field(compare=False)
    description: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """A contract: what every file of one table promises.

    Attributes:
        key: Columns that are unique together, `workspace_id` first; null parts count as equal.
        subject: The column that names the one run or corpus version a bulk file or mart is about.
        version: Contract version; a mart of another version is rebuilt.
        over: The tables that a fold or a view reads.
        grows: Files may hold more columns than the contract: one per first-party metric.
    """

    name: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    storage: Storage
    role: Role
    rules: tuple[Rule, ...] = ()
    subject: str | None = None
    version: int = 1
    over: tuple[str, ...] = ()
    grows: bool = False

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Column name to Polars type, in published order, without `_commit`."""
        return {column.name: column.dtype for column in self.columns}

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in published order."""
        return tuple(column.name for column in self.columns)

    @property
    def content(self) -> tuple[str, ...]:
        """Columns that say whether two rows of one key are the same (CONTRACTS.md)."""
        return tuple(n for n in self.names if n not in {"created_at", "qrel_id"})

    def column(self, name: str) -> Column:
        """Return the column called `name`; KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def empty(self) -> pl.DataFrame:
        """A frame with the contract's columns and no rows."""
        return self._no_rows.clone()

    @cached_property
    def _no_rows(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.schema)
