"""The rows of a golden input: filled, checked, and kept item by item."""

from __future__ import annotations

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.golden_plan import CHILDREN, GIVEN, GOLDEN, ITEMS
from crucible_batch.assemble.load.report import Tallies, Tally
from crucible_batch.assemble.load.whole import (
    CHILD_QUARANTINED,
    HERE,
    incomplete,
    nameless,
    refused_rows,
)
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.validate import reject
from crucible_batch.errors import ContractError
from crucible_batch.store.fingerprint import canonical_json

DEFAULT_SET = "default"
REVISION = ["item_id", "revision"]
PARENT_QUARANTINED = pl.format("item_id: parent_quarantined: {}", "item_id")


def admit_golden(
    found: dict[str, pl.DataFrame], workspace: str, golden_set: str | None
) -> tuple[dict[str, pl.DataFrame], Tallies]:
    """Fill, check and split the rows of a golden input.

    Args:
        found: Completed rows per table, with meta columns.
        workspace: Fills workspace_id.
        golden_set: Fills golden_set.

    Returns:
        Good rows per table, with meta columns and `_given` (the revision as stated), and where
        all rows went.
    """
    tallies = steps.tallies_for(name for name in GOLDEN if name in found)
    frames = {
        name: steps.fill_constant(found[name], "workspace_id", workspace, option="--workspace")
        for name in tallies
    }
    if ITEMS not in frames:
        raise ContractError(
            "The input has no golden items, only rows that belong to items",
            fix="load golden_items together with their assertions, concepts and citations.",
        )
    items = _fill_set(frames[ITEMS], golden_set)
    items = _mark_contradictions(_fill_revision(items), frames)
    good = {ITEMS: steps.admit(TABLES[ITEMS], items, tallies[ITEMS])}
    for name in CHILDREN:
        if name in frames:
            rows = _child_revision(frames[name], items)
            rows = steps.admit(TABLES[name], rows, tallies[name])
            good[name] = _with_parents(rows, items, good[ITEMS], tallies, name)
        else:
            good[name] = TABLES[name].empty().with_columns(pl.lit(None, pl.Int64).alias(GIVEN))
    good["golden_citations"] = _refuse_both_kinds(good["golden_citations"], tallies)
    return _whole_items(good, tallies), tallies


def of_no_item(good: pl.DataFrame, tallies: Tallies) -> tuple[str, ...]:
    """Refused rows, in words, that neither name an item nor stand under one.

    Args:
        good: Good items, as from `admit_golden`.
        tallies: As from `admit_golden`.
    """
    return nameless(_refused(tallies), _lines(good, tallies[ITEMS]))


def _refused(tallies: Tallies) -> dict[str, pl.LazyFrame]:
    children = {name: tally for name, tally in tallies.items() if name != ITEMS}
    return refused_rows(children, REVISION)


def _lines(good: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Where items were handed in."""
    others = [rows.select(HERE).collect() for rows in (*tally.pieces, *tally.copies)]
    return pl.concat([good.select(HERE), *others])


def _whole_items(good: dict[str, pl.DataFrame], tallies: Tallies) -> dict[str, pl.DataFrame]:
    """Leave out items that lack a refused row, with all their rows.

    An item without one of its assertions, or of the documents it requires, is easier to answer.
    """
    refused = _refused(tallies)
    if not refused:
        return good
    columns = [*REVISION, *HERE]
    copies = [rows.select(columns).collect() for rows in tallies[ITEMS].copies]
    parents = pl.concat([good[ITEMS].select(columns), *copies])
    lacking = incomplete(refused, parents, _lines(good[ITEMS], tallies[ITEMS]), REVISION)
    whole = dict(good)
    for name, tally in tallies.items():
        why = CHILD_QUARANTINED if name == ITEMS else PARENT_QUARANTINED
        whole[name] = steps.refuse_among(good[name], lacking, REVISION, why, tally)
    return whole


def _fill_set(items: pl.DataFrame, golden_set: str | None) -> pl.DataFrame:
    if golden_set is not None:
        return steps.fill_constant(items, "golden_set", golden_set, option="--golden-set")
    return items.with_columns(pl.col("golden_set").fill_null(DEFAULT_SET))


def _fill_revision(frame: pl.DataFrame) -> pl.DataFrame:
    """Revision 1 stands in for "not stated", which `_given` remembers."""
    return frame.with_columns(pl.col("revision").alias(GIVEN), pl.col("revision").fill_null(1))


def _child_revision(rows: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """A child without a revision belongs to the one its item has in the input."""
    single = items.select("item_id", _single="revision").unique()
    single = single.filter(pl.col("item_id").is_unique())
    joined = rows.join(single, on="item_id", how="left", maintain_order="left")
    return _fill_revision(
        joined.with_columns(pl.coalesce("revision", "_single").alias("revision")).drop("_single")
    )


def _mark_contradictions(items: pl.DataFrame, frames: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Give a reason to items that stand twice in the input with different children.

    The rows themselves may be equal, so that one would be taken for a copy of the other and the
    children of both would be mixed. Children belong to the row they stand under.
    """
    repeated = items.filter(pl.struct(REVISION).is_duplicated()).drop_nulls("item_id")
    if repeated.is_empty():
        return items
    here = ["_source_file", "_source_row"]
    under: dict[tuple[str, int], list[str]] = {key: [] for key in repeated.select(here).rows()}
    for name in CHILDREN:
        if name in frames:
            nested = frames[name].join(repeated, on=["item_id", *here], how="semi")
            for row in nested.select(*here, *TABLES[name].content).iter_rows():
                under[row[0], row[1]].append(canonical_json([name, *row[2:]]))
    texts = [canonical_json(sorted(set(under[key]))) for key in repeated.select(here).rows()]
    differ = (
        repeated.select("item_id", "revision", *here, pl.Series("_under", texts))
        .filter(pl.col("_under").n_unique().over(REVISION) > 1)
        .select(*here, pl.format("item_id: duplicate_key: {}", "item_id").alias("_why"))
        .unique()
    )
    marked = items.join(differ, on=here, how="left", maintain_order="left")
    why = pl.when(pl.col("_why").is_null()).then(pl.lit([], dtype=pl.List(pl.String)))
    return marked.with_columns(
        _reasons=pl.col("_reasons").list.concat(why.otherwise(pl.concat_list("_why")))
    ).drop("_why")


def _with_parents(
    rows: pl.DataFrame, handed_in: pl.DataFrame, good: pl.DataFrame, tallies: Tallies, name: str
) -> pl.DataFrame:
    unknown = pl.format("item_id: unknown_item: {}", "item_id")
    rows = steps.refuse_orphans(rows, handed_in, REVISION, unknown, tallies[name])
    return steps.refuse_orphans(rows, good, REVISION, PARENT_QUARANTINED, tallies[name])


def _refuse_both_kinds(citations: pl.DataFrame, tallies: Tallies) -> pl.DataFrame:
    """One document cannot be required and forbidden for one item."""
    both = pl.col("kind").n_unique().over(*REVISION, "doc_id") > 1
    marked = citations.filter(both) if citations.height else citations
    if marked.is_empty():
        return citations
    reason = pl.format("kind: required_and_forbidden: {}", "doc_id")
    tallies["golden_citations"].put_aside(reject(marked, pl.lit(value=True), reason).quarantined)
    return citations.filter(~both)
