"""One command's asking: replies go to the journal at once, and to the lake in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack

from crucible_batch.assemble.judge.options import AnyJudge, JudgeOptions, find_endpoint
from crucible_batch.assemble.judge.plan import Task, Work
from crucible_batch.assemble.judge.record import Record, commit_records, record
from crucible_batch.assemble.judge.told import Judged, Standing
from crucible_batch.exact import exact_sum
from crucible_batch.judges.ask import Budget, ask_all
from crucible_batch.judges.chat import ChatJudge
from crucible_batch.judges.offline import LexicalJudge
from crucible_batch.judges.question import Estimate, Reply
from crucible_batch.settings import Settings
from crucible_batch.store import Journal, Workspace
from crucible_batch.store.journal import abandoned, discard

Watch = Callable[[Standing], None]

OFFLINE_BATCH = 50_000
"""Rows of a commit of the offline judge."""


def recover(workspace: Workspace) -> int:
    """Commit the verdicts that killed commands left in their journals; return how many."""
    n_found = 0
    for folder, records in abandoned(workspace.layout):
        if records:
            commit_records(workspace, records, actor=_judge_of(records[0]))
        discard(workspace.layout, folder)
        n_found += len(records)
    return n_found


def _judge_of(one: Record) -> str:
    return str(one["judge_calls"][0]["judge"])


class Session:
    """Asks what is missing, books every reply, and says what became of it."""

    def __init__(
        self,
        workspace: Workspace,
        judge: AnyJudge,
        work: Work,
        settings: Settings,
        options: JudgeOptions,
        watch: Watch | None,
    ) -> None:
        self._workspace, self._judge, self._work = workspace, judge, work
        self._settings, self._options, self._watch = settings, options, watch
        self._groups = list(work.ask.values())
        self._journal: Journal | None = None
        self._batch = settings.judge.commit_every
        self._pending: list[Record] = []
        self._rows = Counter[str]()
        self._failures = Counter[str]()
        self._replies: list[Reply] = []
        self._stopped: str | None = None
        self._spent: float | None = 0.0  # for whoever watches; what is reported is summed exactly

    def run(self) -> None:
        """Ask and commit; whatever ends it, what was answered is committed or in the journal."""
        for task, reply in self._work.known:
            self._book(task, reply)
        if isinstance(self._judge, LexicalJudge):
            self._compare(self._judge)
            self._commit()
        elif not self._groups:
            self._commit()
        else:
            self._ask(self._judge)

    def _compare(self, judge: LexicalJudge) -> None:
        """Judge offline. Nothing is paid for, so nothing needs a journal or a small batch."""
        self._batch = OFFLINE_BATCH
        most = self._options.max_calls
        for number, tasks in enumerate(self._groups):
            if most is not None and number >= most:
                self._stopped = f"--max-calls {most:,} is reached"
                break
            self._take(number, judge.answer(tasks[0].target.question))

    def _ask(self, judge: ChatJudge) -> None:
        endpoint = find_endpoint(self._options, self._settings.judge)
        with ExitStack() as at_end:
            self._journal = at_end.enter_context(Journal.of(self._workspace.layout))
            at_end.callback(self._commit)
            self._stopped = ask_all(
                judge,
                endpoint,
                [tasks[0].target.question for tasks in self._groups],
                self._take,
                concurrency=self._options.concurrency or self._settings.judge.concurrency,
                budget=Budget(max_calls=self._options.max_calls, max_cost=self._options.max_cost),
            )

    def _take(self, number: int, reply: Reply) -> None:
        """Book the reply of one call for every row with its input."""
        tasks = self._groups[number]
        self._replies.append(reply)
        self._book(tasks[0], reply)
        for task in tasks[1:]:
            self._book(task, _free(reply))
        if reply.status == "failed":
            self._failures[reply.raw or ""] += 1
        elif self._spent is not None:
            self._spent = None if reply.cost_usd is None else self._spent + reply.cost_usd
        if len(self._pending) >= self._batch:
            self._commit()
        if self._watch is not None:
            self._watch(self._standing())

    def _book(self, task: Task, reply: Reply) -> None:
        one = record(task, reply, self._workspace.now())
        if self._journal is not None:
            self._journal.append(one)
        self._pending.append(one)
        self._rows[reply.status] += 1

    def _commit(self) -> None:
        if self._pending:
            commit_records(
                self._workspace,
                self._pending,
                actor=_judge_of(self._pending[0]),
                settings_hash=self._settings.hash,
            )
        if self._journal is not None:
            self._journal.clear()
        self._pending = []

    def _cost(self) -> float | None:
        """Spent so far; a call that failed is taken to be free, any other without a cost is not."""
        costs = [reply.cost_usd for reply in self._replies if reply.status != "failed"]
        known = [cost for cost in costs if cost is not None]
        return exact_sum(known) if len(known) == len(costs) else None

    def _standing(self) -> Standing:
        return Standing(
            n_done=len(self._replies),
            n_calls=len(self._groups),
            cost_usd=self._spent,
            n_failed=self._failures.total(),
        )

    def report(self, name: str, n_pool: int, n_recovered: int) -> Judged:
        """Say what was done."""
        return Judged(
            judge=name,
            n_pool=n_pool,
            n_there=self._work.n_there,
            n_kept_malformed=self._work.n_malformed,
            n_reused=len(self._work.known),
            n_calls=len(self._groups),
            n_ok=self._rows["ok"],
            n_malformed=self._rows["malformed"],
            n_failed=self._rows["failed"],
            n_recovered=n_recovered,
            left_out=self._work.left_out,
            failures=tuple(why for why, _ in self._failures.most_common()),
            stopped=self._stopped,
            estimate=self._estimate() if self._options.dry_run else None,
            prompt_tokens=_total(reply.prompt_tokens for reply in self._replies),
            completion_tokens=_total(reply.completion_tokens for reply in self._replies),
            cost_usd=self._cost(),
        )

    def _estimate(self) -> Estimate | None:
        judge = self._judge
        if isinstance(judge, LexicalJudge):
            return None
        parts = [judge.estimate(tasks[0].target.question) for tasks in self._groups]
        costs = [part.cost_usd for part in parts if part.cost_usd is not None]
        return Estimate(
            prompt_tokens=_total(part.prompt_tokens for part in parts) or 0,
            completion_tokens=_total(part.completion_tokens for part in parts) or 0,
            cost_usd=exact_sum(costs) if len(costs) == len(parts) else None,
        )


def _free(reply: Reply) -> Reply:
    """The same reply for another row with the same input: paid for once."""
    if reply.status == "failed":
        return reply
    return Reply(
        status=reply.status,
        values=reply.values,
        raw=reply.raw,
        prompt_tokens=0,
        completion_tokens=0,
        cost_usd=0.0,
    )


def _total(counts: Iterable[int | None]) -> int | None:
    """The sum of the counts that are known; None when none is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
