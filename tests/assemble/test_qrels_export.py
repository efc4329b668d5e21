"""Judgments are handed out as one effective grade per query and document."""

from __future__ import annotations

import pytest
from bench import Bench, item

from crucible_batch.assemble.load import load_qrels
from crucible_batch.assemble.qrels_export import export_qrels
from crucible_batch.errors import ContractError, UnknownNameError, UsageError


@pytest.fixture
def bench(tmp_path) -> Bench:
    """A person finds d1 useless and an llm finds it perfect; only the llm judged d2."""
    bench = Bench(tmp_path)
    bench.qrels(("q2", "d1", 0), ("q1", "d9", 2))
    bench.qrels(("q2", "d1", 3), ("q2", "d2", 1), source="llm")
    return bench


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("resolved", ["q1 0 d9 2", "q2 0 d1 0", "q2 0 d2 1"]),
        ("human", ["q1 0 d9 2", "q2 0 d1 0"]),
        ("llm", ["q2 0 d1 3", "q2 0 d2 1"]),
    ],
)
def test_grades_are_resolved_as_scoring_does_it(bench, tmp_path, source, lines):
    path = tmp_path / "out" / "qrels.txt"
    assert export_qrels(bench.store, "default", path, source=source) == len(lines)
    assert path.read_text().splitlines() == lines


def test_an_override_counts(bench, tmp_path):
    bench.override("qrels", "grade", ["q1", "doc:d9", "human", "human"], "3")
    export_qrels(bench.store, "default", tmp_path / "qrels.txt")
    assert (tmp_path / "qrels.txt").read_text().startswith("q1 0 d9 3\n")


def test_a_pin_hands_out_the_judgments_of_that_commit(bench, tmp_path):
    path, pin = tmp_path / "qrels.txt", bench.head()
    bench.qrels(("q3", "d1", 1))
    assert export_qrels(bench.store, "default", path, pin=pin) == 3
    assert export_qrels(bench.store, "default", path) == 4


def test_what_was_exported_loads_again_as_the_same_grades(bench, tmp_path, tmp_path_factory):
    path, back = tmp_path / "qrels.txt", tmp_path / "again.txt"
    export_qrels(bench.store, "default", path)
    other = Bench(tmp_path_factory.mktemp("other"))
    other.golden(item("q1"))
    assert load_qrels(other.store, [path], format="trec").n_quarantined == 0
    export_qrels(other.store, "default", back)
    assert back.read_text() == path.read_text()


def test_an_id_with_a_blank_is_refused_and_no_file_is_written(bench, tmp_path):
    bench.qrels(("two words", "d1", 1))
    path = tmp_path / "qrels.txt"
    with pytest.raises(ContractError, match="blanks"):
        export_qrels(bench.store, "default", path)
    assert not path.exists()


def test_unknown_options_and_workspaces_are_wrong_names(bench, tmp_path):
    path = tmp_path / "qrels.txt"
    with pytest.raises(UsageError, match="source"):
        export_qrels(bench.store, "default", path, source="people")
    with pytest.raises(UsageError, match="format"):
        export_qrels(bench.store, "default", path, format="xml")
    with pytest.raises(UnknownNameError):
        export_qrels(bench.store, "elsewhere", path)
