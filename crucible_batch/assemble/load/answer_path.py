"""Load what the answer path says of itself: decisions of its policy, states of its cache."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.existing import settle
from crucible_batch.assemble.load.report import LoadReport, Tallies, Tally
from crucible_batch.assemble.load.session import Decision, Progress, Session
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.validate import reject
from crucible_batch.formats.verbs import VERB_TABLES, Verb
from crucible_batch.store import Snapshot, Store, content_fingerprint


def load_policy(
    store: Store,
    paths: Iterable[str | Path],
    *,
    workspace: str = "default",
    format: str | None = None,  # noqa: A002 (the option's name)
    dry_run: bool = False,
    progress: Progress | None = None,
) -> LoadReport:
    """Load decisions of an answer policy; bad rows are put aside, the good ones loaded.

    Args:
        store: Where to.
        paths: Files, folders or globs: Parquet or JSONL.
        workspace: Workspace; made if it is not there.
        format: How to read the files; found out when None.
        dry_run: Say what would be committed and write nothing.
        progress: Is told how far the load has come.

    Raises:
        ContractError: The input cannot be read.
        ConflictError: A decision is stored already with other content.
    """
    return _load(Verb.POLICY, store, paths, workspace, format, dry_run, progress)


def load_cache(
    store: Store,
    paths: Iterable[str | Path],
    *,
    workspace: str = "default",
    format: str | None = None,  # noqa: A002 (the option's name)
    dry_run: bool = False,
    progress: Progress | None = None,
) -> LoadReport:
    """Load observations of the answer cache and its entries; see `load_policy`."""
    return _load(Verb.CACHE, store, paths, workspace, format, dry_run, progress)


def _load(
    verb: Verb,
    store: Store,
    paths: Iterable[str | Path],
    workspace: str,
    wanted: str | None,
    dry_run: bool,
    progress: Progress | None,
) -> LoadReport:
    with Session(
        store, verb, paths, workspace=workspace, wanted=wanted, dry_run=dry_run, progress=progress
    ) as session:
        found = steps.gather(session.read().chunks)
        tallies: Tallies = steps.tallies_for(name for name in VERB_TABLES[verb] if name in found)
        good: dict[str, pl.DataFrame] = {}
        for name, tally in tallies.items():
            rows = steps.fill_constant(found[name], "workspace_id", workspace, option="--workspace")
            admitted = steps.admit(TABLES[name], rows, tally, check=_CHECKS.get(name, _fine))
            good[name] = steps.contract_rows(TABLES[name], admitted)

        def decide(snapshot: Snapshot) -> Decision:
            events: dict[str, pl.DataFrame] = {}
            there: dict[str, int] = {}
            for name, rows in good.items():
                table = TABLES[name]
                stored = snapshot.read(name).drop("_commit")
                own = stored.join(rows.lazy().select(table.key), on=table.key, how="semi")
                events[name], there[name] = settle(table, rows, own.collect())
            return Decision(events=events, already_there=there)

        key = [[name, content_fingerprint(rows, TABLES[name])] for name, rows in good.items()]
        return session.commit(decide, tallies, key=key)


def _fine(frame: pl.DataFrame, _: Tally) -> pl.DataFrame:
    return frame


def _hits_are_lookups(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Put observations aside whose hit rate would lie above 1."""
    too_many = pl.col("hits") > pl.col("lookups")
    reason = pl.format("hits: more than lookups: {} of {}", "hits", "lookups")
    return steps.keep(reject(frame, too_many, reason), tally)


_CHECKS = {"cache_observations": _hits_are_lookups}
"""What a contract cannot say of one column alone, by table."""
