"""The exact split of a table into accepted and quarantined rows, with reasons.

Pandera runs over an eager frame with `lazy=True`; a LazyFrame would only have its schema checked.
Every check is a row-wise expression: checks that return one row, or a plain bool, misreport in
Pandera 0.35, and `drop_invalid_rows` drops without a report. Keys are checked outside Pandera,
because a duplicate with identical content is "already there" and one with different content is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import polars as pl

from crucible_batch.contracts.conform import SHOWN_CHARACTERS, row_json
from crucible_batch.contracts.reasons import failed_checks
from crucible_batch.contracts.table import Column, Kind, Table

if TYPE_CHECKING:
    import pandera.polars as pa

ID_CHARACTERS = 256
TEXT_BYTES = 2**20
CONTROL = r"[\x00-\x1f\x7f-\x9f]"
WORKSPACE = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"


@dataclass(frozen=True)
class Split:
    """A table split in two; every row handed in is in exactly one part.

    Attributes:
        accepted: Good rows: the contract columns that were found, and the meta columns.
        quarantined: Bad rows: the same columns; `_reasons` is not empty, `_row` is the row as JSON.
        copies: Later copies of identical rows, which are in neither part; None for none.
    """

    accepted: pl.DataFrame
    quarantined: pl.DataFrame
    copies: pl.DataFrame | None = None

    @property
    def n_already_there(self) -> int:
        """Number of later copies."""
        return 0 if self.copies is None else self.copies.height


def split(table: Table, frame: pl.DataFrame, *, later: Iterable[str] = ()) -> Split:
    """Check every row against the contract of `table`.

    Args:
        table: The contract.
        frame: Conformed and completed rows (`conform`, `complete`), with the meta columns.
        later: Columns that are filled after the check and may be null until then.

    Returns:
        Accepted and quarantined rows; a row may carry several reasons `column: check: value`.

    Raises:
        TypeError: `frame` is lazy, of which Pandera would check only the schema.
    """
    if not isinstance(frame, pl.DataFrame):
        raise TypeError("split() takes a collected frame: Pandera checks no data of a LazyFrame")
    if frame.is_empty():
        return Split(frame, frame)
    return _part(frame, _failures(table, frame, frozenset(later)))


def reject(frame: pl.DataFrame, where: pl.Expr, reason: pl.Expr) -> Split:
    """Quarantine the rows of `frame` for which `where` holds (null does not), with `reason`."""
    fails = (
        frame.with_row_index("_at")
        .filter(where)
        .select(pl.col("_at").cast(pl.Int64), reason.alias("_reason"))
    )
    return _part(frame, fails)


def split_duplicates(table: Table, frame: pl.DataFrame) -> Split:
    """Resolve keys that occur more than once in one input.

    Identical rows: the first stays, the later ones count as already there. Different content:
    every row of the key is quarantined with `duplicate_key`.
    """
    key = [name for name in table.key if name in frame.columns]
    content = [name for name in table.content if name in frame.columns]
    if not frame.select(key).is_duplicated().any():
        return Split(frame, frame.clear())
    numbered = frame.with_row_index("_at")
    first = numbered.unique(content, keep="first", maintain_order=True)
    shown = pl.concat_str(
        [pl.col(name).cast(pl.String).fill_null("null") for name in key if name != "workspace_id"],
        separator=", ",
    ).str.slice(0, SHOWN_CHARACTERS)
    clash = pl.struct(key).is_duplicated()
    keys = first.filter(clash).select(key).unique()
    clashing = frame.join(keys, on=key, how="semi", nulls_equal=True, maintain_order="left")
    clear = numbered.join(keys, on=key, how="anti", nulls_equal=True, maintain_order="left")
    parts = reject(
        clashing, pl.lit(value=True), pl.format("{}: duplicate_key: {}", pl.lit(key[-1]), shown)
    )
    kept = clear.join(first, on="_at", how="semi", maintain_order="left").drop("_at")
    copies = clear.join(first, on="_at", how="anti", maintain_order="left").drop("_at")
    return Split(kept, parts.quarantined, copies)


def _part(frame: pl.DataFrame, fails: pl.DataFrame) -> Split:
    """Split `frame` by row position: `fails` has `_at` (from 0) and `_reason`."""
    indexed = frame.with_row_index("_at").with_columns(pl.col("_at").cast(pl.Int64))
    reasons = fails.unique(maintain_order=True).group_by("_at", maintain_order=True).agg("_reason")
    joined = indexed.join(reasons, on="_at", how="left", maintain_order="left").with_columns(
        _reasons=pl.col("_reasons").list.concat(pl.col("_reason").fill_null([]))
    )
    bad = pl.col("_reasons").list.len() > 0
    quarantined = joined.filter(bad).drop("_at", "_reason")
    quarantined = quarantined.with_columns(_row=pl.coalesce("_row", row_json(quarantined)))
    return Split(joined.filter(~bad).drop("_at", "_reason"), quarantined)


def _failures(table: Table, frame: pl.DataFrame, later: frozenset[str]) -> pl.DataFrame:
    """Row position and reason of everything Pandera finds."""
    none = pl.DataFrame(schema={"_at": pl.Int64(), "_reason": pl.String()})
    if dict(frame.select(table.names).schema) == table.schema and _is_clean(table, frame, later):
        return none
    import pandera.polars as pa

    try:
        pandera_schema(table, later).validate(frame.select(table.names), lazy=True)
    except pa.errors.SchemaErrors as errors:
        return failed_checks(table, errors.failure_cases, frame)
    return none


def _is_clean(table: Table, frame: pl.DataFrame, later: frozenset[str]) -> bool:
    """Whether no row can fail: every condition that Pandera checks one by one, in a single pass.

    Good tables, which nearly all are, pass fifty times as fast. A condition that is null where a
    value stands counts as doubt, and then Pandera decides.
    """
    fine: list[pl.Expr] = [rule.expr.fill_null(value=False).all() for rule in table.rules]
    for column in table.columns:
        value = pl.col(column.name)
        if not (column.nullable or column.name in later):
            fine.append(value.is_not_null().all())
        fine += [
            (test(value).fill_null(value=False) | value.is_null()).all()
            for _, test in _checks(column)
        ]
    return bool(frame.select(pl.all_horizontal(fine)).item())


@lru_cache(maxsize=256)
def pandera_schema(table: Table, later: frozenset[str] = frozenset()) -> pa.DataFrameSchema:
    """The contract of `table` as a Pandera schema, built once; columns `later` may be null."""
    import pandera.polars as pa

    return pa.DataFrameSchema(
        {
            column.name: _pandera_column(column, nullable=column.nullable or column.name in later)
            for column in table.columns
        },
        checks=[
            pa.Check(
                _row_check(lambda _, expr=rule.expr: expr),  # type: ignore[misc]
                name=rule.name,
                error=rule.name,
                ignore_na=False,
                description=rule.description,
            )
            for rule in table.rules
        ],
        name=table.name,
        description=table.description,
        strict=True,
    )


def _row_check(build: Callable[[str], pl.Expr]) -> Callable[[pa.PolarsData], pl.LazyFrame]:
    def check(data: pa.PolarsData) -> pl.LazyFrame:
        return data.lazyframe.select(build(data.key))

    return check


def _pandera_column(column: Column, *, nullable: bool) -> pa.Column:
    import pandera.polars as pa

    checks = [
        pa.Check(_row_check(lambda key, f=f: f(pl.col(key))), name=name, error=name)  # type: ignore[misc]
        for name, f in _checks(column)
    ]
    return pa.Column(
        column.dtype,
        checks=checks,
        nullable=nullable,
        description=column.description,
    )


Test = Callable[[pl.Expr], pl.Expr]


def _checks(column: Column) -> list[tuple[str, Test]]:
    """Named conditions of a single value; null passes here (nullability is Pandera's own)."""
    checks = [*_KIND_CHECKS.get(column.kind, [])]
    if column.name == "workspace_id":
        checks.append(("not_a_workspace_name", lambda c: c.str.contains(WORKSPACE)))
    if column.allowed:
        allowed = list(column.allowed)
        checks.append((f"not one of {', '.join(allowed)}", lambda c: c.is_in(allowed)))
    low, high = column.low, column.high
    if low is not None and high is not None:
        checks.append((f"not in {low:g}..{high:g}", lambda c: c.is_between(low, high)))
    elif low is not None:
        checks.append((f"below {low:g}", lambda c: c >= low))
    return checks


def is_id(text: str) -> bool:
    """Return whether a text may be an id in the tables."""
    tests = [test(pl.col("id")).alias(name) for name, test in _KIND_CHECKS[Kind.ID]]
    return all(pl.DataFrame({"id": [text]}).select(tests).row(0))


_TEXT: list[tuple[str, Test]] = [("text_too_long", lambda c: c.str.len_bytes() <= TEXT_BYTES)]
_KIND_CHECKS: dict[Kind, list[tuple[str, Test]]] = {
    Kind.ID: [
        ("blank", lambda c: c.str.strip_chars() != ""),
        ("id_too_long", lambda c: c.str.len_chars() <= ID_CHARACTERS),
        ("control_character", lambda c: ~c.str.contains(CONTROL)),
    ],
    Kind.TEXT: _TEXT,
    Kind.NONBLANK: [("blank", lambda c: c.str.strip_chars() != ""), *_TEXT],
    Kind.JSON: _TEXT,
    Kind.WORDS: [
        ("null_in_list", lambda c: ~c.list.eval(pl.element().is_null()).list.any()),
        (
            "text_too_long",
            lambda c: (
                c.list.eval(pl.element().str.len_bytes()).list.max().fill_null(0) <= TEXT_BYTES
            ),
        ),
    ],
    Kind.FLOAT: [("not finite", lambda c: c.is_finite())],
}
