from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from crucible_batch.assemble.load import run as run_module
from crucible_batch.assemble.load.existing import OvertakenError
from crucible_batch.assemble.load.report import LoadReport
from crucible_batch.errors import ConflictError, UsageError
from crucible_batch.store import Store


@pytest.fixture
def loads(with_golden):
    return with_golden


def part(loads, result, name, *numbers, **options) -> LoadReport:
    rows = [result(n, retrievals=[{"doc_id": f"d{n}"}]) for n in numbers]
    path = loads.lines(f"part-{name}.jsonl", *rows)
    return loads.run(path, run="r", part=name, **options)


def test_a_run_loaded_in_parts_is_running_until_it_is_said_to_be_done(loads, result):
    part(loads, result, "1", 1)
    part(loads, result, "2", 2)
    assert loads.rows("run_events", "status") == ["running"]
    part(loads, result, "3", 3, status="succeeded")
    assert loads.rows("run_events", "status") == ["running", "succeeded"]
    assert loads.rows("results", "item_id") == ["q1", "q2", "q3"]
    assert loads.rows("retrievals", "doc_id") == ["d1", "d2", "d3"]


def test_a_part_loaded_again_is_a_no_op_whatever_came_after_it(loads, result, counted):
    part(loads, result, "1", 1, 2)
    part(loads, result, "2", 3)
    for name, numbers in (("1", (1, 2)), ("2", (3,)), ("1", (2, 1))):
        again = part(loads, result, name, *numbers)
        assert not again.created
        assert counted(again, "results") == (len(numbers), 0, 0, len(numbers))


def test_rows_of_an_earlier_part_are_already_there(loads, result, counted):
    part(loads, result, "1", 1, 2)
    second = part(loads, result, "2", 2, 3)
    assert counted(second, "results") == (2, 1, 0, 1)
    assert counted(second, "retrievals") == (2, 1, 0, 1)
    assert loads.rows("results", "item_id") == ["q1", "q2", "q3"]
    assert counted(part(loads, result, "2", 2, 3), "results") == (2, 0, 0, 2)
    assert counted(part(loads, result, "3", 1, 2, 3), "results") == (3, 0, 0, 3)


def test_a_row_of_an_earlier_part_may_not_change(loads, result):
    part(loads, result, "1", 1)
    changed = loads.lines("x.jsonl", result(1, answer="Else."))
    with pytest.raises(ConflictError, match=r"answer is 'Answer 1.', the input says 'Else.'"):
        loads.run(changed, run="r", part="2")
    with pytest.raises(ConflictError, match=r"answer is 'Answer 1.', the input says 'Else.'"):
        loads.run(changed, run="r", part="1")


def test_a_corrected_file_brings_the_result_that_was_put_aside(loads, result, counted):
    bad = loads.lines("a.jsonl", result(1), result(2, confidence=7, checks=[{"check_id": "c"}]))
    report = loads.run(bad, run="r")
    assert counted(report, "checks") == (1, 0, 1, 0)
    good = loads.lines("a.jsonl", result(1), result(2, confidence=0.7, checks=[{"check_id": "c"}]))
    report = loads.run(good, run="r", part="corrected")
    assert counted(report, "results") == (2, 1, 0, 1)
    assert counted(report, "checks") == (1, 1, 0, 0)


def test_children_in_a_later_part_find_the_result_of_an_earlier_one(loads, result, counted):
    part(loads, result, "1", 1)
    checks = loads.parquet("checks.parquet", [{"item_id": "q1", "check_id": "c"}])
    assert counted(loads.run(checks, run="r", part="2"), "checks") == (1, 1, 0, 0)


@pytest.mark.parametrize("name", ["", " ", "a\nb"])
def test_a_part_needs_a_name(loads, result, name):
    with pytest.raises(UsageError, match="no name of a part"):
        part(loads, result, name, 1)


def load_meanwhile(monkeypatch, act):
    """Let another load come between the check and the commit of the next one, once."""
    whole_stage = run_module.stage
    acts = [act]

    def stage(*args):
        staged = whole_stage(*args)
        if acts:
            acts.pop()()
        return staged

    monkeypatch.setattr(run_module, "stage", stage)


def test_another_part_that_comes_first_does_not_disturb(loads, result, monkeypatch, counted):
    part(loads, result, "0", 4)
    load_meanwhile(monkeypatch, lambda: part(loads, result, "1", 1))
    assert counted(part(loads, result, "2", 2), "results") == (1, 1, 0, 0)
    assert loads.rows("results", "item_id") == ["q1", "q2", "q4"]


def test_a_load_overtaken_by_one_with_the_same_rows_checks_again(
    loads, result, monkeypatch, counted
):
    load_meanwhile(monkeypatch, lambda: part(loads, result, "1", 1, 2))
    report = part(loads, result, "2", 2, 3)
    assert counted(report, "results") == (2, 1, 0, 1)
    assert loads.rows("results", "item_id") == ["q1", "q2", "q3"]


def test_a_load_overtaken_by_another_description_of_its_run_takes_that_one(
    loads, result, monkeypatch
):
    def other():
        rows = result(1), result(1, sample_index=1)
        loads.run(loads.lines("o.jsonl", *rows), run="r", part="1")

    load_meanwhile(monkeypatch, other)
    part(loads, result, "2", 2)
    assert loads.rows("runs", "samples_n", "retrieval_reported") == [(2, False)]


def test_a_load_that_is_always_overtaken_says_so(loads, result, monkeypatch):
    def overtaken(*_):
        raise OvertakenError("Another load was faster", fix="run the command again.")

    monkeypatch.setattr(run_module, "is_stored", overtaken)
    with pytest.raises(ConflictError, match="run the command again"):
        loads.run(loads.lines("r.jsonl", result(1)), run="r")


def test_parts_loaded_at_the_same_time_all_arrive(loads, result):
    def load(number):
        path = loads.lines(f"{number}.jsonl", result(number))
        return run_module.load_run(
            Store.open(loads.store.root), [path], run="r", part=str(number)
        ).created

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(load, [1, 2, 3, 4]))
    assert loads.rows("results", "item_id") == ["q1", "q2", "q3", "q4"]
    assert loads.rows("run_events", "status") == ["running"]
    assert len(loads.rows("runs")) == 1
