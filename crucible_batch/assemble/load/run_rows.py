"""The rows of one run, checked table by table: results first, then what is keyed by them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load import pieces
from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.existing import refuse_changed
from crucible_batch.assemble.load.report import Tallies, Tally
from crucible_batch.assemble.load.run_facts import Facts
from crucible_batch.assemble.load.staged import part_rows
from crucible_batch.assemble.load.whole import (
    CHILD_QUARANTINED,
    HERE,
    incomplete,
    nameless,
    refused_rows,
)
from crucible_batch.contracts import TABLES, Table
from crucible_batch.contracts.conform import META
from crucible_batch.contracts.validate import reject
from crucible_batch.store import Snapshot

SAMPLE = ["item_id", "sample_index"]
VERDICTS = "assertion_verdicts"
JUDGED = (VERDICTS, "claims")
RESULTS_AND_META = {**TABLES["results"].schema, **META}
RESULT = pl.format("{} sample {}", "item_id", "sample_index")
NO_RESULT = pl.format("item_id: no_result: {}", RESULT)
PARENT_QUARANTINED = pl.format("item_id: parent_quarantined: {}", RESULT)


class RunRows:
    """Checks the rows of one run and keeps the good ones.

    Attributes:
        good: Pieces of good and new rows per bulk table; filled by `check`.
        events: Good rows per event table; filled by `check`.
        unconfined: Refused rows, in words, that no result of this load can be refused for; filled
            by `check`.
    """

    def __init__(
        self,
        spool: pieces.Spool,
        facts: Facts,
        snapshot: Snapshot,
        part: str | None,
        tallies: Tallies,
    ) -> None:
        self._spool, self._facts, self._snapshot = spool, facts, snapshot
        self._part, self._tallies = part, tallies
        self._run_id = facts.statement.run_id
        self._stored = snapshot.read("results", subject=self._run_id).select(SAMPLE).collect()
        self._parents, self._gone = self._stored, self._stored.clear()
        self._gone_lines = pl.DataFrame(schema={name: META[name] for name in HERE})
        self.good: dict[str, list[Path]] = {}
        self.events: dict[str, pl.DataFrame] = {}
        self.unconfined: tuple[str, ...] = ()

    def check(self) -> None:
        """Check every table of the input that is not about the run itself."""
        if "results" in self._spool.bulk_tables:
            self._check_results()
        for name in self._spool.bulk_tables:
            if name != "results":
                self.good[name] = self._bulk(TABLES[name])
        for name in JUDGED:
            if name in self._spool.frames:
                self.events[name] = self._judged(TABLES[name])
        self._refuse_incomplete()
        self.good = {
            name: self._new_rows(TABLES[name], pieces) for name, pieces in self.good.items()
        }
        if VERDICTS in self.events:
            self.events[VERDICTS] = self._of_assertions(self.events[VERDICTS])
        for name in self.events:
            self.events[name] = steps.contract_rows(TABLES[name], self.events[name])
        if "plugin_metrics" in self._spool.frames:
            self.events["plugin_metrics"] = self._declarations(TABLES["plugin_metrics"])

    @property
    def n_missing(self) -> int:
        """Expected results that are neither stored nor good."""
        expected = self._facts.ruler.items.select("item_id")
        there = self._parents.join(expected, on="item_id", how="semi")
        return expected.height * int(self._facts.run["samples_n"]) - there.height

    def _fill(self, frame: pl.DataFrame) -> pl.DataFrame:
        workspace = self._snapshot.workspace
        frame = steps.fill_constant(frame, "workspace_id", workspace, option="--workspace")
        return steps.fill_constant(frame, "run_id", self._run_id, option="--run")

    def _check_results(self) -> None:
        """Check the results, and learn which ones are there and which were put aside."""
        ruler, samples_n = self._facts.ruler, self._facts.run["samples_n"]
        gives = ruler.items.filter("has_contexts").select("item_id", _gives=pl.lit(value=True))

        def fill(frame: pl.DataFrame) -> pl.DataFrame:
            joined = self._fill(frame).join(gives, on="item_id", how="left", maintain_order="left")
            ran = pl.coalesce("retrieval_ran", pl.col("_gives").is_null())
            return joined.with_columns(retrieval_ran=ran).drop("_gives")

        def check(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
            unknown = pl.format("item_id: unknown_item: {}", "item_id")
            known = steps.refuse_orphans(frame, ruler.items, ["item_id"], unknown, tally)
            beyond = pl.col("sample_index") >= samples_n
            reason = pl.format("sample_index: sample_out_of_range: {}", "sample_index")
            return steps.keep(reject(known, beyond, reason), tally)

        table, tally = TABLES["results"], self._tallies["results"]
        paths = self._spool.paths(table.name)
        good = pieces.checked(self._spool, table, paths, fill, check, tally)
        bad = [piece.select(*SAMPLE, *HERE).collect() for piece in tally.pieces]
        self._parents = pl.concat([self._parents, pieces.rows_of(good, SAMPLE)]).unique()
        self._gone = pl.concat([self._gone, *[rows.select(SAMPLE) for rows in bad]]).unique()
        lines = [self._gone_lines, *[rows.select(HERE) for rows in bad]]
        self._gone_lines = pl.concat(lines).unique()
        self.good[table.name] = good

    def _bulk(self, table: Table) -> list[Path]:
        def check(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
            keyed = set(SAMPLE) <= set(table.names)
            return self._with_parents(frame, tally) if keyed else frame

        paths, tally = self._spool.paths(table.name), self._tallies[table.name]
        return pieces.checked(self._spool, table, paths, self._fill, check, tally)

    def _judged(self, table: Table) -> pl.DataFrame:
        tally = self._tallies[table.name]
        frame = self._fill(self._spool.frames[table.name])
        frame = frame.with_columns(pl.col("judge").fill_null(self._facts.judge))
        return steps.admit(table, frame, tally, check=self._with_parents)

    def _of_assertions(self, verdicts: pl.DataFrame) -> pl.DataFrame:
        """Put aside verdicts on no assertion of the pinned set: nothing would count them."""
        unknown = pl.format("assertion_id: unknown_assertion: {}", "assertion_id")
        known, on = self._facts.ruler.assertions, ["item_id", "assertion_id"]
        return steps.refuse_orphans(verdicts, known, on, unknown, self._tallies[VERDICTS])

    def _refuse_incomplete(self) -> None:
        """Put aside the results that lack a refused row, with all their rows.

        A result of an earlier load cannot be taken back: its refused rows are `unconfined`. A lost
        verdict alone harms no stored result, because it leaves its assertion unjudged.
        """
        children = {n: t for n, t in self._tallies.items() if {*SAMPLE} <= {*TABLES[n].names}}
        results = children.pop("results", Tally())
        refused = refused_rows(children, SAMPLE)
        if not refused:
            return
        handed_in = self._handed_in(results)
        lines = pl.concat(
            [handed_in.select(HERE), *[piece.select(HERE).collect() for piece in results.pieces]]
        )
        lasting = self._stored.join(handed_in, on=SAMPLE, how="left")
        harmful = {name: rows for name, rows in refused.items() if name != VERDICTS}
        spoilt = incomplete(harmful, lasting, lines, SAMPLE)
        self.unconfined = (*nameless(refused, lines), *spoilt["_why"])
        fresh = handed_in.join(self._stored, on=SAMPLE, how="anti")
        self._drop(incomplete(refused, fresh, lines, SAMPLE))

    def _handed_in(self, results: Tally) -> pl.DataFrame:
        """Key and place of the good results of this load, copies among them."""
        columns = [*SAMPLE, *HERE]
        none = pl.DataFrame(schema={name: RESULTS_AND_META[name] for name in columns})
        good = [pieces.rows_of([path], columns) for path in self.good.get("results", [])]
        copies = [rows.select(columns).collect() for rows in results.copies]
        return pl.concat([none, *good, *copies])

    def _drop(self, results: pl.DataFrame) -> None:
        """Put results and all their rows aside; `results` says why."""
        if results.is_empty():
            return
        self._parents = self._parents.join(results, on=SAMPLE, how="anti")

        def take(table: str, rows: pl.DataFrame) -> pl.DataFrame:
            why = CHILD_QUARANTINED if table == "results" else PARENT_QUARANTINED
            return steps.refuse_among(rows, results, SAMPLE, why, self._tallies[table])

        for name, paths in self.good.items():
            if {*SAMPLE} <= {*TABLES[name].names}:
                self.good[name] = pieces.changed(
                    self._spool, TABLES[name], paths, partial(take, name)
                )
        for name in JUDGED:
            if name in self.events:
                self.events[name] = take(name, self.events[name])

    def _declarations(self, table: Table) -> pl.DataFrame:
        """Rows of a table that is not of one run."""
        frame = steps.fill_constant(
            self._spool.frames[table.name],
            "workspace_id",
            self._snapshot.workspace,
            option="--workspace",
        )
        return steps.contract_rows(table, steps.admit(table, frame, self._tallies[table.name]))

    def _with_parents(self, frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
        """Put aside rows whose result is not there, or was put aside."""
        if frame.is_empty():
            return frame
        nested = steps.refuse_among(frame, self._gone_lines, HERE, PARENT_QUARANTINED, tally)
        lost = self._gone.join(self._parents, on=SAMPLE, how="anti")
        rest = steps.refuse_among(nested, lost, SAMPLE, PARENT_QUARANTINED, tally)
        return steps.refuse_orphans(rest, self._parents, SAMPLE, NO_RESULT, tally)

    def _new_rows(self, table: Table, paths: list[Path]) -> list[Path]:
        """Leave out rows that another part of the run holds already."""
        parts = self._snapshot.parts(table.name, self._run_id)
        others = [part for part in parts if part != self._part]
        if not others:
            return paths
        key = list(table.key)
        stored = pl.concat(
            [part_rows(self._snapshot, table, self._run_id, part) for part in others]
        )
        new = []
        for path in paths:
            frame = pl.read_parquet(path, glob=False)
            path.unlink()
            there = stored.join(frame.lazy(), on=key, how="semi", nulls_equal=True).collect(
                engine="streaming"
            )
            refuse_changed(table, frame, there)
            fresh = frame.join(there, on=key, how="anti", nulls_equal=True)
            self._tallies[table.name].n_already_there += frame.height - fresh.height
            new.append(self._spool.write(table, fresh))
        return new
