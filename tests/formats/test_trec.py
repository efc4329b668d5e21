from __future__ import annotations

import gzip
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats import blanks, trec
from crucible_batch.formats.trec import Lane
from crucible_batch.formats.trec_write import write_trec_qrels, write_trec_run

RUN_LINE = "6 (item_id q0 doc_id rank score_text tag)"


def ranking(found) -> list[tuple]:
    return sorted(found.rows("retrievals", "item_id", "rank", "doc_id", "score"))


def test_ranks_follow_the_scores_and_the_rank_column_is_ignored(write, load):
    found = load(write("a.trec", "q Q0 d1 1 0.5 t", "q Q0 d2 2 0.9 t"), "run")
    assert ranking(found) == [("q", 1, "d2", 0.9), ("q", 2, "d1", 0.5)]


def test_ties_go_by_document_id_descending_bytewise(write, load):
    lines = [f"q Q0 {doc} 1 1.0 t" for doc in ("d10", "d9", "D9", "é", "z")]
    found = load(write("a.trec", *lines), "run")
    assert [row[2] for row in ranking(found)] == ["é", "z", "d9", "d10", "D9"]


@pytest.mark.parametrize("scores", [("-0.0", "0.0"), ("0.0", "-0.0")])
def test_minus_zero_and_zero_are_a_tie(write, load, scores):
    found = load(write("a.trec", f"q Q0 b 1 {scores[0]} t", f"q Q0 a 2 {scores[1]} t"), "run")
    assert [row[2] for row in ranking(found)] == ["b", "a"]


def test_scores_that_float32_would_tie_are_told_apart(write, load):
    found = load(write("a.trec", "q Q0 a 1 1.000000001 t", "q Q0 b 2 1.0 t"), "run")
    assert [row[2] for row in ranking(found)] == ["a", "b"]


def test_each_query_is_one_result_at_its_first_line(write, load):
    found = load(write("a.trec", "q2 Q0 a 1 1 t", "q1 Q0 a 1 1 t", "q2 Q0 b 2 9 t"), "run")
    rows = found.rows(
        "results", "item_id", "sample_index", "retrieval_ran", "answer", "_source_row"
    )
    assert sorted(rows) == [("q1", 0, True, None, 2), ("q2", 0, True, None, 1)]
    assert found.findings.reported == {"results", "retrievals"}
    assert found.findings.tags == {"t"}


@pytest.mark.parametrize(
    "line",
    [
        "q\tQ0\td\t1\t0.5\tt",
        "q   Q0 \t d  1\t\t0.5 t",
        "  q Q0 d 1 0.5 t  ",
        "\tq Q0 d 1 0.5 t\t",
        "q Q0 d 1 0.5 t\r",
        "q\vQ0\fd 1 0.5 t",
    ],
)
def test_any_blanks_separate_columns(write, load, line):
    found = load(write("a.trec", line, "q Q0 e 2 0.1 t", line.replace("d", "f")), "run")
    assert [row[2] for row in ranking(found)] == ["f", "d", "e"]
    assert not found.problems("retrievals")


@pytest.mark.parametrize(
    "doc",
    [
        "msmarco_v2.1_doc_00_1534870566#4_2687181963",
        "#x",
        '"x',
        "'x",
        "007",
        "NA",
        "null",
        "a,b",
        "é",
    ],
)
def test_ids_are_text_whatever_they_look_like(write, load, doc):
    found = load(write("a.trec", f"{doc} Q0 {doc} 1 0.5 t"), "run")
    assert ranking(found) == [(doc, 1, doc, 0.5)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q Q0 d 1 0.5", f"line: 5 columns, not {RUN_LINE}: q Q0 d 1 0.5"),
        ("q Q0 d 1 0.5 t extra", f"line: 7 columns, not {RUN_LINE}: q Q0 d 1 0.5 t extra"),
        ("word", f"line: 1 columns, not {RUN_LINE}: word"),
        ("q Q0 d 1 high t", "score: not a number: high"),
        ("q Q0 d 1 1_000 t", "score: not a number: 1_000"),
        ("q Q0 d 1 0,5 t", "score: not a number: 0,5"),
        ("q Q0 d 1 NaN t", "score: not finite: NaN"),
        ("q Q0 d 1 -inf t", "score: not finite: -inf"),
        ("q Q0 d 1 1e999 t", "score: not finite: 1e999"),
    ],
)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_broken_line_is_a_row_with_its_number_and_the_others_are_ranked(
    write, load, line, problem, at
):
    lines = ["q Q0 a 1 2 t", "q Q0 b 2 1 t"]
    lines.insert(at, line)
    found = load(write("a.trec", *lines), "run", as_format="trec")
    broken = found["retrievals"].filter(pl.col("_reasons").list.len() > 0)
    assert broken.select("_source_row", "_reasons", "_row", "rank").rows() == [
        (at + 1, [problem], line, None)
    ]
    good = found["retrievals"].filter(pl.col("_reasons").list.len() == 0)
    assert good.select("doc_id", "rank").rows() == [("a", 1), ("b", 2)]


def test_a_line_that_is_not_utf_8_is_a_broken_row(write, load):
    found = load(write("a.trec", b"q Q0 a 1 2 t\nq Q0 \xff 2 1 t\n"), "run")
    assert found.problems("retrievals") == ["line: not UTF-8 (byte 6): q Q0 \ufffd 2 1 t"]


def test_blank_lines_count_as_lines_and_as_nothing_else(write, load):
    found = load(write("a.trec", b"\n\nq Q0 a 1 2 t\n \t\nq Q0 b 1 1 t\n\n\n"), "run")
    assert found.rows("retrievals", "doc_id", "_source_row") == [("a", 3), ("b", 5)]
    assert found.findings.n_rows == {"results": 1, "retrievals": 2}


def test_a_document_retrieved_twice_stays_two_rows(write, load):
    found = load(write("a.trec", "q Q0 a 1 2 t", "q Q0 a 2 2 t", "q Q0 b 3 3 t"), "run")
    assert ranking(found) == [("q", 1, "b", 3.0), ("q", 2, "a", 2.0), ("q", 3, "a", 2.0)]


def test_a_ranking_spread_over_files_is_one_ranking(write, load, tmp_path):
    write("1.trec", "q Q0 a 1 1 t", "r Q0 a 1 1 t")
    (tmp_path / "2.trec.gz").write_bytes(gzip.compress(b"q Q0 b 1 2 t\n"))
    found = load(tmp_path, "run")
    assert ranking(found) == [("q", 1, "b", 2.0), ("q", 2, "a", 1.0), ("r", 1, "a", 1.0)]
    assert len(found.rows("results", "item_id")) == 2


def test_the_ranking_does_not_depend_on_the_order_of_lines_blocks_or_the_way_through_the_disk(
    write, load, monkeypatch
):
    chance = random.Random(7)
    lines = [f"q{n % 13} Q0 d{n} 1 {chance.choice([0.1, 0.2, 1e-9])} t" for n in range(500)]
    expected = ranking(load(write("a.trec", *lines), "run"))
    assert len(expected) == 500
    chance.shuffle(lines)
    path = write("b.trec", *lines)
    assert ranking(load(path, "run")) == expected
    monkeypatch.setattr(blanks, "BLOCK_BYTES", 100)
    monkeypatch.setattr(trec, "SPILL_ROWS", 60)
    monkeypatch.setattr(trec, "CHUNK_ROWS", 7)
    found = load(path, "run")
    assert ranking(found) == expected
    assert sorted(found["retrievals"]["_source_row"]) == list(range(1, 501))
    assert max(found.heights["retrievals"]) <= 7


def test_a_run_whose_last_block_went_to_disk_is_whole(write, load, monkeypatch):
    monkeypatch.setattr(trec, "SPILL_ROWS", 3)
    found = load(write("a.trec", *[f"q Q0 d{n} 1 {n} t" for n in range(3)]), "run")
    assert [row[2] for row in ranking(found)] == ["d2", "d1", "d0"]


def test_ranks_agree_with_trec_evals_order_by_a_plain_loop(write, load):
    chance = random.Random(3)
    rows = [
        (f"q{n % 3}", f"d{n:03}", chance.choice([1.5, 2.25, -3.0, 0.1 + 0.2])) for n in range(90)
    ]
    found = load(write("a.trec", *(f"{q} Q0 {d} 0 {s!r} t" for q, d, s in rows)), "run")
    for query in ("q0", "q1", "q2"):
        mine = [(s, d.encode(), d) for q, d, s in rows if q == query]
        plain = [doc for _, _, doc in sorted(mine, reverse=True)]
        assert [row[2] for row in ranking(found) if row[0] == query] == plain


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
@settings(deadline=None)
def test_scores_are_read_as_exactly_the_floats_written(tmp_path_factory, load, scores):
    path = tmp_path_factory.mktemp("t") / "a.trec"
    path.write_text("".join(f"q Q0 d{n} 1 {s!r} t\n" for n, s in enumerate(scores)))
    found = load(path, "run")
    read = dict(found.rows("retrievals", "doc_id", "score"))
    assert [read[f"d{n}"].hex() for n in range(len(scores))] == [s.hex() for s in scores]


def test_a_file_without_lines_has_no_rows(write, load):
    with pytest.raises(ContractError, match="no rows"):
        load(write("a.trec", b"\n \n"), "run")


def test_qrels_are_human_judgments_of_documents_unless_said_otherwise(write, load):
    found = load(write("a.qrels", "q 0 d 3", "q Q0 e 0", "q 1 f -1"), "qrels")
    columns = ("query_id", "doc_id", "grade", "source", "judge", "judge_model", "_source_row")
    assert found.rows("qrels", *columns) == [
        ("q", "d", 3, "human", "human", None, 1),
        ("q", "e", 0, "human", "human", None, 2),
        ("q", "f", -1, "human", "human", None, 3),
    ]
    assert not found.problems("qrels")


def test_llm_grades_name_their_model_and_prompt(write, load):
    found = load(write("a.qrels", "q 0 d 3"), "qrels", lane=Lane("llm", "org/m@2024@p1"))
    columns = ("source", "judge", "judge_model", "prompt_version")
    assert found.rows("qrels", *columns) == [("llm", "org/m@2024@p1", "org/m@2024", "p1")]


@pytest.mark.parametrize("judge", [None, "model", "@p1", "model@"])
def test_an_llm_lane_without_model_and_prompt_is_a_usage_error(judge):
    with pytest.raises(UsageError, match="judge of llm grades") as caught:
        Lane("llm", judge).columns()
    assert "model@prompt_version" in caught.value.fix


@pytest.mark.parametrize("grade", ["1.9", "1.0", "x", "1e0", "0x1", "--1", "1" * 30, "+", "٣"])
def test_a_grade_that_is_no_integer_is_a_problem_never_truncated(write, load, grade):
    found = load(write("a.qrels", "q 0 d 1", f"q 0 e {grade}"), "qrels")
    assert found.reasons("qrels") == [[], [f"grade: not an integer: {grade}"]]
    assert found.rows("qrels", "doc_id", "grade", "_row")[1] == ("e", None, f"q 0 e {grade}")


def test_a_signed_grade_is_an_integer(write, load):
    assert load(write("a.qrels", "q 0 d +2", "q 0 e -1"), "qrels").rows("qrels", "grade") == [
        (2,),
        (-1,),
    ]


def test_qrels_with_three_columns_are_broken_rows(write, load):
    found = load(write("a.qrels", "q 0 d"), "qrels", as_format="trec")
    assert found.problems("qrels") == [
        "line: 3 columns, not 4 (query_id iteration doc_id grade_text): q 0 d"
    ]


def test_a_pair_judged_twice_stays_two_rows(write, load):
    assert load(write("a.qrels", "q 0 d 1", "q 0 d 2"), "qrels")["qrels"].height == 2


def written(write, frame, path, **more):
    with path.open("w", encoding="utf-8", newline="\n") as file:
        return write(frame, file, **more)


def test_written_qrels_read_back_and_are_sorted_bytewise(load, tmp_path):
    frame = pl.DataFrame(
        {"query_id": ["b", "a", "a"], "doc_id": ["x", "é", "z"], "grade": [1, -1, 3]}
    )
    assert written(write_trec_qrels, frame, tmp_path / "q.qrels") == 3
    assert (tmp_path / "q.qrels").read_text(encoding="utf-8") == "a 0 z 3\na 0 é -1\nb 0 x 1\n"
    assert load(tmp_path / "q.qrels", "qrels")["qrels"].height == 3


@pytest.mark.parametrize("doc", ["", "a b", "a\tb", "a\nb", None])
def test_ids_that_trec_cannot_hold_are_refused(tmp_path, doc):
    frame = pl.DataFrame(
        {"query_id": ["q"], "doc_id": [doc], "grade": [1]}, schema_overrides={"doc_id": pl.String}
    )
    with pytest.raises(ContractError, match="separated by blanks") as caught:
        written(write_trec_qrels, frame, tmp_path / "q")
    assert "doc_id" in caught.value.problems[0]
    assert (tmp_path / "q").read_text() == ""


def test_a_pair_judged_twice_cannot_be_written(tmp_path):
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["d", "d"], "grade": [1, 2]})
    with pytest.raises(ContractError, match="judged twice"):
        written(write_trec_qrels, frame, tmp_path / "q")


RUN = pl.DataFrame(
    {
        "query_id": ["q", "q", "p"],
        "doc_id": ["a", "b", "a"],
        "rank": [1, 3, 1],
        "score": [0.1 + 0.2, 0.1, 5.0],
    }
)


def test_a_written_run_reads_back_with_its_scores(load, tmp_path):
    assert written(write_trec_run, RUN, tmp_path / "r.trec", tag="t") is True
    text = "p Q0 a 1 5.0 t\nq Q0 a 1 0.30000000000000004 t\nq Q0 b 2 0.1 t\n"
    assert (tmp_path / "r.trec").read_text() == text
    assert ranking(load(tmp_path / "r.trec", "run")) == [
        ("p", 1, "a", 5.0),
        ("q", 1, "a", 0.1 + 0.2),
        ("q", 2, "b", 0.1),
    ]


@pytest.mark.parametrize(
    "scores", [[0.1, 0.2, 5.0], [1.0, 1.0, 5.0], [None, 0.1, 5.0], [float("inf"), 0.1, 5.0]]
)
def test_scores_that_say_another_order_than_the_ranks_are_replaced(load, tmp_path, scores):
    frame = RUN.with_columns(pl.Series("score", scores, dtype=pl.Float64))
    assert written(write_trec_run, frame, tmp_path / "r.trec", tag="t") is False
    assert ranking(load(tmp_path / "r.trec", "run")) == [
        ("p", 1, "a", -1.0),
        ("q", 1, "a", -1.0),
        ("q", 2, "b", -2.0),
    ]


def test_a_run_without_scores_is_written_by_its_ranks(load, tmp_path):
    assert written(write_trec_run, RUN.drop("score"), tmp_path / "r.trec", tag="t") is False
    assert [row[2] for row in ranking(load(tmp_path / "r.trec", "run"))] == ["a", "a", "b"]


def test_of_a_document_retrieved_twice_the_first_is_written(tmp_path):
    frame = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b", "a"], "rank": [1, 2, 3]})
    written(write_trec_run, frame, tmp_path / "r.trec", tag="t")
    assert (tmp_path / "r.trec").read_text() == "q Q0 a 1 -1.0 t\nq Q0 b 2 -2.0 t\n"


def test_a_tag_with_blanks_is_refused(tmp_path):
    with pytest.raises(ContractError, match="separated by blanks"):
        written(write_trec_run, RUN, tmp_path / "r", tag="my run")


def test_public_runs_are_read_whole(cases, load):
    folder = cases / "data" / "dl_passage"
    found = load(folder / "run.BM25.dl19.trec", "run")
    lines = (folder / "run.BM25.dl19.trec").read_text().splitlines()
    assert found["retrievals"].height == len(lines)
    assert found["results"].height == len({line.split()[0] for line in lines})
    assert not found.problems("retrievals")
    qrels = load(folder / "qrels.dl19-passage.txt", "qrels")
    assert qrels["qrels"].height == len(
        (folder / "qrels.dl19-passage.txt").read_text().splitlines()
    )
    assert not qrels.problems("qrels")
