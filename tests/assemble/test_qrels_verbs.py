"""Judging one document, seeding from citations, looking back, and which grade counts."""

from __future__ import annotations

import json

import polars as pl
import pytest
from bench import Bench, item, result, score_of

from crucible_batch.assemble.evaluate.ruler import Grading, judgments
from crucible_batch.assemble.qrels_add import add_qrel
from crucible_batch.assemble.qrels_history import qrel_history
from crucible_batch.assemble.qrels_seed import seed_qrels
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.metrics.grades import resolve_grades


@pytest.fixture
def bench(tmp_path) -> Bench:
    return Bench(tmp_path)


def add(bench: Bench, query: str, doc: str | None = "d1", grade: int = 2, **more):
    return add_qrel(bench.store, "default", query, doc, grade=grade, **({"author": "ann"} | more))


def llm(bench: Bench, query: str, doc: str, grade: int):
    return add(bench, query, doc, grade, source="llm", judge="m@1")


def grades(bench: Bench) -> dict[tuple[str, str], tuple[int, str]]:
    """(query, document) to the grade that counts and its source."""
    snapshot = bench.store.workspace("default").snapshot()
    overrides = snapshot.read("judgment_overrides").drop("_commit").collect()
    rows = resolve_grades(judgments(snapshot, overrides, Grading()))
    return {(q, d): (g, s) for q, d, g, s in rows.iter_rows()}


def authored(bench: Bench) -> list[dict]:
    return [e for e in bench.rows("audit_log") if e["action"] == "qrel.author"]


def test_a_judgment_is_a_row_in_its_authors_lane_with_an_event_in_the_same_commit(bench):
    done = add(bench, "q1", rationale="says so")
    row = done.rows.row(0, named=True)
    assert (done.appended, row["source"], row["judge"], row["author"]) == (1, "human", "ann", "ann")
    assert (row["target"], row["rationale"]) == ("doc:d1", "says so")
    log = bench.store.table("audit_log").collect().row(0, named=True)
    assert (log["_commit"], log["action"], log["target"]) == (done.commit, "qrel.author", "q1")
    assert json.loads(log["detail"]) == {"grade": 2, "qrel_id": row["qrel_id"]}


def test_a_query_that_is_no_item_is_judged_and_told(bench):
    bench.golden(item("q1"))
    done = add(bench, "q11")
    assert done.appended == 1
    assert done.messages == ("no golden item is called 'q11' yet. Did you mean q1?",)
    assert add(bench, "q1").messages == ()


@pytest.mark.parametrize("grade", [2, 0])
def test_a_lane_that_is_there_stays_and_is_returned(bench, grade):
    first = add(bench, "q1", grade=2)
    again = add(bench, "q1", grade=grade)
    assert (again.appended, again.already_there, again.commit) == (0, 1, None)
    assert again.rows.equals(first.rows)
    assert ("kept grade 2, offered 0: use crucible override qrel" in " ".join(again.messages)) == (
        grade == 0
    )
    assert len(bench.rows("qrels")) == len(authored(bench)) == 1


def test_lanes_are_told_apart_by_source_judge_and_target(bench):
    add(bench, "q1")
    add(bench, "q1", author="bob")
    add(bench, "q1", chunk_id="d1#1")
    llm(bench, "q1", "d1", 1)
    lanes = {(r["target"], r["source"], r["judge"]) for r in bench.rows("qrels")}
    assert lanes == {
        ("doc:d1", "human", "ann"),
        ("doc:d1", "human", "bob"),
        ("d1#1", "human", "ann"),
        ("doc:d1", "llm", "m@1"),
    }
    assert len(authored(bench)) == 4


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"grade": 7}, "grade"),
        ({"doc": None}, "doc_id or chunk_id|target"),
        ({"source": "llm"}, "model@prompt_version"),
        ({"source": "robot"}, "No source is called 'robot'"),
    ],
)
def test_a_judgment_that_breaks_the_contract_is_refused_with_its_reason(bench, options, match):
    with pytest.raises(UsageError, match=match):
        add(bench, "q1", **options)
    assert "default" not in bench.store.workspaces()


def test_a_chunk_judgment_counts_for_the_document_its_chunk_was_retrieved_from(bench):
    bench.golden(item("q1", must=1))
    hit = {"doc_id": "d9", "chunk_id": "d9#4", "score": 1.0}
    bench.run("r", {"item_id": "q1", "answer": "So.", "retrievals": [hit]})
    done = add(bench, "q1", None, 3, chunk_id="d9#4")
    assert done.rows["doc_id"].to_list() == ["d9"]
    assert grades(bench)["q1", "d9"] == (3, "human")
    assert score_of(bench.score("r"), "ndcg_at_10", "q1") == (1.0, None)


def test_a_human_zero_beats_an_llm_three(bench):
    llm(bench, "q1", "d1", 3)
    add(bench, "q1", grade=0)
    assert grades(bench)["q1", "d1"] == (0, "human")


def test_of_two_humans_the_maximum_counts(bench):
    add(bench, "q1", grade=1)
    add(bench, "q1", grade=3, author="bob")
    add(bench, "q1", grade=0, author="cyn")
    assert grades(bench)["q1", "d1"] == (3, "human")


def test_an_override_replaces_the_grade_of_its_lane_only(bench):
    add(bench, "q1", grade=3)
    add(bench, "q1", grade=1, author="bob")
    bench.override("qrels", "grade", ["q1", "doc:d1", "human", "ann"], "0")
    assert grades(bench)["q1", "d1"] == (1, "human")


def test_judgments_apply_after_an_edit_of_the_item_and_after_chunking_anew(bench):
    bench.golden(item("q1", must=1))
    before = {"doc_id": "d1", "chunk_id": "d1#1", "score": 1.0}
    bench.run("old", {"item_id": "q1", "answer": "So.", "retrievals": [before]})
    add(bench, "q1", None, 3, chunk_id="d1#1")
    bench.golden({**item("q1", must=2), "question": "Asked better?"})
    other = {"doc_id": "d1", "chunk_id": "d1-para-7", "score": 1.0}
    bench.run("new", {"item_id": "q1", "answer": "So.", "retrievals": [other]})
    assert bench.rows("golden_items")[-1]["revision"] == 2
    assert score_of(bench.score("old"), "ndcg_at_10", "q1") == (1.0, None)
    assert score_of(bench.score("new"), "ndcg_at_10", "q1") == (1.0, None)


# --- seed -------------------------------------------------------------------------------------


def uncited_store(bench: Bench) -> None:
    """Golden items whose citations were stored without their judgments."""
    bench.golden(item("q1"), item("q2"))
    for number, (item_id, doc, kind) in enumerate(
        [("q1", "d1", "required"), ("q1", "d2", "forbidden"), ("q2", "d3", "required")]
    ):
        row = {"item_id": item_id, "revision": 1, "doc_id": doc, "kind": kind}
        bench.append("golden_citations", row | {"chunk_id": f"{doc}#{number}"})


def test_seeding_grades_required_documents_once(bench):
    uncited_store(bench)
    assert seed_qrels(bench.store, "default").appended == 2
    assert grades(bench) == {("q1", "d1"): (3, "provenance"), ("q2", "d3"): (3, "provenance")}
    again = seed_qrels(bench.store, "default")
    assert (again.appended, again.already_there) == (0, 2)
    assert [e["actor"] for e in authored(bench)] == ["provenance"] * 2


def test_loading_golden_items_leaves_nothing_to_seed(bench):
    bench.golden(item("q1", required=("d1", "d2")))
    assert seed_qrels(bench.store, "default", "g").appended == 0


def test_seeding_leaves_retired_items_and_older_revisions_out(bench):
    uncited_store(bench)
    bench.golden(item("q1", required=("d7",)), item("q2"), retire_missing=True)
    bench.golden(item("q1", required=("d7",)), retire_missing=True)
    assert seed_qrels(bench.store, "default").appended == 0
    assert set(grades(bench)) == {("q1", "d7")}


def test_a_set_that_does_not_exist_is_not_seeded(bench):
    bench.golden(item("q1"))
    with pytest.raises(UnknownNameError, match="golden set"):
        seed_qrels(bench.store, "default", "h")


# --- history ----------------------------------------------------------------------------------


def test_the_history_of_a_document_has_its_judgments_overrides_and_chunks(bench):
    bench.golden(item("q1", required=("d1",)))
    llm(bench, "q1", "d1", 3)
    add(bench, "q1", "d1", 2, chunk_id="d1#2", rationale="half of it")
    add(bench, "q1", "d2", 1)
    bench.override("qrels", "grade", ["q1", "d1#2", "human", "ann"], "0")
    found = qrel_history(bench.store, "default", "q1", "d1")
    told = found.events.select("event", "target", "source", "grade", "author", "note").rows()
    assert sorted(told, key=str) == sorted(
        [
            ("judged", "doc:d1", "provenance", 3, None, None),
            ("judged", "doc:d1", "llm", 3, "ann", None),
            ("judged", "d1#2", "human", 2, "ann", "half of it"),
            ("overridden", "d1#2", "human", 0, "ann", "looked"),
        ],
        key=str,
    )
    assert (found.grade, found.source) == (0, "human")
    assert found.events["commit"].is_sorted()
    of_chunk = qrel_history(bench.store, "default", "q1", "d1#2")
    assert of_chunk.events["grade"].to_list() == [2, 0]


def test_the_history_as_of_a_commit_does_not_know_what_came_later(bench):
    pin = llm(bench, "q1", "d1", 3).commit
    add(bench, "q1", "d1", 0)
    assert qrel_history(bench.store, "default", "q1", "d1", pin=pin).source == "llm"


@pytest.mark.parametrize(("query", "doc"), [("q9", "d1"), ("q1", "d9")])
def test_what_nobody_judged_has_no_history(bench, query, doc):
    add(bench, "q1")
    with pytest.raises(UnknownNameError, match=f"called '{query if query == 'q9' else doc}'"):
        qrel_history(bench.store, "default", query, doc)


def test_an_unplaced_chunk_has_a_history_without_a_grade(bench):
    add(bench, "q1", None, 3, chunk_id="c1")
    found = qrel_history(bench.store, "default", "q1", "c1")
    assert (found.grade, found.events["grade"].to_list()) == (None, [3])


def test_many_ids_at_once_are_the_ids_one_by_one():
    from crucible_batch.store import qrel_id, qrel_ids

    texts = ["w", 'a"b', "ü\\", "tab\t", "\u2028", "x y"]
    lanes = pl.DataFrame(
        [(t, texts[-n], f"doc:{t}", "human", t) for n, t in enumerate(texts)],
        schema=["workspace_id", "query_id", "target", "source", "judge"],
        orient="row",
    )
    assert qrel_ids(lanes).to_list() == [qrel_id(*lane) for lane in lanes.iter_rows()]


def test_a_run_is_scored_by_judgments_of_documents_and_of_chunks_alike(bench):
    bench.golden(item("q1", must=1), item("q2", must=1))
    bench.run("r", result("q1", "d1"), result("q2", "d1"))
    add(bench, "q1", "d1", 3)
    add(bench, "q2", "d1", 3, chunk_id="d1#9")
    scored = bench.score("r")
    assert score_of(scored, "recall_at_10", "q1") == score_of(scored, "recall_at_10", "q2")
