"""A journal keeps what was paid for until it is committed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crucible_batch.errors import StoreError
from crucible_batch.store.journal import FILE, Journal, abandoned, discard
from crucible_batch.store.layout import Layout

DIES = """
import os, sys
from pathlib import Path
from crucible_batch.store.journal import Journal
from crucible_batch.store.layout import Layout
with Journal.of(Layout(Path(sys.argv[1]))) as journal:
    journal.append({"n": 1, "text": "Zürich\\n"})
    journal.append({"n": 2})
    os.write(journal._file, b'{"n": 3, "te')
    os.kill(os.getpid(), 9)
"""
TWO = [{"n": 1, "text": "Zürich\n"}, {"n": 2}]


@pytest.fixture
def left(tmp_path: Path) -> Layout:
    """A workspace folder with the journal of a process that was killed while it wrote."""
    done = subprocess.run([sys.executable, "-c", DIES, tmp_path], check=False)
    assert done.returncode == -9
    return Layout(tmp_path)


def test_a_killed_process_loses_only_the_record_it_was_writing(left) -> None:
    assert [records for _, records in abandoned(left)] == [TWO]


def test_a_journal_that_is_discarded_is_gone(left) -> None:
    for folder, _ in abandoned(left):
        discard(left, folder)
    assert list(abandoned(left)) == []
    assert list(left.journal.iterdir()) == []


def test_a_journal_in_use_is_not_abandoned(tmp_path) -> None:
    with Journal.of(Layout(tmp_path)) as journal:
        journal.append({"n": 1})
        assert list(abandoned(Layout(tmp_path))) == []
    assert [records for _, records in abandoned(Layout(tmp_path))] == [[{"n": 1}]]


def test_a_cleared_journal_leaves_nothing_behind(tmp_path) -> None:
    with Journal.of(Layout(tmp_path)) as journal:
        journal.append({"n": 1})
        journal.clear()
        journal.append({"n": 2})
        (path,) = Layout(tmp_path).journal.rglob(FILE)
        assert path.read_text() == '{"n":2}\n'
        journal.clear()
    assert list(Layout(tmp_path).journal.iterdir()) == []


def test_a_record_is_in_the_file_when_append_returns(tmp_path) -> None:
    with Journal.of(Layout(tmp_path)) as journal:
        for n in range(3):
            journal.append({"n": n})
            (path,) = Layout(tmp_path).journal.rglob(FILE)
            assert len(path.read_text().splitlines()) == n + 1
        journal.clear()


def test_a_journal_damaged_in_the_middle_is_refused_with_its_place(left) -> None:
    (path,) = left.journal.rglob(FILE)
    path.write_bytes(b"\0\0\0\n" + path.read_bytes())
    with pytest.raises(StoreError, match=r"records\.jsonl is damaged"):
        list(abandoned(left))


def test_a_workspace_that_never_judged_has_no_journals(tmp_path) -> None:
    assert list(abandoned(Layout(tmp_path))) == []
