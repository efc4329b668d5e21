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
from crucible_batch.assemble.load.report import LoadReport, Tallies, Tally
from crucible_batch.assemble.load.session import Decision, Progress, Session
from crucible_batch.assemble.load.staged import is_stored, stage
from crucible_batch.contracts import TABLES
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
    session = Session(
        store,
        Verb.CORPUS,
        paths,
        workspace=workspace,
        wanted=format,
        dry_run=dry_run,
        progress=progress,
    )
    with session.workspace.staging.folder() as folder:
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
            name for name in VERB_TABLES[Verb.CORPUS] if name in {*spool.bulk_tables, *spool.frames}
        )
        if "corpus_versions" in self.tallies:
            self.tallies["corpus_versions"].n_in = 1

    def commit(self) -> LoadReport:
        """Check, stage and commit everything."""
        good = {name: self._checked(name) for name in ("documents", "entities")}
        entities = pieces.rows_of(good["entities"], ["entity_id"]) if good["entities"] else None
        good["mentions"] = self._checked("mentions", entities)
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
            return Decision(
                events=events,
                bulk=fresh,
                already_there={name: n for name, n in there.items() if name in self.tallies},
                facts={"corpus_version": self.version},
            )

        key: list[object] = [[file.table, file.fingerprint] for file in staged]
        key += [content_fingerprint(chunks, CHUNKS), str(sorted(self.stated.items()))]
        try:
            return self.session.commit(decide, self.tallies, key=key, subject=self.version)
        finally:
            for file in staged:
                self.session.workspace.discard(file)

    def _checked(self, name: str, entities: pl.DataFrame | None = None) -> list[Path]:
        if name not in self.spool.bulk_tables:
            return []

        def check(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
            if name != "mentions":
                return frame
            known = entities if entities is not None else frame.clear()
            unknown = pl.format("entity_id: unknown_entity: {}", "entity_id")
            return steps.refuse_orphans(frame, known, ["entity_id"], unknown, tally)

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
            "complete": True,
            **{name: n_rows.get(table, 0) for name, table in COUNTED.items()},
        }
        row = default | stored | self.stated
        _refuse_wrong_counts(row, n_rows, stored=bool(stored))
        return pl.DataFrame([row], schema=VERSIONS.schema)


def _refuse_wrong_counts(row: dict[str, Any], n_rows: dict[str, int], *, stored: bool) -> None:
    """A complete version holds as many documents as it says."""
    problems = [
        f"{name} is {row[name]:,}, the input has {n_rows[table]:,} good rows of {table}"
        for name, table in COUNTED.items()
        if row["complete"] and not stored and table in n_rows and row[name] != n_rows[table]
    ]
    if problems:
        raise ContractError(
            f"Corpus version {row['corpus_version']!r} is not complete",
            problems=problems,
            fix="load all of it, leave the counts out, or say --partial.",
        )


def _stated(spool: pieces.Spool, workspace: str) -> dict[str, Any]:
    """What a corpus_versions table in the input says."""
    frame = spool.frames.get("corpus_versions")
    if frame is None:
        return {}
    if frame.height != 1:
        raise UsageError(
            f"The input holds {frame.height} rows of corpus_versions",
            fix="load one version a time.",
        )
    frame = steps.fill_constant(frame, "workspace_id", workspace, option="--workspace")
    whole = frame.with_columns(
        pl.col("corpus_version").fill_null("-"),
        pl.col("seq").fill_null(1),
        pl.col("complete").fill_null(value=True),
        pl.col("n_documents", "n_entities").fill_null(0),
        pl.col("observed_at").fill_null(pl.lit(0).cast(VERSIONS.schema["observed_at"])),
    )
    bad = split(VERSIONS, whole).quarantined
    if bad.height:
        raise ContractError(
            "The row of corpus_versions breaks its contract",
            problems=bad["_reasons"][0].to_list(),
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
