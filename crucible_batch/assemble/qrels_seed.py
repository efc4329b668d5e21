"""Judgments that follow from a golden set: whoever requires a document to be cited grades it 3."""

from __future__ import annotations

import polars as pl

from crucible_batch.assemble.qrels import QrelAppend, append_qrels, fill_lane
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.conform import complete
from crucible_batch.errors import UnknownNameError
from crucible_batch.store import Snapshot, Store

GRADE = 3
"""Grade of a document that an item requires to be cited."""

REVISION = ["item_id", "revision"]
ACTOR = "provenance"


def seed_qrels(store: Store, workspace: str, golden_set: str | None = None) -> QrelAppend:
    """Append the provenance judgments of all active golden items that are not there yet.

    Loading golden items does this for what it loads; this is for citations that were stored
    without their judgments.

    Args:
        store: The store.
        workspace: Workspace of the golden items.
        golden_set: Only items of this set; all when None.

    Raises:
        UnknownNameError: No such workspace, or no active item in a set of this name.
    """
    opened = store.workspace(workspace)
    snapshot = opened.snapshot()
    items = active_items(snapshot, golden_set)
    citations = snapshot.read("golden_citations").collect()
    required = required_documents(citations, items, workspace)
    return append_qrels(opened, required, actor=ACTOR, kind="seed.qrels")


def active_items(snapshot: Snapshot, golden_set: str | None = None) -> pl.DataFrame:
    """The newest revision of every item that is not retired, sorted by item_id.

    Raises:
        UnknownNameError: `golden_set` names no set with an active item.
    """
    rows = snapshot.read("golden_items").drop("_commit").sort(*REVISION)
    newest = rows.group_by("item_id", maintain_order=True).last().collect()
    active = newest.filter(~pl.col("retired")).select(TABLES["golden_items"].names)
    if golden_set is None:
        return active
    own = active.filter(pl.col("golden_set") == golden_set)
    if own.is_empty():
        raise UnknownNameError("golden set", golden_set, sorted(set(active["golden_set"])))
    return own


def required_documents(
    citations: pl.DataFrame, items: pl.DataFrame, workspace: str
) -> pl.DataFrame:
    """A judgment for every document that an active item requires to be cited.

    Args:
        citations: Rows of `golden_citations`.
        items: Rows of `golden_items`; citations of other revisions, and of retired ones, are
            left out.
        workspace: Fills workspace_id.

    Returns:
        Rows of `qrels` without ids and times, one per item and document.
    """
    active = items.filter(~pl.col("retired")).select(REVISION)
    lanes = (
        citations.filter(pl.col("kind") == "required")
        .join(active, on=REVISION, how="semi")
        .select(query_id="item_id", doc_id="doc_id")
        .unique()
        .with_columns(
            workspace_id=pl.lit(workspace),
            source=pl.lit("provenance"),
            grade=pl.lit(GRADE, pl.Int64),
        )
    )
    return fill_lane(complete(TABLES["qrels"], lanes))
