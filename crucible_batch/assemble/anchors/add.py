"""Add anchors: validated, append-only; one that is there never changes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.existing import settle
from crucible_batch.assemble.load.report import LoadReport, Tally
from crucible_batch.assemble.load.session import Decision, Session
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.validate import reject
from crucible_batch.formats.verbs import Verb
from crucible_batch.store import Snapshot, Store
from crucible_batch.store.fingerprint import content_fingerprint
from crucible_batch.watch.judge_drift import SCALES

ANCHORS = TABLES["anchors"]

NO_SCALE = pl.format(f"scale: not one of {', '.join(SCALES)}: {{}}", "scale")
NO_VERDICT = pl.format("human_verdict: not on the scale {}: {}", "scale", "human_verdict")
NO_ANSWER = pl.format("answer: blank on the scale {}, which judges it: {}", "scale", "answer")


def add_anchors(
    store: Store,
    paths: Iterable[str | Path],
    *,
    workspace: str = "default",
    format: str | None = None,  # noqa: A002 (the option's name)
    dry_run: bool = False,
    progress: Progress = quiet,
) -> LoadReport:
    """Add anchors to a workspace.

    Args:
        store: Where to.
        paths: Files, folders or globs: Parquet in contract shape, JSONL.
        workspace: Workspace; made if it is not there.
        format: How to read the files; found out when None.
        dry_run: Say what would be committed and write nothing.
        progress: Is told how far it has come.

    Raises:
        ContractError: Rows break their contract; none is added.
        ConflictError: An anchor is there with other content: anchors are frozen.
    """
    with Session(
        store,
        Verb.ANCHORS,
        paths,
        workspace=workspace,
        wanted=format,
        dry_run=dry_run,
        progress=progress,
    ) as session:
        found = steps.gather(session.read().chunks)
        tallies = steps.tallies_for([ANCHORS.name])
        frame = found.get(ANCHORS.name)
        rows = ANCHORS.empty()
        if frame is not None:
            filled = steps.fill_constant(frame, "workspace_id", workspace, option="--workspace")
            good = steps.admit(ANCHORS, filled, tallies[ANCHORS.name], check=_on_its_scale)
            rows = steps.contract_rows(ANCHORS, good)
        session.refuse_unless(False, tallies, "anchors")

        def decide(snapshot: Snapshot) -> Decision:
            stored = snapshot.read(ANCHORS.name).drop("_commit").collect()
            fresh, n_there = settle(ANCHORS, rows, stored)
            return Decision(events={ANCHORS.name: fresh}, already_there={ANCHORS.name: n_there})

        return session.commit(decide, tallies, key=[content_fingerprint(rows, ANCHORS)])


def _on_its_scale(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Put anchors aside that no judge could be held against."""
    words = pl.DataFrame(
        [(scale, word) for scale, values in SCALES.items() for word in values],
        schema=["scale", "human_verdict"],
        orient="row",
    )
    known = pl.struct("scale", "human_verdict").is_in(words.to_struct().implode())
    needs_answer = (pl.col("scale") != "grade") & (pl.col("answer").str.strip_chars() == "")
    for broken, reason in (
        (~pl.col("scale").is_in(list(SCALES)), NO_SCALE),
        (~known, NO_VERDICT),
        (needs_answer, NO_ANSWER),
    ):
        frame = steps.keep(reject(frame, broken, reason), tally)
    return frame
