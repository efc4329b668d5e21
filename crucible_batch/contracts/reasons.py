"""Why rows are put aside: `column: check: value`, from the cases that Pandera reports."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from crucible_batch.contracts.conform import SHOWN_CHARACTERS
from crucible_batch.contracts.table import Table

_PLACE = pl.int_range(pl.len(), dtype=pl.Int64).alias("_at")


def failed_checks(table: Table, cases: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Turn Pandera's failure cases into one reason per row, column and check.

    Args:
        table: The contract.
        cases: `SchemaErrors.failure_cases`.
        frame: The rows that were checked, with `_reasons` of what was found before.

    Returns:
        `_at` (row position from 0) and `_reason`, by row.
    """
    stray = cases.filter(pl.col("index").is_null())
    if stray.height:  # a schema-level failure: conform() should have refused the file
        raise AssertionError(f"{table.name}: rows were not conformed: {stray.to_dicts()[:3]}")
    # A case of a rule names the table as its column and the whole row as its value.
    rules = {rule.name: rule.column for rule in table.rules}
    of_rule = pl.col("check").replace_strict(rules, default=None, return_dtype=pl.String)
    named = cases.select(
        _at=pl.col("index").cast(pl.Int64),
        column=pl.coalesce(of_rule, "column"),
        check=pl.col("check").replace({"not_nullable": "null"}),
        value=pl.when(of_rule.is_null()).then(pl.col("failure_case").cast(pl.String)),
        _rule=of_rule.is_not_null(),
    )
    nan = (pl.col("check") == "null") & pl.col("value").eq_missing("NaN")  # is "not finite" too
    named = named.filter(~nan)
    cases = _with_values(table, _without_echoes(named, frame), frame)
    shown = pl.col("value").str.slice(0, SHOWN_CHARACTERS).fill_null("null")
    return cases.select("_at", _reason=pl.format("{}: {}: {}", "column", "check", shown)).sort(
        "_at", maintain_order=True
    )


def _without_echoes(cases: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out cases that only follow from another reason of the same value.

    A value that did not parse is null by now: the parse reason says more than "null". A rule that
    looks at a value which is bad in itself says nothing new.
    """
    on = ["_at", "column"]
    told = (
        frame.select(_PLACE, "_reasons")
        .filter(pl.col("_reasons").list.len() > 0)
        .explode("_reasons")
        .select("_at", column=pl.col("_reasons").str.split(": ").list.first())
    )
    cases = cases.join(told.unique(), on=on, how="anti", maintain_order="left")
    by_value = cases.filter(~pl.col("_rule"))
    rules = cases.filter("_rule").join(by_value, on=on, how="anti", maintain_order="left")
    return pl.concat([by_value, rules])


def _with_values(table: Table, cases: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Give the cases of rules the value of the column that the rule names."""
    names = sorted({rule.column for rule in table.rules})
    if not names:
        return cases
    values = frame.select(_PLACE, *[pl.col(n).cast(pl.String).alias(f"_of_{n}") for n in names])
    named = [pl.when(pl.col("column") == n).then(f"_of_{n}") for n in names]
    return cases.join(values, on="_at", how="left", maintain_order="left").with_columns(
        value=pl.when("_rule").then(pl.coalesce(named)).otherwise("value")
    )


def count_reasons(quarantined: pl.DataFrame) -> pl.DataFrame:
    """Count the reasons of quarantined rows by column and check.

    Returns:
        column, check, n, and the first place: reason, file, row.
    """
    exploded = (
        quarantined.select("_source_file", "_source_row", "_reasons")
        .explode("_reasons")
        .sort("_source_file", "_source_row", maintain_order=True)
        .with_columns(pl.col("_reasons").str.splitn(": ", 3).alias("_parts"))
    )
    return (
        exploded.group_by(
            column=pl.col("_parts").struct[0],
            check=pl.col("_parts").struct[1],
            maintain_order=True,
        )
        .agg(pl.len().alias("n"), pl.first("_reasons", "_source_file", "_source_row"))
        .rename({"_reasons": "reason", "_source_file": "file", "_source_row": "row"})
    )


def reason_lines(counts: Sequence[pl.DataFrame]) -> list[str]:
    """Say which reasons occur, most frequent first, each with its first place.

    Args:
        counts: Results of `count_reasons`.

    Returns:
        Lines such as `grade: not in 0..3: 7 (2 rows, first at qrels.parquet row 4)`.
    """
    if not counts:
        return []
    summed = (
        pl.concat(counts)
        .sort("file", "row", maintain_order=True)
        .group_by("column", "check", maintain_order=True)
        .agg(pl.sum("n"), pl.first("reason", "file", "row"))
        .sort("n", descending=True, maintain_order=True)
    )
    return [
        f"{row['reason']} ({row['n']:,} row{'s' if row['n'] != 1 else ''}, "
        f"first at {row['file']} row {row['row']})"
        for row in summed.iter_rows(named=True)
    ]
