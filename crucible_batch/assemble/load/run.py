"""Load what a run produced: results and everything keyed by a result.

Bulk tables go through pieces on disk, so memory does not grow with the run. A run is frozen when
first written; good rows are loaded, bad ones are put aside with reasons.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load import pieces, run_facts
from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.existing import OvertakenError, settle
from crucible_batch.assemble.load.report import LoadReport, Tallies, Tally, refusal
from crucible_batch.assemble.load.run_facts import Facts
from crucible_batch.assemble.load.run_rows import RunRows
from crucible_batch.assemble.load.run_statement import (
    EVENTS,
    RUNS,
    SNAPSHOTS,
    Options,
    n_in_table,
    read_statement,
)
from crucible_batch.assemble.load.session import Decision, Progress, Session
from crucible_batch.assemble.load.staged import is_stored, stage
from crucible_batch.contracts import TABLES
from crucible_batch.formats.verbs import VERB_TABLES, Verb
from crucible_batch.store import BulkFile, Snapshot, Store, content_fingerprint

UNFINISHED = (None, "running")
"""Statuses, as the command gives them, after which another part may come."""

TRIES = 5
"""How often a load that another load of the run overtakes starts again."""


def load_run(
    store: Store,
    paths: Iterable[str | Path],
    *,
    workspace: str = "default",
    run: str | None = None,
    golden_set: str | None = None,
    part: str | None = None,
    status: str | None = None,
    format: str | None = None,  # noqa: A002 (the option's name)
    dry_run: bool = False,
    progress: Progress | None = None,
) -> LoadReport:
    """Load the output of one run into a store.

    Args:
        store: Where to.
        paths: Files, folders or globs: Parquet in contract shape, nested JSONL, TREC runs.
        workspace: Workspace; made if it is not there.
        run: Id of the run where the input does not say.
        golden_set: Golden set the run answers, where the input does not say.
        part: Name of this part of a run that is loaded in parts.
        status: Status of the run from now on; a new run without one has succeeded, or is running
            when it is loaded in parts.
        format: How to read the files; found out when None.
        dry_run: Say what would be committed and write nothing.
        progress: Is told how far the load has come.

    Raises:
        ContractError: The input cannot be read, the golden-set hash is unknown, or no result is
            good.
        ConflictError: Rows are stored already with other content.
        UsageError: The input does not say which run or golden set it is of.
    """
    options = Options(run_id=run, golden_set=golden_set, status=status, part=part)
    options.check()
    inputs = list(paths)
    for tries_left in reversed(range(TRIES)):
        try:
            with (
                Session(
                    store,
                    Verb.RUN,
                    inputs,
                    workspace=workspace,
                    wanted=format,
                    dry_run=dry_run,
                    progress=progress,
                ) as session,
                session.workspace.staging.folder() as folder,
            ):
                return _Loading(session, folder, options).commit()
        except OvertakenError:
            if not tries_left:
                raise
    raise AssertionError("unreachable: the last try returns or raises")


class _Loading:
    """One run on its way in; `commit` is called once."""

    def __init__(self, session: Session, folder: Path, options: Options) -> None:
        self.session, self.part = session, options.part
        reading = session.read()
        spool = pieces.Spool(folder, reading.chunks)
        self.tallies: Tallies = steps.tallies_for(
            [n for n in VERB_TABLES[Verb.RUN] if n in {*spool.bulk_tables, *spool.frames}], folder
        )
        self.snapshot = session.workspace.snapshot()
        statement = read_statement(spool, reading.findings, options, session.name, self.tallies)
        self.facts: Facts = run_facts.establish(
            self.snapshot,
            statement,
            reported=reading.findings.reported | set(spool.bulk_tables),
            samples_seen=_samples_seen(spool),
        )
        self.run_id = statement.run_id
        self.rows = RunRows(spool, self.facts, self.snapshot, self.part, self.tallies)

    def commit(self) -> LoadReport:
        """Check, stage and commit everything."""
        self.rows.check()
        self.session.refuse_unconfined(self.rows.unconfined, self.tallies, "result")
        self._require_something()
        self.session.show("sorting")
        staged = stage(self.session.workspace, self.rows.good, self.run_id, self.part)
        known_parts = {b.table: self.snapshot.parts(b.table, self.run_id) for b in staged}

        def decide(snapshot: Snapshot) -> Decision:
            return self._decide(snapshot, staged, known_parts)

        try:
            return self.session.commit(
                decide,
                self.tallies,
                key=self._key(staged),
                subject=self.run_id,
                part=self.part,
            )
        finally:
            for bulk in staged:
                self.session.workspace.discard(bulk)

    def _key(self, staged: list[BulkFile]) -> list[object]:
        """What makes two loads the same: the rows, and what is said of the run."""
        statement = self.facts.statement
        contents = [[b.table, b.fingerprint] for b in staged]
        contents += [
            [name, content_fingerprint(frame, TABLES[name])]
            for name, frame in sorted(self.rows.events.items())
        ]
        stated = str([sorted(statement.run.items()), sorted(map(str, statement.events.rows()))])
        key: list[object] = [self.run_id, self.part, contents, stated]
        if statement.status is not None:  # holds from now on: the same words later are news
            events = run_facts.stored_rows(self.snapshot, "run_events", self.run_id)
            key += [statement.status, max([0, *events["seq"]])]
        return key

    def _require_something(self) -> None:
        """Refuse a load of which all results, or all rows, are bad."""
        about_the_run = {RUNS.name, EVENTS.name, SNAPSHOTS.name}
        tallies = [tally for name, tally in self.tallies.items() if name not in about_the_run]
        n_bad = sum(tally.n_quarantined for tally in tallies)
        results = self.tallies.get("results", Tally())
        no_result = results.n_quarantined and results.n_quarantined == results.n_in
        if no_result or (n_bad and n_bad == sum(tally.n_in for tally in tallies)):
            files = self.session.put_aside(self.tallies)
            raise refusal("run", self.tallies, files, lenient=False)

    def _decide(
        self,
        snapshot: Snapshot,
        staged: list[BulkFile],
        known_parts: dict[str, tuple[str | None, ...]],
    ) -> Decision:
        statement, there = self.facts.statement, dict.fromkeys(self.tallies, 0)
        bulk = [file for file in staged if not is_stored(snapshot, file, known_parts[file.table])]
        for file in staged:
            there[file.table] += 0 if file in bulk else file.n_rows
        new: dict[str, pl.DataFrame] = {}
        new["runs"], there["runs"] = self._run_row(snapshot)
        new["run_events"], there["run_events"] = run_facts.new_events(
            statement,
            run_facts.stored_rows(snapshot, "run_events", self.run_id),
            default="succeeded" if self.part is None else "running",
        )
        stored = snapshot.read("config_snapshots").drop("_commit").collect()
        fresh, _ = settle(SNAPSHOTS, statement.snapshots, stored)
        there["config_snapshots"] = n_in_table(statement.snapshots) - n_in_table(fresh)
        new["config_snapshots"] = steps.contract_rows(SNAPSHOTS, fresh)
        for name, rows in self.rows.events.items():
            known = snapshot.read(name).drop("_commit")
            if "run_id" in TABLES[name].names:
                known = known.filter(pl.col("run_id") == self.run_id)
            new[name], there[name] = settle(TABLES[name], rows, known.collect())
        return Decision(
            events=new,
            bulk=bulk,
            already_there={name: n for name, n in there.items() if name in self.tallies},
            messages=self._messages(),
            facts={
                "run_id": self.run_id,
                "golden_set": self.facts.run["golden_set"],
                "golden_set_hash": self.facts.run["golden_set_hash"],
                "samples_n": str(self.facts.run["samples_n"]),
            },
        )

    def _messages(self) -> tuple[str, ...]:
        """What is not there, of a run that expects no further part."""
        n_missing, samples_n = self.rows.n_missing, self.facts.run["samples_n"]
        if not n_missing or (self.part is not None and self.facts.statement.status in UNFINISHED):
            return ()
        n_items = self.facts.ruler.items.height
        what = f"{n_items:,} items have no result"
        if samples_n > 1:
            n_results = n_items * samples_n
            what = f"{n_results:,} results ({n_items:,} items × {samples_n} samples) are not there"
        return (f"{n_missing:,} of {what}; they will count as missing",)

    def _run_row(self, snapshot: Snapshot) -> tuple[pl.DataFrame, int]:
        """The row of `runs` if it is new, and how many rows of the input's table are stored."""
        row = pl.DataFrame([self.facts.run], schema=RUNS.schema)
        stored = run_facts.stored_rows(snapshot, "runs", self.run_id)
        if stored.is_empty():
            return row, 0
        run_facts.merged(self.facts.statement.run, stored)
        if not stored.select(RUNS.content).equals(row.select(RUNS.content)):
            raise OvertakenError(
                f"Another load wrote run {self.run_id!r} meanwhile",
                fix="run the command again: its rows are compared with what is there now.",
            )
        return row.clear(), 1


def _samples_seen(spool: pieces.Spool) -> int:
    found = spool.values("results", "sample_index")
    return max([0, *[value for value in found if isinstance(value, int)]]) + 1
