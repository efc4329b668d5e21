"""Which verdict counts: the newest override of its key, else that of the judge who counts.

Judgment rows are never changed; overrides replace values when rows are read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

import polars as pl

from crucible_batch.contracts.vocabulary import VERDICTS
from crucible_batch.errors import ContractError, UnknownNameError, UsageError

VERDICT_KEY = ("run_id", "item_id", "sample_index", "assertion_id", "judge")
CLAIM_KEY = ("run_id", "item_id", "sample_index", "claim_id", "judge")
_BOOLEANS = {"true": True, "false": False, "null": None}


def choose_judge(
    present: Collection[str], *, asked: str | None = None, pinned: str | None = None
) -> str | None:
    """Say whose judgments of one table count.

    Args:
        present: The judges with a row in the table.
        asked: What `--judge` names.
        pinned: The run's pinned judge.

    Returns:
        `asked`, else `pinned`, when it has a row; else the only judge present; else (nobody
        judged) `asked` or `pinned`, None without either.

    Raises:
        UsageError: Several judges are present, none of them pinned, and none was asked for.
    """
    known = sorted(set(present))
    for name in (asked, pinned):
        if name in known:
            return name
    if len(known) == 1:
        return known[0]
    if len(known) > 1 and asked is None:
        pin = f", and the pinned judge {pinned!r} is not among them" if pinned else ""
        raise UsageError(
            f"The run was judged by {len(known)} judges{pin}",
            problems=known,
            fix=f"Say whose verdicts count, e.g. --judge {known[0]}",
        )
    return asked or pinned


def check_judge(asked: str | None, present: Collection[str]) -> None:
    """Refuse a judge who judged nothing of the run while others did.

    Args:
        asked: What `--judge` names.
        present: The judges with a row in any table of the run.

    Raises:
        UnknownNameError: Names the judges there are.
    """
    if asked is not None and present and asked not in present:
        raise UnknownNameError("judge", asked, sorted(set(present)))


def effective_verdicts(
    verdicts: pl.DataFrame, overrides: pl.DataFrame | None, judge: str | None
) -> pl.DataFrame:
    """The verdicts that count.

    Args:
        verdicts: `assertion_verdicts` of one run.
        overrides: `judgment_overrides`, or None without any.
        judge: Whose verdicts count.

    Returns:
        item_id, sample_index, assertion_id, verdict, context_supported.

    Raises:
        ContractError: An override does not hold a value of its column.
    """
    rows = verdicts.filter(_by(judge))
    table = "assertion_verdicts"
    rows = overridden(rows, overrides, table, "verdict", VERDICT_KEY, _verdict)
    rows = overridden(rows, overrides, table, "context_supported", VERDICT_KEY, boolean)
    return rows.select("item_id", "sample_index", "assertion_id", "verdict", "context_supported")


def effective_claims(
    claims: pl.DataFrame, overrides: pl.DataFrame | None, judge: str | None
) -> pl.DataFrame:
    """The claims that count, each with the judgments that count.

    Args:
        claims: `claims` of one run.
        overrides: `judgment_overrides`, or None without any.
        judge: Whose claims count. A result that only others judged keeps their claims, unjudged.

    Returns:
        item_id, sample_index, claim_id, grounded, correct.

    Raises:
        ContractError: An override does not hold a value of its column.
    """
    key = ("item_id", "sample_index")
    own = claims.filter(_by(judge))
    own = overridden(own, overrides, "claims", "grounded", CLAIM_KEY, boolean)
    own = overridden(own, overrides, "claims", "correct", CLAIM_KEY, boolean)
    kept = own.select(*key, "claim_id", "grounded", "correct")
    others = (
        claims.join(own, on=key, how="anti")
        .select(*key, "claim_id")
        .unique()
        .with_columns(
            grounded=pl.lit(None, dtype=pl.Boolean), correct=pl.lit(None, dtype=pl.Boolean)
        )
    )
    return pl.concat([kept, others])


def _by(judge: str | None) -> pl.Expr:
    """Rows of one judge; none when there is no judge."""
    return pl.col("judge") == pl.lit(judge, dtype=pl.String)


def overridden(
    rows: pl.DataFrame,
    overrides: pl.DataFrame | None,
    table: str,
    column: str,
    key: Sequence[str],
    parse: Callable[[str], Any],
) -> pl.DataFrame:
    """Replace values of one column by the newest override of their row.

    Args:
        rows: Rows of `table`.
        overrides: `judgment_overrides`, or None without any.
        table: Whose overrides apply.
        column: The column they replace.
        key: The table's key without workspace_id: what a target_key lists.
        parse: Reads a new value; raises ValueError or KeyError when it is none.

    Returns:
        `rows`, in their order.

    Raises:
        ContractError: A target_key or a new value cannot be read; names the override.
    """
    if overrides is None or rows.is_empty():
        return rows
    wanted = overrides.filter(
        (pl.col("target_table") == table) & (pl.col("target_column") == column)
    ).sort("created_at", "override_id")
    if wanted.is_empty():
        return rows
    newest: dict[tuple[Any, ...], Any] = {}
    for row in wanted.iter_rows(named=True):
        newest[_target(row, key)] = _new(row, parse)
    schema: dict[str, Any] = {name: rows.schema[name] for name in (*key, column)}
    fresh = pl.DataFrame([(*k, v) for k, v in newest.items()], schema=schema, orient="row")
    fresh = fresh.rename({column: "_new"}).with_columns(_is_overridden=pl.lit(value=True))
    value = pl.when("_is_overridden").then("_new").otherwise(column).alias(column)
    joined = rows.join(fresh, on=list(key), how="left", maintain_order="left")
    return joined.with_columns(value).select(rows.columns)


def _target(row: dict[str, Any], key: Sequence[str]) -> tuple[Any, ...]:
    """The key an override is about."""
    try:
        target = json.loads(row["target_key"])
    except json.JSONDecodeError:
        target = None
    if not isinstance(target, list) or len(target) != len(key):
        raise ContractError(
            f"Override {row['override_id']} has a target_key that is no key of"
            f" {row['target_table']}",
            problems=[f"target_key: {row['target_key']}"],
            fix=f"It must be a JSON list of {', '.join(key)}.",
        )
    return tuple(target)


def _new(row: dict[str, Any], parse: Callable[[str], Any]) -> Any:
    """The value an override puts in place."""
    try:
        return parse(row["new"])
    except (KeyError, ValueError) as error:
        raise ContractError(
            f"Override {row['override_id']} gives {row['target_column']} a value it cannot have",
            problems=[f"new: {row['new']!r}"],
            fix="Override it again with a value of the column.",
        ) from error


def _verdict(text: str) -> str:
    """A verdict, as text."""
    if text not in VERDICTS:
        raise ValueError(text)
    return text


def boolean(text: str) -> bool | None:
    """true, false or null."""
    return _BOOLEANS[text.strip().lower()]
