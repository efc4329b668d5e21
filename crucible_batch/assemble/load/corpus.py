"""Load a version of the corpus: its documents, entities and mentions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.assemble.load import pieces
from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.existing import settle
from crucible_batch.assemble.load.report import LoadReport, Tallies, Tally, refusal
from crucible_batch.assemble.load.session import Decision, Progress, Session
from crucible_batch.assemble.load.staged import is_stored, stage
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.reasons import count_reasons, reason_lines
from crucible_batch.contracts.validate import split
from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats.verbs import VERB_TABLES, Verb
from crucible_batch.store import Snapshot, Store, content_fingerprint

VERSIONS, CHUNKS = TABLES["corpus_versions"], TABLES["chunks"]
COUNTED = {"n_documents": "documents", "n_entities": "entities"}


def load_corpus(
    store: Store,
    paths: Iterable[str | Path],
    *,
    workspace: str = "default",
    corpus_version: str | None = None,
    observed_at: datetime | None = None,
    partial: bool = False,
    format: str | None = None,  # noqa: A002 (the option's name)
    dry_run: bool = False,
    progress: Progress | None = None,
) -> LoadReport:
    """Load one corpus version into a store.

    Args:
        store: Where to.
        paths: Files, folders or globs: Parquet or JSONL, one file per table.
        workspace: Workspace; made if it is not there.
        corpus_version: Name of the version, where the input does not say.
        observed_at: When the corpus was looked at (UTC), where the input does not say; now if
            nobody says.
        partial: The listing is not complete: it takes no part in drift.
        format: How to read the files; found out when None.
        dry_run: Say what would be committed and write nothing.
        progress: Is told how far the load has come.

    Raises:
        ContractError: The input cannot be read, or its row of corpus_versions is wrong.
        ConflictError: The version is stored already with other content.
        UsageError: The input does not say which version it is, or a time has no zone.
    """
    if observed_at is not None and observed_at.tzinfo is None:
        raise UsageError("observed_at has no time zone", fix="write it as 2026-05-01T00:00:00Z.")
    with (
        Session(
            store,
            Verb.CORPUS,
            paths,
            workspace=workspace,
            wanted=format,
            dry_run=dry_run,
            progress=progress,
        ) as session,
        session.workspace.staging.folder() as folder,
    ):
        spool = pieces.Spool(folder, session.read().chunks)
        stated = _stated(spool, workspace)
        version = corpus_version or stated.get("corpus_version") or _only_version(spool)
        options = {"observed_at": observed_at, "complete": False if partial else None}
        stated |= {name: value for name, value in options.items() if value is not None}
        stated |= {"workspace_id": workspace, "corpus_version": version}
        return _Loading(session, spool, stated).commit()


class _Loading:
    """One corpus version on its way in; `commit` is called once."""

    def __init__(self, session: Session, spool: pieces.Spool, stated: dict[str, Any]) -> None:
        self.session, self.spool, self.stated = session, spool, stated
        self.version: str = stated["corpus_version"]
        self.tallies: Tallies = steps.tallies_for(
            [n for n in VERB_TABLES[Verb.CORPUS] if n in {*spool.bulk_tables, *spool.frames}],
            spool.folder,
        )
        if "corpus_versions" in self.tallies:
            self.tallies["corpus_versions"].n_in = 1

    def commit(self) -> LoadReport:
        """Check, stage and commit everything."""
        good = {name: self._checked(name) for name in ("documents", "entities")}
        stored = self.session.workspace.snapshot().read("entities", subject=self.version)
        entities = [stored.select("entity_id").collect()]
        entities += [pieces.rows_of(good["entities"], ["entity_id"])] if good["entities"] else []
        good["mentions"] = self._checked("mentions", pl.concat(entities))
        self._require_something()
        chunks = self._chunks()
        staged = stage(self.session.workspace, good, self.version)

        def decide(snapshot: Snapshot) -> Decision:
            there = dict.fromkeys(self.tallies, 0)
            fresh = [file for file in staged if not is_stored(snapshot, file, ())]
            for file in staged:
                there[file.table] += 0 if file in fresh else file.n_rows
            row = self._row(snapshot, {file.table: file.n_rows for file in staged})
            stored = snapshot.read("corpus_versions").drop("_commit").collect()
            events = {}
            events["corpus_versions"], there["corpus_versions"] = settle(VERSIONS, row, stored)
            known = snapshot.read("chunks").drop("_commit").collect()
            events["chunks"], there["chunks"] = settle(CHUNKS, chunks, known)
            partial = f"{self._n_missing:,} rows were put aside: the version counts as partial"
            return Decision(
                events=events,
                bulk=fresh,
                already_there={name: n for name, n in there.items() if name in self.tallies},
                messages=(partial,) if self._n_missing else (),
                facts={"corpus_version": self.version},
            )

        key: list[object] = [[file.table, file.fingerprint] for file in staged]
        key += [content_fingerprint(chunks, CHUNKS), str(sorted(self.stated.items()))]
        try:
            return self.session.commit(decide, self.tallies, key=key, subject=self.version)
        finally:
            for file in staged:
                self.session.workspace.discard(file)

    def _require_something(self) -> None:
        """Refuse a version of which all documents are bad: it would look like an empty corpus."""
        documents = self.tallies.get("documents", Tally())
        if documents.n_quarantined and documents.n_quarantined == documents.n_in:
            files = self.session.put_aside(self.tallies)
            raise refusal("corpus version", self.tallies, files, lenient=False)

    @property
    def _n_missing(self) -> int:
        """Documents and entities that were put aside."""
        return sum(self.tallies[t].n_quarantined for t in COUNTED.values() if t in self.tallies)

    def _checked(self, name: str, entities: pl.DataFrame | None = None) -> list[Path]:
        if name not in self.spool.bulk_tables:
            return []

        def check(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
            if entities is None:
                return frame
            unknown = pl.format("entity_id: unknown_entity: {}", "entity_id")
            return steps.refuse_orphans(frame, entities, ["entity_id"], unknown, tally)

        paths = self.spool.paths(name)
        return pieces.checked(
            self.spool, TABLES[name], paths, self._fill, check, self.tallies[name]
        )

    def _fill(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = steps.fill_constant(frame, "workspace_id", self.session.name, option="--workspace")
        return steps.fill_constant(frame, "corpus_version", self.version, option="--corpus-version")

    def _chunks(self) -> pl.DataFrame:
        if "chunks" not in self.spool.frames:
            return CHUNKS.empty()
        frame = steps.fill_constant(
            self.spool.frames["chunks"], "workspace_id", self.session.name, option="--workspace"
        )
        return steps.contract_rows(CHUNKS, steps.admit(CHUNKS, frame, self.tallies["chunks"]))

    def _row(self, snapshot: Snapshot, n_rows: dict[str, int]) -> pl.DataFrame:
        """The row of corpus_versions; a stored one gives what is not stated."""
        versions = snapshot.read("corpus_versions").drop("_commit").collect()
        own = versions.filter(pl.col("corpus_version") == self.version)
        stored = own.row(0, named=True) if own.height else {}
        default = {
            "seq": max([0, *versions["seq"]]) + 1,
            "observed_at": self.session.workspace.now(),
            "complete": not self._n_missing,  # what is missing here would count as removed
            **{name: n_rows.get(table, 0) for name, table in COUNTED.items()},
        }
        row = default | stored | self.stated
        _refuse_wrong_counts(row, n_rows, self._n_missing)
        return pl.DataFrame([row], schema=VERSIONS.schema)


def _refuse_wrong_counts(row: dict[str, Any], n_rows: dict[str, int], n_missing: int) -> None:
    """A complete version holds as many documents and entities as it says, none of them bad."""
    if not row["complete"]:
        return
    problems = [
        f"{name} is {row[name]:,}, the input has {n_rows[table]:,} good rows of {table}"
        for name, table in COUNTED.items()
        if table in n_rows and row[name] != n_rows[table]
    ]
    problems += [f"{n_missing:,} rows break their contract"] if n_missing else []
    if problems:
        raise ContractError(
            f"Corpus version {row['corpus_version']!r} is said to be complete, and is not",
            problems=problems,
            fix="load all of it at once and correct, leave the counts out, or say --partial.",
        )


def _stated(spool: pieces.Spool, workspace: str) -> dict[str, Any]:
    """What a corpus_versions table in the input says."""
    frame = spool.frames.get("corpus_versions")
    if frame is None:
        return {}
    if frame.height != 1:
        raise UsageError(
            f"The input holds {frame.height} rows of corpus_versions",
            fix="load one version at a time, described once.",
        )
    frame = steps.fill_constant(frame, "workspace_id", workspace, option="--workspace")
    filled = [column.name for column in VERSIONS.columns if column.filled]
    bad = split(VERSIONS, frame, later=filled).quarantined
    if bad.height:
        raise ContractError(
            "The row of corpus_versions breaks its contract",
            problems=reason_lines([count_reasons(bad)]),
            fix="`crucible schema corpus_versions` prints the contract.",
        )
    row = frame.row(0, named=True)
    return {name: row[name] for name in VERSIONS.names if row[name] is not None}


def _only_version(spool: pieces.Spool) -> str:
    found = {str(v) for name in spool.bulk_tables for v in spool.values(name, "corpus_version")}
    if len(found) != 1:
        raise UsageError(
            "The input does not say which corpus version it is"
            if not found
            else "The input holds several corpus versions",
            problems=sorted(found),
            fix="say --corpus-version V." if not found else "load one version at a time.",
        )
    return found.pop()
