"""Agreement of the judges of a store with its people."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from crucible_batch.assemble.agreement.grades import grade_agreement, rated
from crucible_batch.assemble.agreement.pairs import HUMAN, PairAgreement, compare_raters
from crucible_batch.assemble.agreement.ranking import means_and_tau, run_means
from crucible_batch.assemble.evaluate.ruler import QREL_KEY, Grading, judgments
from crucible_batch.assemble.golden.sets import the_set
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.metrics.names import canonical
from crucible_batch.settings import load_settings
from crucible_batch.store import Snapshot, Store

METRIC = "ndcg_at_10"
SCALE = ("contradicted", "missing", "partial", "supported")
"""Verdicts from worst to best; `malformed` is none."""

VERDICT_KEY = ("run_id", "item_id", "sample_index", "assertion_id")


def qrel_agreement(
    store: Store,
    workspace: str,
    *,
    golden_set: str | None = None,
    metric: str = METRIC,
    pin: int | None = None,
) -> tuple[PairAgreement, ...]:
    """Hold every lane of llm grades against people's grades.

    Human grades are those that count (highest, overrides included); a judge's are its own, and only
    overrides that it wrote itself count, because those of people would make it agree with them.

    Args:
        store: The store.
        workspace: Workspace of the judgments.
        golden_set: Only judgments of its items, and the order of its runs; may be left out when
            there is only one set or none.
        metric: Retrieval metric by which both sides rank the runs.
        pin: The store as of this commit; the newest when None.

    Raises:
        UnknownNameError: No such workspace, set or metric.
        UsageError: Nobody human has judged anything, or there are several sets and none was named.
    """
    snapshot = store.workspace(workspace).snapshot(pin)
    relevant_at = load_settings(store.root, workspace).scoring.relevant_at
    qrels = _own_grades(snapshot)
    rankings: dict[str, pl.DataFrame] = {}
    if golden_set is not None or snapshot.read("golden_items").head(1).collect().height:
        name = the_set(snapshot, golden_set).golden_set
        items = snapshot.read("golden_items").filter(pl.col("golden_set") == name)
        queries = items.select(query_id="item_id").unique()
        qrels = qrels.join(queries.collect(), on="query_id", how="semi")
        rankings = _rankings(snapshot, name)
    people = qrels.filter(pl.col("source") == "human")
    if people.is_empty():
        raise UsageError(
            "Nobody human has judged a document yet", fix="crucible qrels add QUERY DOC --grade N."
        )
    found = grade_agreement(qrels, relevant_at=relevant_at)
    name = canonical(metric)

    def means(frame: pl.DataFrame) -> dict[str, float | None]:
        return run_means(rankings, rated(frame), name, relevant_at=relevant_at)

    by_people = means(people)
    return tuple(
        one
        if one.reference != HUMAN
        else one.ranked(*means_and_tau(by_people, means(_lane(qrels, "llm", one.judge))))
        for one in found
    )


def _lane(qrels: pl.DataFrame, source: str, judge: str) -> pl.DataFrame:
    return qrels.filter((pl.col("source") == source) & (pl.col("judge") == judge))


def _own_grades(snapshot: Snapshot) -> pl.DataFrame:
    """Judgments as their authors mean them: query_id, doc_id, chunk_id, grade, source, judge."""
    overrides = snapshot.read("judgment_overrides").drop("_commit").collect()
    of_people = judgments(snapshot, overrides, Grading(qrel_source="human"), with_lanes=True)
    judge = pl.col("target_key").str.json_path_match(f"$[{QREL_KEY.index('judge')}]")
    by_itself = overrides.filter(judge == pl.col("author"))
    of_judges = judgments(snapshot, by_itself, Grading(qrel_source="llm"), with_lanes=True)
    return pl.concat([of_people, of_judges])


def _rankings(snapshot: Snapshot, golden_set: str) -> dict[str, pl.DataFrame]:
    runs = snapshot.read("runs").filter(pl.col("golden_set") == golden_set).collect()
    found = {}
    for run_id in runs["run_id"].sort():
        rows = snapshot.read("retrievals", subject=run_id)
        ranking = rows.select("sample_index", "doc_id", "rank", query_id="item_id").collect()
        if ranking.height:
            found[run_id] = ranking
    return found


def verdict_agreement(
    store: Store,
    workspace: str,
    *,
    human: str = HUMAN,
    runs: Sequence[str] = (),
    pin: int | None = None,
) -> tuple[PairAgreement, ...]:
    """Hold every judge of assertions against a human one, over the verdicts as they were given.

    Args:
        store: The store.
        workspace: Workspace of the verdicts.
        human: The `judge` of the human verdicts.
        runs: Only verdicts of these runs; of all when empty.
        pin: The store as of this commit; the newest when None.

    Raises:
        UnknownNameError: No such workspace, or nobody called `human` gave a verdict.
    """
    snapshot = store.workspace(workspace).snapshot(pin)
    rows = snapshot.read("assertion_verdicts").select(*VERDICT_KEY, "judge", rating="verdict")
    if runs:
        rows = rows.filter(pl.col("run_id").is_in(list(runs)))
    verdicts = rows.sort(*VERDICT_KEY, "judge").collect()
    judges = sorted(set(verdicts["judge"]))
    if human not in judges:
        raise UnknownNameError("judge with verdicts", human, judges)
    readable = verdicts.filter(pl.col("rating") != "malformed")

    def of(frame: pl.DataFrame, judge: str) -> pl.DataFrame:
        return frame.filter(pl.col("judge") == judge).drop("judge")

    return tuple(
        compare_raters(
            of(readable, human),
            of(readable, judge),
            names=(human, judge),
            scale=SCALE,
            yes_from="supported",
            n_malformed=of(verdicts, judge).height - of(readable, judge).height,
        )
        for judge in judges
        if judge != human
    )
