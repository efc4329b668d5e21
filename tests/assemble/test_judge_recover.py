"""Two judgings at once, and what a crash leaves between a commit and the end of its journal."""

from __future__ import annotations

import pytest
from judging import Judging, result

from crucible_batch.store import Journal
from crucible_batch.store.journal import FILE, abandoned


@pytest.fixture
def judging(tmp_path, judge_server) -> Judging:
    made = Judging(tmp_path, judge_server)
    made.golden()
    made.run("r", result("q0", "d1", "d2"), result("q1", "d1"))
    return made


def crash_before_clear(judging: Judging, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge; the process ends after its commits and before its journal forgets them."""
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "clear", lambda self: None)
        judging.qrels("r")


def test_records_that_are_committed_already_are_not_committed_twice(judging, monkeypatch) -> None:
    crash_before_clear(judging, monkeypatch)
    layout = judging.bench.store.workspace().layout
    assert len(list(abandoned(layout))) == 1
    before, n_commits = judging.judged_tables(), judging.n_commits
    done = judging.claims("r", max_calls=0)
    assert done.n_recovered == 3
    assert judging.n_commits == n_commits
    after = judging.judged_tables()
    assert all(after[name].equals(rows) for name, rows in before.items())
    assert list(abandoned(layout)) == []


def test_half_committed_records_are_completed(judging, monkeypatch) -> None:
    crash_before_clear(judging, monkeypatch)
    other = Judging(judging.bench.folder / "other", judging.server)
    other.golden()
    other.run("r", result("q0", "d1", "d2"), result("q1", "d1"))
    other.qrels("r", max_calls=1, concurrency=1)
    for journal in judging.bench.store.workspace().layout.journal.iterdir():
        journal.rename(other.bench.store.workspace().layout.journal / journal.name)
    other.qrels("r", max_calls=0)
    expected, found = judging.judged_tables(), other.judged_tables()
    assert all(found[name].equals(rows) for name, rows in expected.items())


def test_a_grade_that_somebody_else_gave_meanwhile_stays(judging, judge_server) -> None:
    """Two commands judge the same pairs; the first commit wins, both calls are on record."""
    judge_server.say = lambda _: "##final score: 1"

    def meanwhile(prompt: str) -> str:
        judge_server.say = lambda _: "##final score: 1"
        judging.qrels("r", concurrency=1)  # the other command
        return "##final score: 3"

    judge_server.say = meanwhile
    judging.qrels("r", concurrency=1)
    assert judging.table("qrels")["grade"].to_list() == [1, 1, 1]
    assert len(judging.rows("judge_calls")) == 3
    assert len(judging.rows("audit_log")) == 3


def test_a_dry_run_leaves_the_journals_of_others_alone(judging, monkeypatch) -> None:
    crash_before_clear(judging, monkeypatch)
    layout = judging.bench.store.workspace().layout
    judging.qrels("r", dry_run=True)
    assert len(list(layout.journal.rglob(FILE))) == 1
