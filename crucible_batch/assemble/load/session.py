"""One load from its paths to its commit: what all verbs of `crucible load` have in common."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import polars as pl

from crucible_batch.assemble.load.report import (
    LoadReport,
    Tallies,
    all_reasons,
    counts,
    refusal,
    table_reports,
)
from crucible_batch.assemble.progress import quiet
from crucible_batch.errors import ContractError, UnknownNameError, UsageError
from crucible_batch.formats import sources
from crucible_batch.formats.chunk import Chunk, Reading
from crucible_batch.formats.read import read
from crucible_batch.formats.trec import Lane
from crucible_batch.formats.verbs import Verb
from crucible_batch.settings import load_settings
from crucible_batch.store import (
    About,
    BulkFile,
    Committed,
    Plan,
    Snapshot,
    Store,
    Workspace,
    combined_hash,
)

Progress = Callable[[str], None]
"""Is told, in words, how far a long load has come."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a load appends, decided against one snapshot.

    Attributes:
        events: Rows of event tables.
        bulk: Staged files.
        already_there: Rows per table that are stored already.
        messages: What the person should know.
        facts: Ids and hashes of what was loaded.
    """

    events: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    bulk: Sequence[BulkFile] = ()
    already_there: Mapping[str, int] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


class Session:
    """A load under way; a context manager, because a dry run may need a store for its time.

    Attributes:
        workspace: Where the rows go; for a dry run into nowhere, a temporary empty one.
        inputs: The files.
        reading: The reading of them, once `read` was called.
    """

    def __init__(
        self,
        store: Store,
        verb: Verb,
        paths: Iterable[str | Path],
        *,
        workspace: str,
        wanted: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.show = progress or quiet
        self.store, self.verb, self.name, self.dry_run = store, verb, workspace, dry_run
        self.inputs, self.skipped = sources.find(paths, verb, _format(wanted))
        self.settings = load_settings(store.root, workspace)
        self._for_its_time = ExitStack()
        self.workspace = self._open()
        self.reading: Reading | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._for_its_time.close()

    def _open(self) -> Workspace:
        if not self.dry_run:
            return self.store.workspace(self.name, create=True)
        try:
            return self.store.workspace(self.name)
        except UnknownNameError:
            nowhere = tempfile.TemporaryDirectory(prefix="crucible-dry-run-")
            folder = Path(self._for_its_time.enter_context(nowhere))
            return Store.create(folder / "store").workspace(self.name, create=True)

    def read(self, lane: Lane | None = None) -> Reading:
        """Start reading the inputs."""
        reading = read(self.inputs, self.verb, lane=lane)
        self.reading = Reading(self._counted(reading.chunks), reading.findings)
        return self.reading

    def _counted(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        n_rows = 0
        for chunk in chunks:
            n_rows += chunk.frame.height
            self.show(f"{n_rows:,} rows read")
            yield chunk

    def refuse_unless(self, lenient: bool, tallies: Tallies, what: str) -> None:
        """Stop a load that takes all rows or none.

        Raises:
            ContractError: Rows were put aside and `lenient` is false; they are in quarantine.
        """
        if not lenient and any(tally.n_quarantined for tally in tallies.values()):
            raise refusal(what, tallies, self.put_aside(tallies))

    def refuse_unconfined(self, problems: Sequence[str], tallies: Tallies, parent: str) -> None:
        """Stop a load with bad rows that cannot be put aside together with what they belong to.

        Args:
            problems: The rows, in words.
            tallies: Where all rows went.
            parent: What they belong to: a result, an item, a query.

        Raises:
            ContractError: There are such rows; all that were refused are in quarantine.
        """
        if not problems:
            return
        files = self.put_aside(tallies)
        where = f" (they are in {', '.join(map(str, files))})" if files else ""
        raise ContractError(
            f"{len(problems):,} bad rows cannot be put aside with the {parent} they belong to: it "
            "is not named, or stored already; without them scores could be too high, so nothing "
            "was loaded",
            problems=problems,
            fix=f"correct the rows{where} and load the input again.",
        )

    def put_aside(self, tallies: Tallies) -> tuple[Path, ...]:
        """Write the rows of a load that is refused to quarantine, and say where."""
        return self._put_aside(tallies, self._key([]))

    def commit(
        self,
        decide: Callable[[Snapshot], Decision],
        tallies: Tallies,
        *,
        key: Sequence[object],
        subject: str | None = None,
        part: str | None = None,
    ) -> LoadReport:
        """Commit what `decide` says, or only say it (dry run).

        Args:
            decide: Called again whenever another writer came first; must not change anything.
            tallies: Rows in and put aside; the rest is accepted or already there.
            key: What makes this load the same as an earlier one.
            subject: The run or corpus version of bulk tables.
            part: Part of the subject.
        """
        load = self._key(key)
        decisions: list[Decision] = []

        def plan(snapshot: Snapshot) -> Plan:
            decision = decide(snapshot)
            decisions.append(decision)
            settled = _settle(tallies, decision.already_there)
            return Plan(
                events=decision.events,
                bulk=decision.bulk,
                messages=decision.messages,
                counts=counts(settled, self._surrogates()),
            )

        files = self._put_aside(tallies, load)
        done = self._dry(plan) if self.dry_run else self._commit(plan, load, subject, part)
        # An earlier load of this key is not decided on again, but people want its ids and hashes.
        decision = decisions[-1] if done.plan else decide(self.workspace.snapshot())
        there = decision.already_there if done.plan else _everything(tallies)
        return LoadReport(
            kind=self.verb.value,
            workspace=self.name,
            commit=None if self.dry_run else done.seq,
            created=done.created,
            dry_run=self.dry_run,
            tables=table_reports(_settle(tallies, there)),
            reasons=all_reasons(tallies),
            quarantine=files,
            messages=self._messages(decision, done),
            facts=decision.facts,
            n_replaced_surrogates=self._surrogates(),
        )

    def _commit(
        self, plan: Callable[[Snapshot], Plan], load: str, subject: str | None, part: str | None
    ) -> Committed:
        about = About(
            input_paths=[source.name for source in self.inputs],
            input_sha256=self._input_hashes,
            settings_hash=self.settings.hash,
            subject=subject,
            part=part,
        )
        return self.workspace.commit(
            plan, kind=f"load {self.verb.value}", idempotency_key=load, about=about
        )

    def _dry(self, plan: Callable[[Snapshot], Plan]) -> Committed:
        snapshot = self.workspace.snapshot()
        planned = plan(snapshot)
        return Committed(
            seq=snapshot.seq,
            created=False,
            plan=planned,
            counts=planned.counts,
            messages=planned.messages,
        )

    def _key(self, parts: Sequence[object]) -> str:
        about = {"verb": self.verb.value, "parts": list(parts)}
        if not parts:
            about["inputs"] = list(self._input_hashes)
        return f"{self.verb.value}-{combined_hash(about)[:24]}"

    def _put_aside(self, tallies: Tallies, load: str) -> tuple[Path, ...]:
        bad = {name: tally for name, tally in tallies.items() if tally.n_quarantined}
        if self.dry_run or not bad:
            return ()
        # Loads that share their good rows are one load; what was put aside of each is not.
        folder = self._key([load, self._input_hashes])
        return tuple(
            self.workspace.write_quarantine(folder, name, tally.all_quarantined())
            for name, tally in bad.items()
        )

    @cached_property
    def _input_hashes(self) -> list[str]:
        """SHA-256 of every input file, in order."""
        return [sources.sha256(source.path) for source in self.inputs]

    def _surrogates(self) -> int:
        return self.reading.findings.n_replaced_surrogates if self.reading else 0

    def _messages(self, decision: Decision, done: Committed) -> tuple[str, ...]:
        told = [*self._notes(), *decision.messages]
        if done.plan is None:
            told += done.messages
        elif not done.created and not self.dry_run:
            told.append("nothing new: every good row is already there (no-op)")
        return tuple(told)

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.skipped:
            named = ", ".join(str(path) for path in self.skipped[:5])
            more = f" and {len(self.skipped) - 5:,} more" if len(self.skipped) > 5 else ""
            why = "no known format, no file, or beside tables"
            notes.append(f"left aside, {why}: {named}{more}")
        if n := self._surrogates():
            notes.append(f"{n:,} lone surrogates were replaced by U+FFFD")
        return tuple(notes)


def _format(wanted: str | None) -> sources.Format | None:
    known = [member.value for member in sources.Format]
    if wanted is not None and wanted not in known:
        raise UsageError(f"No format is called {wanted!r}", fix=f"use one of {', '.join(known)}.")
    return sources.Format(wanted) if wanted else None


def _settle(tallies: Tallies, already_there: Mapping[str, int]) -> Tallies:
    """The tallies with rows that are stored already counted as such, and the rest accepted."""
    settled = {}
    for name, tally in tallies.items():
        there = tally.n_already_there + already_there.get(name, 0)
        settled[name] = replace(
            tally, n_already_there=there, n_accepted=tally.n_in - tally.n_quarantined - there
        )
    return settled


def _everything(tallies: Tallies) -> dict[str, int]:
    """All good rows, for a load that was committed before."""
    return {name: tally.n_good for name, tally in tallies.items()}
