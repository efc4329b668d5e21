from __future__ import annotations

import json

import polars as pl
import pytest

from crucible_batch.errors import ContractError, UsageError
from crucible_batch.store import qrel_id


def judgment(query="q1", grade=3, **more):
    return {"query_id": query, "doc_id": "d1", "grade": grade, "source": "human", **more}


def test_a_judgment_is_stored_with_its_lane_id_and_audit_event(loads, counted):
    report = loads.qrels(loads.lines("qrels.jsonl", judgment(author="ann")))
    assert counted(report, "qrels") == (1, 1, 0, 0)
    own = qrel_id("default", "q1", "doc:d1", "human", "ann")
    assert loads.rows("qrels", "qrel_id", "target", "judge") == [(own, "doc:d1", "ann")]
    assert loads.rows("audit_log", "action", "target", "actor") == [("qrel.author", "q1", "ann")]


def test_the_same_judgments_again_are_a_no_op(loads, counted):
    path = loads.lines("qrels.jsonl", judgment(), judgment("q2", 0))
    assert loads.qrels(path).created
    again = loads.qrels(path)
    assert (again.created, counted(again, "qrels")) == (False, (2, 0, 0, 2))
    shuffled = loads.lines("b.jsonl", judgment("q2", 0)), loads.lines("a.jsonl", judgment())
    assert not loads.qrels(*shuffled).created


def test_a_judged_lane_keeps_its_grade_and_says_so_every_time(loads, counted):
    loads.qrels(loads.lines("a.jsonl", judgment(grade=3)))
    offered = loads.lines("b.jsonl", judgment(grade=1), judgment("q2"))
    for fresh in (1, 0):
        report = loads.qrels(offered)
        assert counted(report, "qrels") == (2, fresh, 0, 2 - fresh)
        said = "kept grade 3, offered 1: use crucible override qrel"
        assert any(said in message for message in report.messages)
    assert loads.rows("qrels", "grade") == [3, 3]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (judgment(grade=4), "grade: not in 0..3: 4"),
        (judgment(grade=-1), "grade: not in 0..3: -1"),
        (judgment(grade=1.5), "grade: not an integer: 1.5"),
        (judgment(grade="3"), 'grade: not an integer in 0..3: "3"'),
        (judgment(grade=None), "grade: null"),
        (judgment(source="robot"), "source: not one of human, provenance, llm: robot"),
        (judgment(query=""), "query_id: blank"),
        (judgment(query=7), "query_id: not text: 7"),
        (judgment(doc_id=None), "doc_id: target_is_missing: null"),
        (judgment(target="doc:d2"), "target: target_is_not_its_chunk_or_document: doc:d2"),
        (judgment(judge_model="m"), "judge_model: judge_model_exactly_for_llm: m"),
        (judgment(source="llm", judge="x"), "prompt_version_exactly_for_llm"),
    ],
)
def test_a_bad_judgment_refuses_the_file_with_row_and_value(loads, row, said):
    with pytest.raises(ContractError) as caught:
        loads.qrels(loads.lines("qrels.jsonl", judgment("q9"), row))
    assert said in str(caught.value)
    assert "qrels.jsonl row 2" in str(caught.value)
    assert loads.rows("qrels") == []


def test_lenient_keeps_the_good_judgments(loads, counted):
    path = loads.lines("qrels.jsonl", judgment("q9"), judgment(grade=9))
    report = loads.qrels(path, lenient=True)
    assert counted(report, "qrels") == (2, 1, 1, 0)
    row = json.loads(pl.read_parquet(report.quarantine[0])["_row"][0])
    assert (row["grade"], row["created_at"], row["qrel_id"]) == (9, None, None)


def test_one_lane_with_two_grades_is_refused(loads):
    with pytest.raises(ContractError, match="duplicate_key: q1, doc:d1, human, human"):
        loads.qrels(loads.lines("qrels.jsonl", judgment(grade=1), judgment(grade=2)))


def test_llm_judgments_are_named_by_model_and_prompt(loads):
    llm = judgment(source="llm", judge_model="m", prompt_version="p")
    loads.qrels(loads.lines("qrels.jsonl", llm))
    assert loads.rows("qrels", "judge") == ["m@p"]


def test_trec_files_take_their_lane_from_the_command(loads):
    path = loads.lines("x.qrels", "q1 0 d1 2", "q1 0 d2 0")
    loads.qrels(path)
    loads.qrels(path, source="llm", judge="m@p")
    assert loads.rows("qrels", "source", "judge", "grade") == [
        ("human", "human", 2),
        ("llm", "m@p", 2),
        ("human", "human", 0),
        ("llm", "m@p", 0),
    ]
    with pytest.raises(UsageError, match="No source is called 'robot'"):
        loads.qrels(path, source="robot")
    with pytest.raises(UsageError, match="model@prompt_version"):
        loads.qrels(path, source="llm", judge="m")


def test_a_chunk_judgment_gets_the_document_of_its_chunk(loads, counted):
    chunks = loads.parquet("chunks.parquet", [{"chunk_id": "c1", "doc_id": "d7"}])
    known, lost = ({**judgment(), "doc_id": None, "chunk_id": c} for c in ("c1", "c9"))
    report = loads.qrels(loads.lines("qrels.jsonl", known, lost), chunks)
    assert counted(report, "chunks") == (1, 1, 0, 0)
    assert loads.rows("qrels", "target", "doc_id") == [("c1", "d7"), ("c9", None)]


def test_a_chunk_is_also_known_from_a_ranking_and_the_map_comes_first(with_golden, result):
    loads = with_golden
    ranked = [{"doc_id": "d5", "chunk_id": "c1"}, {"doc_id": "d6", "chunk_id": "c2"}]
    loads.run(loads.lines("r.jsonl", result(1, retrievals=ranked)), run="r")
    loads.qrels(loads.parquet("chunks.parquet", [{"chunk_id": "c2", "doc_id": "d7"}]))
    rows = [{**judgment(), "doc_id": None, "chunk_id": c} for c in ("c1", "c2")]
    loads.qrels(loads.lines("qrels.jsonl", *rows))
    placed = loads.rows("qrels", "target", "doc_id", "source")
    assert [row[:2] for row in placed if row[2] == "human"] == [("c1", "d5"), ("c2", "d7")]


def test_a_chunk_of_another_document_is_refused(loads):
    loads.qrels(loads.parquet("chunks.parquet", [{"chunk_id": "c", "doc_id": "d1"}]))
    with pytest.raises(Exception, match="chunk_id 'c': doc_id is 'd1', the input says 'd2'"):
        loads.qrels(loads.parquet("chunks.parquet", [{"chunk_id": "c", "doc_id": "d2"}]))
