from __future__ import annotations

import hashlib

import polars as pl
from answer_run import AnswerRun

from crucible_batch.contracts import runs
from crucible_batch.metrics.answer_grains import ANSWER, KEY, OUTCOME
from crucible_batch.metrics.facts import evidence_hashes, expected_results


def test_every_expected_result_has_a_row_in_key_order() -> None:
    run = AnswerRun(samples_n=2).item("b").item("a").result("b", sample=1)
    rows = run.answers().select(*KEY, "has_result").rows()
    assert rows == [("a", 0, False), ("a", 1, False), ("b", 0, False), ("b", 1, True)]


def test_a_result_of_an_item_outside_the_set_has_no_row() -> None:
    assert AnswerRun().item("a").result("a").result("gone").answers()["item_id"].to_list() == ["a"]


def test_frames_have_the_columns_and_types_of_their_grain() -> None:
    run = AnswerRun().item("a").result("a")
    key = {"item_id": pl.String(), "sample_index": pl.Int64()}
    assert dict(run.answers().schema) == key | ANSWER.schema
    assert dict(run.outcomes().schema) == key | OUTCOME.schema


def test_an_empty_golden_set_has_no_rows() -> None:
    assert AnswerRun().answers().height == 0


def test_columns_of_results_are_kept_beside_their_state() -> None:
    run = AnswerRun().item("a").item("b").result("a", error="boom")
    found = expected_results(run.golden.items, run.rows.results, 1)
    assert found.select("item_id", "has_result", "errored", "error").rows() == [
        ("a", True, True, "boom"),
        ("b", False, False, None),
    ]


def retrieved(*rows: tuple[int, str, str | None]) -> pl.DataFrame:
    run = AnswerRun()
    for rank, doc, text in rows:
        run._add("retrievals", item_id="q", sample_index=0, rank=rank, doc_id=doc, text=text)
    return run.table("retrievals", runs.RETRIEVALS)


def test_the_evidence_hash_is_that_of_the_canonical_json() -> None:
    text = '[{"chunk_id":null,"doc_id":"d","rank":2,"text":"é"}]'
    expected = hashlib.sha256(text.encode()).hexdigest()
    assert evidence_hashes(retrieved((2, "d", "é"))).rows() == [("q", 0, expected)]


def test_the_evidence_hash_reads_rank_order_and_texts_only() -> None:
    forward = retrieved((1, "d", "x"), (2, "e", "y"), (3, "f", None))
    backward = retrieved((2, "e", "y"), (1, "d", "x"))
    assert evidence_hashes(forward).equals(evidence_hashes(backward))
    swapped = retrieved((1, "d", "y"), (2, "e", "x"))
    assert not evidence_hashes(forward).equals(evidence_hashes(swapped))


def test_a_result_without_texts_has_no_evidence_hash() -> None:
    assert evidence_hashes(retrieved((1, "d", None))).height == 0


def test_frames_do_not_depend_on_row_order() -> None:
    run = AnswerRun().item("a", must=["x", "y"], required=["d"], grades={"d": 3, "e": 2})
    run.item("b", must=["x"])
    run.result("a", verdicts={"x": "supported", "y": "partial"}, cites=["d", "e"], retrieved=["e"])
    run.result("b", verdicts={"x": "missing"}, claims=[(True, True), (False, None)])
    forward = run.answers()
    for rows in run.tables.values():
        rows.reverse()
    assert run.answers().equals(forward)
