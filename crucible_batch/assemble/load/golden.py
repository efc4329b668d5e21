"""Load golden items with their assertions, concepts and citations: a revision per change.

Content that is already there is a no-op, changed content is a new revision, and the hash of the set
is recorded in the commit that changes it, so that old hashes resolve to old revisions for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.golden_plan import CHILDREN, GIVEN, GOLDEN, ITEMS, plan_golden
from crucible_batch.assemble.load.qrels import fill_lane
from crucible_batch.assemble.load.report import LoadReport, Tallies, Tally
from crucible_batch.assemble.load.session import Decision, Progress, Session
from crucible_batch.assemble.load.snapshots import snapshot_row
from crucible_batch.assemble.qrels import plan_qrels, snapshot_lanes
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.conform import complete
from crucible_batch.contracts.reasons import reason_lines
from crucible_batch.contracts.validate import reject
from crucible_batch.errors import ContractError
from crucible_batch.formats.verbs import Verb
from crucible_batch.store import Store
from crucible_batch.store.fingerprint import canonical_json, content_fingerprint
from crucible_batch.store.snapshot import Snapshot

DEFAULT_SET = "default"
REVISION = ["item_id", "revision"]
PROVENANCE_GRADE = 3


def load_golden(
    store: Store,
    paths: Iterable[str | Path],
    *,
    workspace: str = "default",
    golden_set: str | None = None,
    format: str | None = None,  # noqa: A002 (the option's name)
    lenient: bool = False,
    retire_missing: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> LoadReport:
    """Load golden items into a store.

    Args:
        store: Where to.
        paths: Files, folders or globs: Parquet in contract shape, nested JSONL, gold-set JSON,
            topics.
        workspace: Workspace; made if it is not there.
        golden_set: Name of the set where the input does not say; `default` if nobody does.
        format: How to read the files; found out when None.
        lenient: Load the good rows although others break their contract.
        retire_missing: Retire items of the set that the input does not hold.
        dry_run: Say what would be committed and write nothing.
        progress: Is told how far the load has come.

    Raises:
        ContractError: Rows break their contract, and `lenient` is false; or no item is left.
        ConflictError: A stated revision is there with other content, or an id belongs to another
            set with another question.
    """
    with Session(
        store,
        Verb.GOLDEN,
        paths,
        workspace=workspace,
        wanted=format,
        dry_run=dry_run,
        progress=progress,
    ) as session:
        reading = session.read()
        found = steps.gather(reading.chunks)
        items, tallies = admit_golden(found, workspace, golden_set)
        session.refuse_unless(lenient, tallies, "golden set")
        _require_items(items[ITEMS], tallies[ITEMS], retire_missing=retire_missing)

        def decide(snapshot: Snapshot) -> Decision:
            return _decide(snapshot, items, reading.findings.target, session, retire_missing)

        # The key says what was there before: loading an earlier state again is a change, no repeat.
        before = session.workspace.snapshot().commits_with(ITEMS)
        contents = [content_fingerprint(items[name], TABLES[name]) for name in GOLDEN]
        key = [contents, retire_missing, max(before, default=0)]
        return session.commit(decide, tallies, key=key)


def _require_items(items: pl.DataFrame, tally: Tally, *, retire_missing: bool) -> None:
    if items.is_empty():
        raise ContractError("No golden item is left to load", fix="correct the rows and try again.")
    if retire_missing and tally.n_quarantined:
        raise ContractError(
            "Which items are missing cannot be told: some of them cannot be read",
            problems=reason_lines(tally.reasons),
            fix="correct the items, or load without --retire-missing.",
        )


def _decide(
    snapshot: Snapshot,
    items: dict[str, pl.DataFrame],
    target: dict[str, int] | None,
    session: Session,
    retire_missing: bool,
) -> Decision:
    stored = {name: snapshot.read(name).drop("_commit").collect() for name in GOLDEN}
    versions = snapshot.read("golden_set_versions").drop("_commit").collect()
    plan = plan_golden(items, stored, versions, retire_missing=retire_missing)
    required = _provenance(plan.events["golden_citations"], plan.events[ITEMS], session.name)
    lanes = snapshot_lanes(snapshot, required)
    qrels = plan_qrels(lanes, required, actor="provenance", now=session.workspace.now())
    events = {**plan.events, "qrels": qrels.fresh, "audit_log": qrels.audit}
    facts = _hash_facts(plan.hashes)
    if target is not None:
        row = snapshot_row("target", target, session.name)
        facts["target_snapshot_id"] = row["snapshot_id"][0]
        events["config_snapshots"] = _unless_there(row, snapshot)
    return Decision(
        events=events,
        already_there=plan.already_there,
        messages=(*plan.messages, *qrels.messages),
        facts=facts,
    )


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
    return good, tallies


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
    gone = pl.format("item_id: parent_quarantined: {}", "item_id")
    return steps.refuse_orphans(rows, good, REVISION, gone, tallies[name])


def _refuse_both_kinds(citations: pl.DataFrame, tallies: Tallies) -> pl.DataFrame:
    """One document cannot be required and forbidden for one item."""
    both = pl.col("kind").n_unique().over(*REVISION, "doc_id") > 1
    marked = citations.filter(both) if citations.height else citations
    if marked.is_empty():
        return citations
    reason = pl.format("kind: required_and_forbidden: {}", "doc_id")
    tallies["golden_citations"].put_aside(reject(marked, pl.lit(value=True), reason).quarantined)
    return citations.filter(~both)


def _provenance(citations: pl.DataFrame, items: pl.DataFrame, workspace: str) -> pl.DataFrame:
    """A grade 3 for every document that an item requires to be cited."""
    active = items.filter(~pl.col("retired")).select(REVISION)
    required = citations.filter(pl.col("kind") == "required")
    lanes = (
        required.join(active, on=REVISION, how="semi")
        .select(query_id="item_id", doc_id="doc_id")
        .unique()
        .with_columns(
            workspace_id=pl.lit(workspace),
            source=pl.lit("provenance"),
            grade=pl.lit(PROVENANCE_GRADE, pl.Int64),
        )
    )
    return fill_lane(complete(TABLES["qrels"], lanes))


def _hash_facts(hashes: dict[str, str]) -> dict[str, str]:
    if len(hashes) == 1:
        ((name, value),) = hashes.items()
        return {"golden_set": name, "golden_set_hash": value}
    return {f"golden_set_hash of {name}": value for name, value in hashes.items()}


def _unless_there(row: pl.DataFrame, snapshot: Snapshot) -> pl.DataFrame:
    stored = snapshot.keys("config_snapshots").collect()
    return row.join(stored, on=stored.columns, how="anti")
