"""Load relevance judgments and the chunk-to-document map; judgments are only ever appended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.existing import settle
from crucible_batch.assemble.load.report import LoadReport, Tallies, Tally
from crucible_batch.assemble.load.session import Decision, Progress, Session
from crucible_batch.assemble.load.whole import HERE, incomplete, nameless, refused_rows
from crucible_batch.assemble.qrels import (
    CHUNKS,
    QRELS,
    fill_lane,
    place,
    plan_qrels,
    snapshot_lanes,
)
from crucible_batch.contracts import TABLES, Table
from crucible_batch.contracts.conform import META
from crucible_batch.contracts.vocabulary import SOURCES
from crucible_batch.errors import UsageError
from crucible_batch.formats.sources import Format, Source
from crucible_batch.formats.trec import Lane
from crucible_batch.formats.verbs import Verb
from crucible_batch.store import Store
from crucible_batch.store.fingerprint import content_fingerprint
from crucible_batch.store.snapshot import Snapshot

QUERY = ["query_id"]
NO_LINES = pl.DataFrame(schema={name: META[name] for name in HERE})
JUDGMENT_QUARANTINED = pl.format("query_id: judgment_quarantined: {}", "_why")


def load_qrels(
    store: Store,
    paths: Iterable[str | Path],
    *,
    workspace: str = "default",
    source: str | None = None,
    judge: str | None = None,
    author: str | None = None,
    format: str | None = None,  # noqa: A002 (the option's name)
    lenient: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> LoadReport:
    """Load judgments into a store.

    Args:
        store: Where to.
        paths: Files, folders or globs: Parquet in contract shape, JSONL, TREC qrels.
        workspace: Workspace; made if it is not there.
        source: Source of TREC files, which do not say it: human if None.
        judge: Judge of TREC files; of an llm it is model@prompt_version.
        author: Who hands them in, for the audit log.
        format: How to read the files; found out when None.
        lenient: Load the good rows although others break their contract.
        dry_run: Say what would be committed and write nothing.
        progress: Is told how far the load has come.

    Raises:
        ContractError: Rows break their contract, and `lenient` is false.
        UsageError: `source` is no source, an llm's judge has no model and prompt version, or
            either is given for a file that is not TREC.
    """
    if source is not None and source not in SOURCES:
        raise UsageError(f"No source is called {source!r}", fix=f"use one of {', '.join(SOURCES)}.")
    with Session(
        store,
        Verb.QRELS,
        paths,
        workspace=workspace,
        wanted=format,
        dry_run=dry_run,
        progress=progress,
    ) as session:
        _require_trec(session.inputs, {"--source": source, "--judge": judge})
        found = steps.gather(session.read(Lane(source or "human", judge)).chunks)
        tallies: Tallies = steps.tallies_for(found)
        good = {
            table.name: _admit(table, found[table.name], workspace, tallies)
            for table in (QRELS, CHUNKS)
            if table.name in found
        }
        session.refuse_unless(lenient, tallies, "judgments")
        if QRELS.name in good:
            lost = nameless(_refused(tallies[QRELS.name]), NO_LINES)
            session.refuse_unconfined(lost, tallies, "query")
            good[QRELS.name] = _whole_queries(good[QRELS.name], tallies[QRELS.name])
        good = {name: steps.contract_rows(TABLES[name], rows) for name, rows in good.items()}

        def decide(snapshot: Snapshot) -> Decision:
            return _decide(snapshot, good, actor=author or "load", now=session.workspace.now())

        contents = [[name, content_fingerprint(rows, TABLES[name])] for name, rows in good.items()]
        return session.commit(decide, tallies, key=contents)


def _require_trec(inputs: Sequence[Source], options: Mapping[str, str | None]) -> None:
    """Refuse options that speak of TREC files where another file says it itself.

    Raises:
        UsageError: Names the options and the files.
    """
    given = [name for name, value in options.items() if value is not None]
    others = [source.name for source in inputs if source.format is not Format.TREC]
    if given and others:
        raise UsageError(
            f"{' and '.join(given)} would change nothing in files that are not TREC",
            problems=others,
            fix="leave the option out: the columns source and judge of the file say it.",
        )


def _decide(
    snapshot: Snapshot, good: dict[str, pl.DataFrame], *, actor: str, now: datetime
) -> Decision:
    events: dict[str, pl.DataFrame] = {}
    there: dict[str, int] = {}
    messages: tuple[str, ...] = ()
    if "chunks" in good:
        stored = snapshot.read("chunks").drop("_commit").collect()
        events["chunks"], there["chunks"] = settle(CHUNKS, good["chunks"], stored)
    if "qrels" in good:
        placed = place(good["qrels"], snapshot, events.get("chunks", CHUNKS.empty()))
        plan = plan_qrels(snapshot_lanes(snapshot, placed), placed, actor=actor, now=now)
        events |= {"qrels": plan.fresh, "audit_log": plan.audit}
        there["qrels"], messages = plan.n_already_there, plan.messages
    return Decision(events=events, already_there=there, messages=messages)


def _admit(table: Table, frame: pl.DataFrame, workspace: str, tallies: Tallies) -> pl.DataFrame:
    rows = steps.fill_constant(frame, "workspace_id", workspace, option="--workspace")
    later = ("qrel_id", "created_at") if table is QRELS else ()
    rows = fill_lane(rows) if table is QRELS else rows
    return steps.admit(table, rows, tallies[table.name], later=later)


def _whole_queries(rows: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Leave out the judgments on queries that lack a refused one: fewer make a softer ruler."""
    lacking = incomplete(_refused(tally), rows.select(*QUERY, *HERE), NO_LINES, QUERY)
    return steps.refuse_among(rows, lacking, QUERY, JUDGMENT_QUARANTINED, tally)


def _refused(tally: Tally) -> dict[str, pl.LazyFrame]:
    return refused_rows({QRELS.name: tally}, QUERY)
