"""Load golden items with their assertions, concepts and citations: a revision per change.

Content that is already there is a no-op, changed content is a new revision, and the hash of the set
is recorded in the commit that changes it, so that old hashes resolve to old revisions for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.golden_plan import GOLDEN, ITEMS, GoldenPlan, plan_golden
from crucible_batch.assemble.load.golden_rows import admit_golden, of_no_item
from crucible_batch.assemble.load.report import LoadReport, Tally
from crucible_batch.assemble.load.session import Decision, Progress, Session
from crucible_batch.assemble.load.snapshots import snapshot_row
from crucible_batch.assemble.qrels import plan_qrels, snapshot_lanes
from crucible_batch.assemble.qrels_seed import required_documents
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.reasons import reason_lines
from crucible_batch.errors import ContractError
from crucible_batch.formats.verbs import Verb
from crucible_batch.store import Store
from crucible_batch.store.fingerprint import content_fingerprint
from crucible_batch.store.snapshot import Snapshot


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
        paths: Files, folders or globs: Parquet in contract shape, nested JSONL, YAML, gold-set
            JSON, topics.
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
        session.refuse_unconfined(of_no_item(items[ITEMS], tallies), tallies, "item")
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
    plan = plan_revisions(
        snapshot, items, now=session.workspace.now(), retire_missing=retire_missing
    )
    events = dict(plan.events)
    facts = _hash_facts(plan.hashes)
    if target is not None:
        row = snapshot_row("target", target, session.name)
        facts["target_snapshot_id"] = row["snapshot_id"][0]
        events["config_snapshots"] = _unless_there(row, snapshot)
    return Decision(
        events=events,
        already_there=plan.already_there,
        messages=plan.messages,
        facts=facts,
    )


def plan_revisions(
    snapshot: Snapshot,
    items: dict[str, pl.DataFrame],
    *,
    now: datetime,
    retire_missing: bool = False,
) -> GoldenPlan:
    """What loading admitted items appends, the provenance judgments of new citations included.

    Args:
        snapshot: What is stored.
        items: Good rows per table, as `admit_golden` gives them.
        now: Time of the judgments and their audit events.
        retire_missing: Retire items of the sets that are not among them.

    Raises:
        ConflictError: See `plan_golden`.
    """
    stored = {name: snapshot.read(name).drop("_commit").collect() for name in GOLDEN}
    versions = snapshot.read("golden_set_versions").drop("_commit").collect()
    plan = plan_golden(items, stored, versions, retire_missing=retire_missing)
    required = required_documents(
        plan.events["golden_citations"], plan.events[ITEMS], snapshot.workspace
    )
    lanes = snapshot_lanes(snapshot, required)
    qrels = plan_qrels(lanes, required, actor="provenance", now=now)
    return replace(
        plan,
        events={**plan.events, "qrels": qrels.fresh, "audit_log": qrels.audit},
        messages=(*plan.messages, *qrels.messages),
    )


def _hash_facts(hashes: dict[str, str]) -> dict[str, str]:
    if len(hashes) == 1:
        ((name, value),) = hashes.items()
        return {"golden_set": name, "golden_set_hash": value}
    return {f"golden_set_hash of {name}": value for name, value in hashes.items()}


def _unless_there(row: pl.DataFrame, snapshot: Snapshot) -> pl.DataFrame:
    stored = snapshot.keys("config_snapshots").collect()
    return row.join(stored, on=stored.columns, how="anti")
