"""Load what a run produced: results and everything keyed by a result.

Bulk tables go through pieces on disk, so memory does not grow with the run. A run is frozen when
first written; good rows are loaded, bad ones are put aside with reasons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.assemble.load import pieces, run_facts
from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.existing import refuse_changed, settle
from crucible_batch.assemble.load.report import LoadReport, Tallies, refusal
from crucible_batch.assemble.load.session import Decision, Progress, Session
from crucible_batch.assemble.load.snapshots import canonical_snapshots, snapshot_row
from crucible_batch.assemble.load.staged import is_stored, part_rows, stage
from crucible_batch.contracts import TABLES, Table
from crucible_batch.contracts.validate import reject
from crucible_batch.errors import UsageError
from crucible_batch.formats.chunk import Findings
from crucible_batch.formats.verbs import VERB_TABLES, Verb
from crucible_batch.store import BulkFile, Snapshot, Store, content_fingerprint

RUN_TABLES = VERB_TABLES[Verb.RUN]
SAMPLE = ["item_id", "sample_index"]
JUDGED = ("assertion_verdicts", "claims")
UNKNOWN_JUDGE = "unknown"


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
    session = Session(
        store,
        Verb.RUN,
        paths,
        workspace=workspace,
        wanted=format,
        dry_run=dry_run,
        progress=progress,
    )
    with session.workspace.staging.folder() as folder:
        reading = session.read()
        spool = pieces.Spool(folder, reading.chunks)
        options = {"run_id": run, "golden_set": golden_set, "status": status}
        loading = _Loading(session, spool, reading.findings, options, part)
        return loading.commit()


@dataclass(frozen=True)
class _Facts:
    """What holds for all rows of the load."""

    run: dict[str, Any]
    ruler: run_facts.Ruler
    judge: str
    statement: run_facts.Statement


class _Loading:
    """One run on its way in; `commit` is called once."""

    def __init__(
        self,
        session: Session,
        spool: pieces.Spool,
        findings: Findings,
        options: dict[str, str | None],
        part: str | None,
    ) -> None:
        self.session, self.spool, self.findings, self.part = session, spool, findings, part
        self.tallies: Tallies = steps.tallies_for(
            name for name in RUN_TABLES if name in {*spool.bulk_tables, *spool.frames}
        )
        self.snapshot = session.workspace.snapshot()
        self.facts = self._facts(options)
        self.run_id: str = self.facts.run["run_id"]

    def commit(self) -> LoadReport:
        """Check, stage and commit everything."""
        parents, gone = self._results()
        good = {
            name: self._bulk(name, parents, gone)
            for name in self.spool.bulk_tables
            if name != "results"
        }
        events = {
            name: self._judged(name, parents, gone) for name in JUDGED if name in self.spool.frames
        }
        events |= self._plain("plugin_metrics")
        self._require_something()
        self.session.show("sorting")
        staged = stage(
            self.session.workspace, {"results": self._good_results, **good}, self.run_id, self.part
        )
        known_parts = {b.table: self.snapshot.parts(b.table, self.run_id) for b in staged}

        def decide(snapshot: Snapshot) -> Decision:
            return self._decide(snapshot, staged, events, known_parts)

        contents = [[b.table, b.fingerprint] for b in staged]
        contents += [[n, content_fingerprint(f, TABLES[n])] for n, f in sorted(events.items())]
        stated = [self.facts.statement.run, self.facts.statement.events.rows()]
        try:
            return self.session.commit(
                decide,
                self.tallies,
                key=[self.run_id, self.part, contents, str(stated)],
                subject=self.run_id,
                part=self.part,
            )
        finally:
            for bulk in staged:
                self.session.workspace.discard(bulk)

    def _facts(self, options: dict[str, str | None]) -> _Facts:
        statement = self._statement(options)
        run_id = statement.run["run_id"]
        stored = (
            self.snapshot.read("runs").filter(pl.col("run_id") == run_id).drop("_commit").collect()
        )
        run = run_facts.merged(statement.run, stored)
        ruler = run_facts.ruler(self.snapshot, run)
        run |= {"golden_set": ruler.golden_set, "golden_set_hash": ruler.golden_set_hash}
        known = pl.concat(
            [statement.snapshots, self.snapshot.read("config_snapshots").drop("_commit").collect()]
        )
        run = self._defaults(run)
        if run.get("target_snapshot_id") is None:
            row = snapshot_row("target", {"label": run.get("label") or run_id}, self.session.name)
            run["target_snapshot_id"] = row["snapshot_id"][0]
            statement = run_facts.with_snapshot(statement, row)
        run_facts.require_snapshots(run, pl.concat([known, statement.snapshots]))
        judge = run_facts.pinned_judge(run, known) or UNKNOWN_JUDGE
        return _Facts(run, ruler, judge, statement)

    def _statement(self, options: dict[str, str | None]) -> run_facts.Statement:
        """Everything the options and the input say of the run."""
        frames = {n: self._own(n) for n in ("runs", "run_events", "config_snapshots")}
        header = run_facts.from_header(
            self.findings.run or {}, self.findings.run_source or "", self.session.name
        )
        stated = dict(header.run)
        if frames["runs"].height > 1:
            raise UsageError("The input holds several runs", fix="load one run at a time.")
        if frames["runs"].height:
            stated = run_facts.from_row(frames["runs"]) | stated
        for name in ("run_id", "golden_set"):
            if options[name] is not None:
                if stated.get(name) not in {None, options[name]}:
                    raise UsageError(
                        f"The input says {name} {stated[name]!r}, "
                        f"the command says {options[name]!r}",
                        fix="leave the option out, or correct the input.",
                    )
                stated[name] = options[name]
        stated["run_id"] = stated.get("run_id") or self._run_id()
        stated["workspace_id"] = self.session.name
        events = pl.concat([frames["run_events"].select(run_facts.EVENTS.names), header.events])
        if options["status"] is not None:
            row = pl.DataFrame([{"status": options["status"]}], schema=run_facts.EVENTS.schema)
            events = pl.concat([events, row])
        snapshots = pl.concat(
            [frames["config_snapshots"].select(run_facts.SNAPSHOTS.names), header.snapshots]
        )
        return run_facts.Statement(
            run=stated, events=events, snapshots=snapshots.unique("snapshot_id")
        )

    def _own(self, name: str) -> pl.DataFrame:
        """Good rows of a small table about the run itself; these are refused, not put aside."""
        table = TABLES[name]
        frame = self.spool.frames.get(name)
        if frame is None:
            return table.empty()
        frame = steps.fill_constant(frame, "workspace_id", self.session.name, option="--workspace")
        if name == "config_snapshots":
            frame = canonical_snapshots(frame)
        run_facts.refuse_bad(table, frame)
        self.tallies[name].n_in = frame.height
        return frame

    def _run_id(self) -> str:
        found: set[str] = set()
        for name in self.spool.bulk_tables:
            found |= {str(value) for value in self.spool.values(name, "run_id")}
        for name in self.spool.frames:
            if "run_id" in TABLES[name].names:
                found |= set(self.spool.frames[name]["run_id"].drop_nulls())
        found = found or self.findings.tags
        if len(found) != 1:
            raise UsageError(
                "The input does not say which run it is of"
                if not found
                else "The input holds several runs",
                problems=sorted(found),
                fix="say --run ID." if not found else "load one run at a time.",
            )
        return found.pop()

    def _defaults(self, run: dict[str, Any]) -> dict[str, Any]:
        filled: dict[str, Any] = {name: run.get(name) for name in run_facts.RUNS.names}
        for flag, table in run_facts.FLAGS.items():
            if filled[flag] is None:
                filled[flag] = table in self.findings.reported or table in self.spool.bulk_tables
        if filled["samples_n"] is None:
            last = self.spool.values("results", "sample_index")
            filled["samples_n"] = max([0, *[v for v in last if isinstance(v, int)]]) + 1
        return filled

    def _fill(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = steps.fill_constant(frame, "workspace_id", self.session.name, option="--workspace")
        return steps.fill_constant(frame, "run_id", self.run_id, option="--run")

    def _results(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Check the results; return the keys of good ones (stored ones too) and of bad ones."""
        stored = self.snapshot.read("results", subject=self.run_id).select(SAMPLE).collect()
        self._good_results: list[Path] = []
        if "results" not in self.spool.bulk_tables:
            return stored, stored.clear()
        gives = self.facts.ruler.items.filter("has_contexts").select(
            "item_id", _gives=pl.lit(value=True)
        )
        items = self.facts.ruler.items.select("item_id")

        def fill(frame: pl.DataFrame) -> pl.DataFrame:
            joined = self._fill(frame).join(gives, on="item_id", how="left", maintain_order="left")
            ran = pl.coalesce("retrieval_ran", pl.col("_gives").is_null())
            return joined.with_columns(retrieval_ran=ran).drop("_gives")

        def check(frame: pl.DataFrame, tally: Any) -> pl.DataFrame:
            unknown = pl.format("item_id: unknown_item: {}", "item_id")
            known = steps.refuse_orphans(frame, items, ["item_id"], unknown, tally)
            beyond = pl.col("sample_index") >= self.facts.run["samples_n"]
            reason = pl.format("sample_index: sample_out_of_range: {}", "sample_index")
            return steps.keep(reject(known, beyond, reason), tally)

        table, tally = TABLES["results"], self.tallies["results"]
        good = pieces.checked(self.spool, table, self.spool.paths("results"), fill, check, tally)
        self._good_results = self._new_rows(table, good)
        parents = pl.concat([stored, pieces.rows_of(good, SAMPLE)]).unique()
        bad = [frame.select(SAMPLE) for frame in tally.quarantined]
        return parents, pl.concat([parents.clear(), *bad])

    def _bulk(self, name: str, parents: pl.DataFrame, gone: pl.DataFrame) -> list[Path]:
        table, tally = TABLES[name], self.tallies[name]

        def check(frame: pl.DataFrame, _: Any) -> pl.DataFrame:
            return self._with_parents(frame, parents, gone, name)

        keyed = set(SAMPLE) <= set(table.names)
        good = pieces.checked(
            self.spool,
            table,
            self.spool.paths(name),
            self._fill,
            check if keyed else (lambda frame, _: frame),
            tally,
        )
        return self._new_rows(table, good)

    def _judged(self, name: str, parents: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame:
        table = TABLES[name]
        frame = self._fill(self.spool.frames[name])
        frame = frame.with_columns(pl.col("judge").fill_null(self.facts.judge))
        rows = steps.admit(table, frame, self.tallies[name])
        rows = self._with_parents(rows, parents, gone, name)
        if name == "assertion_verdicts":
            unknown = pl.format("assertion_id: unknown_assertion: {}", "assertion_id")
            on = ["item_id", "assertion_id"]
            rows = steps.refuse_orphans(
                rows, self.facts.ruler.assertions, on, unknown, self.tallies[name]
            )
        return pieces.contract_rows(table, rows)

    def _plain(self, name: str) -> dict[str, pl.DataFrame]:
        """Rows of a small table that is not keyed by a result."""
        if name not in self.spool.frames:
            return {}
        frame = steps.fill_constant(
            self.spool.frames[name], "workspace_id", self.session.name, option="--workspace"
        )
        return {
            name: pieces.contract_rows(
                TABLES[name], steps.admit(TABLES[name], frame, self.tallies[name])
            )
        }

    def _with_parents(
        self, frame: pl.DataFrame, parents: pl.DataFrame, gone: pl.DataFrame, name: str
    ) -> pl.DataFrame:
        """Put aside rows whose result is not there, or was put aside."""
        if frame.is_empty():
            return frame
        parent = pl.format("{} sample {}", "item_id", "sample_index")
        tally = self.tallies[name]
        lost = frame.join(gone.unique(), on=SAMPLE, how="semi", nulls_equal=True)
        lost = lost.join(parents, on=SAMPLE, how="anti", nulls_equal=True)
        follow = pl.format("item_id: parent_quarantined: {}", parent)
        tally.put_aside(reject(lost, pl.lit(value=True), follow).quarantined)
        rest = frame.join(
            lost.select(SAMPLE).unique(),
            on=SAMPLE,
            how="anti",
            nulls_equal=True,
            maintain_order="left",
        )
        return steps.refuse_orphans(
            rest, parents, SAMPLE, pl.format("item_id: no_result: {}", parent), tally
        )

    def _new_rows(self, table: Table, paths: list[Path]) -> list[Path]:
        """Leave out rows that another part of the run holds already."""
        parts = self.snapshot.parts(table.name, self.run_id)
        others = [part for part in parts if part != self.part]
        if not others:
            return paths
        key = list(table.key)
        stored = pl.concat([part_rows(self.snapshot, table, self.run_id, part) for part in others])
        new = []
        for path, frame in pieces.frames_of(paths):
            there = stored.join(frame.lazy(), on=key, how="semi", nulls_equal=True).collect()
            refuse_changed(table, frame, there)
            fresh = frame.join(there, on=key, how="anti", nulls_equal=True)
            self.tallies[table.name].n_already_there += frame.height - fresh.height
            path.unlink()
            new.append(self.spool.write(table, fresh))
        return new

    def _require_something(self) -> None:
        tally = self.tallies.get("results")
        if tally and tally.n_in and tally.n_in == tally.n_quarantined:
            files = self.session.put_aside(self.tallies)
            raise refusal("run", self.tallies, files, lenient=False)

    def _decide(
        self,
        snapshot: Snapshot,
        staged: list[BulkFile],
        events: dict[str, pl.DataFrame],
        known_parts: dict[str, tuple[str | None, ...]],
    ) -> Decision:
        facts, there = self.facts, dict.fromkeys(self.tallies, 0)
        bulk = []
        for file in staged:
            if is_stored(snapshot, file, known_parts[file.table]):
                there[file.table] += file.n_rows
            else:
                bulk.append(file)
        key = {"workspace_id": self.session.name, "run_id": self.run_id}
        stored = self._stored(snapshot, "runs", "run_id")
        row = pl.DataFrame([facts.run | key], schema=run_facts.RUNS.schema)
        new: dict[str, pl.DataFrame] = {}
        new["runs"], there["runs"] = settle(TABLES["runs"], row, stored)
        new["run_events"], there["run_events"] = run_facts.new_events(
            facts.statement.events,
            self._stored(snapshot, "run_events", "run_id"),
            default="running" if self.part is not None else "succeeded",
            key=key,
        )
        for name, rows in {"config_snapshots": facts.statement.snapshots, **events}.items():
            subject = "run_id" if "run_id" in TABLES[name].names else None
            new[name], there[name] = settle(
                TABLES[name], rows, self._stored(snapshot, name, subject)
            )
        return Decision(
            events=new,
            bulk=bulk,
            already_there={name: n for name, n in there.items() if name in self.tallies},
            facts={
                "run_id": self.run_id,
                "golden_set": facts.run["golden_set"],
                "golden_set_hash": facts.run["golden_set_hash"],
                "samples_n": str(facts.run["samples_n"]),
            },
        )

    def _stored(self, snapshot: Snapshot, name: str, subject: str | None) -> pl.DataFrame:
        rows = snapshot.read(name).drop("_commit")
        return (rows.filter(pl.col(subject) == self.run_id) if subject else rows).collect()
