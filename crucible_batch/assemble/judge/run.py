"""The verbs: top up the pool of judged documents, judge the assertions or the claims of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from crucible_batch.assemble.judge.answers import assertion_pool, claim_pool
from crucible_batch.assemble.judge.documents import document_pool
from crucible_batch.assemble.judge.options import AnyJudge, JudgeOptions, appoint
from crucible_batch.assemble.judge.plan import plan_work
from crucible_batch.assemble.judge.session import Session, Watch, recover
from crucible_batch.assemble.judge.target import JUDGMENTS, Pool
from crucible_batch.assemble.judge.told import Judged
from crucible_batch.errors import UsageError
from crucible_batch.formats.texts import read_texts
from crucible_batch.judges.question import lane
from crucible_batch.settings import Settings, load_settings
from crucible_batch.store import Snapshot, Store


def judge_qrels(
    store: Store,
    workspace: str,
    runs: Sequence[str],
    *,
    depth: int | None = None,
    texts: Iterable[str | Path] = (),
    options: JudgeOptions | None = None,
    watch: Watch | None = None,
) -> Judged:
    """Grade every (query, document) that runs retrieved and that has no grade in the judge's lane.

    Args:
        store: The store.
        workspace: Workspace of the runs.
        runs: Ids of the runs.
        depth: How many documents of each ranking; the largest of `scoring.ks` when None.
        texts: JSONL or Parquet files with doc_id and text; without, the retrieved texts count.
        options: Who judges and how.
        watch: Is told how far it has come.

    Raises:
        UnknownNameError: No such workspace or run.
        UsageError: An option is wrong, or the judge's endpoint is not known.
        ContractError: A file of texts cannot be read.
        JudgeError: The endpoint refuses every call. What was judged before is committed.
    """
    if depth is not None and depth < 1:
        raise UsageError(f"depth is {depth}", fix="use 1 or more.")
    known = read_texts(texts) if (texts := list(texts)) else {}

    def gather(snapshot: Snapshot, judge: AnyJudge, settings: Settings) -> Pool:
        return document_pool(snapshot, runs, judge, depth or max(settings.scoring.ks), known)

    return _judge(store, workspace, runs, "qrel", gather, options, watch)


def judge_assertions(
    store: Store,
    workspace: str,
    runs: Sequence[str],
    *,
    options: JudgeOptions | None = None,
    watch: Watch | None = None,
) -> Judged:
    """Judge every assertion of every result of runs that has no verdict of the judge.

    Arguments and errors are those of `judge_qrels`.
    """
    return _judge(
        store,
        workspace,
        runs,
        "assertion",
        lambda snapshot, judge, _: assertion_pool(snapshot, runs, judge),
        options,
        watch,
    )


def judge_claims(
    store: Store,
    workspace: str,
    runs: Sequence[str],
    *,
    options: JudgeOptions | None = None,
    watch: Watch | None = None,
) -> Judged:
    """Judge every claim of every answer of runs that the judge has not judged.

    Arguments and errors are those of `judge_qrels`.
    """
    return _judge(
        store,
        workspace,
        runs,
        "claim",
        lambda snapshot, judge, _: claim_pool(snapshot, runs, judge),
        options,
        watch,
    )


def _judge(
    store: Store,
    workspace_name: str,
    runs: Sequence[str],
    kind: str,
    gather: Callable[[Snapshot, AnyJudge, Settings], Pool],
    options: JudgeOptions | None,
    watch: Watch | None,
) -> Judged:
    options = options or JudgeOptions()
    if not runs:
        raise UsageError("No run is named", fix="name at least one run.")
    settings = load_settings(store.root, workspace_name)
    workspace = store.workspace(workspace_name)
    judge = appoint(options, settings.judge, kind)
    n_recovered = 0 if options.dry_run else recover(workspace)
    snapshot = workspace.snapshot()
    pool = gather(snapshot, judge, settings)
    work = plan_work(snapshot, judge, JUDGMENTS[kind], pool, options)
    session = Session(workspace, judge, work, settings, options, watch)
    if not options.dry_run:
        session.run()
    return session.report(lane(judge, kind), len(pool), n_recovered)
