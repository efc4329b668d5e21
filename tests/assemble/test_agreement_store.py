"""Judges of a store are held against people: by grades, by verdicts, by the order of the runs."""

from __future__ import annotations

import json

import pytest
from bench import Bench, item, result

from crucible_batch.assemble.agreement import qrel_agreement, verdict_agreement
from crucible_batch.assemble.agreement.pairs import HUMAN
from crucible_batch.assemble.agreement.run import SCALE
from crucible_batch.assemble.agreement.text import (
    HEADER,
    agreement_details,
    agreement_rows,
    ceiling,
)
from crucible_batch.contracts.vocabulary import VERDICTS
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.stats.agreement import agreement

PEOPLE = {"d1": 3, "d2": 0, "d3": 2, "d4": 1, "d5": 0}
MODEL = {"d1": 3, "d2": 1, "d3": 2, "d4": 1, "d6": 2}


@pytest.fixture
def bench(tmp_path) -> Bench:
    bench = Bench(tmp_path)
    bench.golden(item("q1", must=1), item("q2", must=1))
    return bench


def judge(bench: Bench, grades: dict[str, int], query: str = "q1", **more) -> None:
    bench.qrels(*((query, doc, grade) for doc, grade in grades.items()), **more)


def found(bench: Bench, **options):
    return {
        (one.reference, one.judge): one for one in qrel_agreement(bench.store, "default", **options)
    }


def test_a_judge_is_compared_on_the_documents_both_sides_graded(bench):
    judge(bench, PEOPLE)
    judge(bench, MODEL, source="llm")
    one = found(bench)[HUMAN, "m@1"]
    assert (one.n, one.n_reference_only, one.n_judge_only) == (4, 1, 1)
    both = agreement([3, 0, 2, 1], [3, 1, 2, 1], categories=range(4))
    assert (one.raw, one.kappa, one.alpha, one.majority) == (0.75, both.kappa, both.alpha, 0.25)
    assert one.table.equals(both.table)
    assert one.base_rate == 0.5
    assert one.kappa_from["2"] == 1.0
    assert one.kappa_from["1"] == agreement([1, 0, 1, 1], [1, 1, 1, 1]).kappa


def test_people_count_by_their_highest_grade_and_each_pair_is_a_ceiling(bench):
    judge(bench, PEOPLE, judge="ann", author="ann")
    judge(bench, PEOPLE | {"d2": 3, "d9": 3}, judge="bob", author="bob")
    judge(bench, MODEL, source="llm")
    report = found(bench)
    assert set(report) == {(HUMAN, "m@1"), ("ann", "bob")}
    assert report["ann", "bob"].n == 5
    assert report["ann", "bob"].raw == 0.8
    cell = {(row["human"], row["judge"]): row["n"] for row in report[HUMAN, "m@1"].table.to_dicts()}
    assert (cell[3, 1], cell[0, 1]) == (1, 0)  # d2: bob's 3 counts, not ann's 0
    assert "human–human ceiling: kappa" in ceiling(list(report.values()))


def test_each_model_and_prompt_is_a_judge_of_its_own(bench):
    judge(bench, PEOPLE)
    judge(bench, MODEL, source="llm")
    other = {"judge": "m@2", "judge_model": "m", "prompt_version": "2"}
    judge(bench, PEOPLE, source="llm", **other)
    report = found(bench)
    assert [judge for _, judge in report] == ["m@1", "m@2"]
    assert report[HUMAN, "m@2"].kappa == 1.0


def test_a_persons_override_of_a_model_does_not_make_the_model_agree(bench):
    judge(bench, {"d1": 0, "d2": 1})
    judge(bench, {"d1": 3, "d2": 1}, source="llm")
    bench.override("qrels", "grade", ["q1", "doc:d1", "llm", "m@1"], "0")
    assert found(bench)[HUMAN, "m@1"].raw == 0.5
    bench.override("qrels", "grade", ["q1", "doc:d1", "human", "human"], "3", number=2)
    assert found(bench)[HUMAN, "m@1"].raw == 1.0


def test_provenance_is_no_person_and_no_judge(bench):
    bench.golden(item("q1", must=1, required=("d1",)))
    judge(bench, {"d1": 0})
    judge(bench, {"d1": 0}, source="llm")
    (only,) = found(bench).values()
    assert (only.n, only.raw) == (1, 1.0)


def test_chunks_count_for_their_documents(bench):
    judge(bench, {"d1": 2})
    chunks = ({"chunk_id": "d1#1", "grade": 1}, {"chunk_id": "d1#2", "grade": 3})
    for row in chunks:
        bench.qrels(("q1", "d1", row["grade"]), source="llm", chunk_id=row["chunk_id"])
    one = found(bench)[HUMAN, "m@1"]
    assert (one.n, one.mae) == (1, 1.0)


def test_runs_are_ranked_by_either_side_alone(bench):
    judge(bench, {"d1": 3, "d2": 0})
    judge(bench, {"d1": 0, "d2": 3}, source="llm")
    bench.run("good", result("q1", "d1", "d2"))
    bench.run("poor", result("q1", "d2", "d1"))
    one = found(bench)[HUMAN, "m@1"]
    assert one.tau == -1.0
    ours, theirs = one.means["good"]
    assert ours == pytest.approx(1.0)
    assert one.means["poor"] == pytest.approx((theirs, ours))
    assert found(bench, metric="hit@1")[HUMAN, "m@1"].means["good"] == (1.0, 0.0)


def test_one_run_has_no_order_and_an_unjudged_run_no_mean(bench):
    judge(bench, PEOPLE)
    judge(bench, MODEL, source="llm")
    bench.run("r", result("q2", "d1"))
    one = found(bench)[HUMAN, "m@1"]
    assert (one.tau, one.means) == (None, {"r": (None, None)})


def test_only_judgments_of_the_set_count(bench):
    judge(bench, PEOPLE)
    judge(bench, PEOPLE, query="elsewhere")
    judge(bench, MODEL, source="llm")
    judge(bench, MODEL, query="elsewhere", source="llm")
    assert found(bench)[HUMAN, "m@1"].n == 4


def test_without_people_there_is_nothing_to_agree_with(bench):
    judge(bench, MODEL, source="llm")
    with pytest.raises(UsageError, match="Nobody human has judged"):
        found(bench)


def test_text_has_a_row_per_pair_and_json_holds_everything(bench):
    judge(bench, PEOPLE)
    judge(bench, MODEL, source="llm")
    report = list(found(bench).values())
    (row,) = agreement_rows(report)
    assert len(row) == len(HEADER)
    assert row[:4] == (HUMAN, "m@1", 4, "0.750")
    text = agreement_details(report[0])
    assert "only human 1, only m@1 1, unreadable 0" in text
    assert "no human–human ceiling" in ceiling(report)
    plain = json.loads(json.dumps(report[0].to_dict()))
    assert len(plain["table"]) == 16


# --- verdicts ---------------------------------------------------------------------------------


def test_the_scale_of_verdicts_has_every_readable_verdict():
    assert {*SCALE, "malformed"} == set(VERDICTS)


def verdicts(item_id: str, **by_judge: str):
    row = result(item_id)
    row["verdicts"] = [
        {"assertion_id": "a0", "judge": judge, "verdict": verdict}
        for judge, verdict in by_judge.items()
    ]
    return row


def test_verdicts_of_a_judge_are_held_against_the_human_ones(bench):
    bench.run(
        "r",
        verdicts("q1", human="supported", model="partial"),
        verdicts("q2", human="missing", model="missing"),
        judge=None,
    )
    bench.run("s", verdicts("q1", human="partial", model="malformed"), judge=None)
    (one,) = verdict_agreement(bench.store, "default")
    assert (one.reference, one.judge, one.n, one.n_malformed) == ("human", "model", 2, 1)
    assert (one.raw, one.base_rate, one.n_reference_only) == (0.5, 0.5, 1)
    expected = agreement([3, 1], [2, 1], weights="linear", categories=range(4))
    assert one.kappa_linear == expected.kappa
    assert one.kappa_from["supported"] == agreement([1, 0], [0, 0]).kappa
    (only,) = verdict_agreement(bench.store, "default", runs=["s"])
    assert only.n == 0


def test_whoever_is_called_human_must_have_given_verdicts(bench):
    bench.run("r", verdicts("q1", model="partial"), judge=None)
    with pytest.raises(UnknownNameError, match="judge with verdicts"):
        verdict_agreement(bench.store, "default", human="ann")
