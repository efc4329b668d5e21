"""A result, an item, the judgments of a query: each stands or falls with its own rows."""

from __future__ import annotations

import polars as pl
import pytest

from crucible_batch.errors import ContractError, UsageError


@pytest.fixture
def loads(with_golden):
    return with_golden


def ranked(*docs, **last):
    """Retrievals of these documents, the last one changed."""
    rows = [{"doc_id": doc, "score": float(-n)} for n, doc in enumerate(docs)]
    return [*rows[:-1], rows[-1] | last]


def claims(number, *grounded, **last):
    """Rows of the table `claims` for one result, the last one changed."""
    rows = [
        {"item_id": f"q{number}", "claim_id": f"c{n}", "grounded": value}
        for n, value in enumerate(grounded)
    ]
    return [*rows[:-1], rows[-1] | last]


def test_the_reason_names_the_refused_row_with_file_row_and_value(loads, result, counted):
    bad = result(2, retrievals=ranked("d1", "d2", score="high"), citations=[{"doc_id": "d1"}])
    report = loads.run(loads.lines("r.jsonl", result(1), bad), run="r")
    said = f'retrievals of {loads.folder}/in/r.jsonl row 2: score: not a number: "high"'
    assert f"results.item_id: child_quarantined: {said}" in "\n".join(report.reasons)
    assert "answer_citations.item_id: parent_quarantined: q2 sample 0" in "\n".join(report.reasons)
    assert counted(report, "results") == (2, 1, 1, 0)
    assert counted(report, "retrievals") == (2, 0, 2, 0)
    assert counted(report, "answer_citations") == (1, 0, 1, 0)


def test_a_corrected_file_brings_the_refused_result_as_a_part(loads, result, counted):
    good = [result(n, retrievals=ranked("d1", "d2")) for n in (1, 2)]
    bad = result(2, retrievals=ranked("d1", "d2", doc_id=""))
    loads.run(loads.lines("r.jsonl", good[0], bad), run="r")
    assert loads.rows("results", "item_id") == ["q1"]
    report = loads.run(loads.lines("r.jsonl", *good), run="r", part="corrected")
    assert counted(report, "results") == (2, 1, 0, 1)
    assert counted(report, "retrievals") == (4, 2, 0, 2)
    assert loads.rows("results", "item_id") == ["q1", "q2"]


def test_the_same_bad_file_again_is_a_no_op(loads, result):
    path = loads.lines("r.jsonl", result(1), result(2, retrievals=ranked("d1", score="x")))
    loads.run(path, run="r")
    assert not loads.run(path, run="r").created


def test_one_sample_falls_and_the_other_stays(loads, result):
    rows = [result(1, sample_index=n, retrievals=ranked("d1", rank=n)) for n in (0, 1)]
    loads.run(loads.lines("r.jsonl", *rows), run="r")
    assert loads.rows("results", "item_id", "sample_index") == [("q1", 1)]


def test_a_bad_line_of_a_result_harms_no_other_sample_of_its_item(loads, result):
    rows = [result(1), result(1, sample_index="1", retrievals=ranked("d1"))]
    loads.run(loads.lines("r.jsonl", *rows), run="r")
    assert loads.rows("results", "item_id", "sample_index") == [("q1", 0)]


def test_rows_under_a_refused_line_never_join_a_good_line_of_the_same_result(
    loads, result, counted
):
    good = result(1, retrievals=ranked("d1"), claims=[{"claim_id": "1", "grounded": False}])
    bad = result(1, confidence=2, retrievals=ranked("d1", "d2"), claims=good["claims"])
    report = loads.run(loads.lines("r.jsonl", bad, good), run="r")
    assert loads.rows("retrievals", "rank", "doc_id") == [(1, "d1")]
    assert counted(report, "retrievals") == (3, 1, 2, 0)
    assert counted(report, "claims") == (2, 1, 1, 0)


def test_all_copies_of_a_refused_result_are_refused_and_none_is_already_there(
    loads, result, counted
):
    bad = result(1, retrievals=ranked("d1", "d2", score="x"), claims=[{"claim_id": "1"}])
    report = loads.run(loads.lines("r.jsonl", bad, bad, result(2)), run="r")
    assert counted(report, "results") == (3, 1, 2, 0)
    assert counted(report, "retrievals") == (4, 0, 4, 0)
    assert counted(report, "claims") == (2, 0, 2, 0)


def test_copies_beyond_memory_follow_their_result_too(loads, result, counted, monkeypatch):
    monkeypatch.setattr("crucible_batch.assemble.load.report.KEPT_ROWS", 1)
    bad, good = result(1, retrievals=ranked("d1", "d2", score="x")), result(2)
    report = loads.run(loads.lines("r.jsonl", bad, bad, bad, good, good, good), run="r")
    assert counted(report, "results") == (6, 1, 3, 2)


def test_a_child_twice_under_a_refused_result_is_not_already_there(loads, result, counted):
    path = loads.lines("r.jsonl", result(1), result(2), result(2, answer="Else."))
    table = loads.parquet("claims.parquet", claims(2, True) * 2)
    report = loads.run(path, table, run="r")
    assert counted(report, "claims") == (2, 0, 2, 0)


@pytest.mark.parametrize("part", [None, "2"])
def test_a_bad_row_of_a_stored_result_refuses_the_load_that_brings_it(loads, result, part):
    loads.run(loads.lines("r.jsonl", result(1), result(2)), run="r")
    before = loads.everything()
    rows = [*claims(1, True, False, claim_id=" "), *claims(2, True)]
    with pytest.raises(ContractError, match="or stored already") as caught:
        loads.run(loads.parquet("claims.parquet", rows), run="r", part=part)
    assert "claims.parquet row 2: claim_id: blank" in str(caught.value)
    assert len(list(loads.store.root.glob("default/quarantine/*/claims.parquet"))) == 1
    assert all(frame.equals(before[name]) for name, frame in loads.everything().items())
    rows[1]["claim_id"] = "c1"
    loads.run(loads.parquet("claims.parquet", rows), run="r", part=part)
    assert loads.rows("claims", "item_id", "claim_id") == [("q1", "c0"), ("q1", "c1"), ("q2", "c0")]


def test_a_bad_verdict_on_a_stored_result_leaves_its_assertion_unjudged(loads, result, counted):
    loads.run(loads.lines("r.jsonl", result(1)), run="r")
    verdicts = [
        {"item_id": "q1", "assertion_id": "must", "verdict": "supported"},
        {"item_id": "q1", "assertion_id": "should", "verdict": "right"},
    ]
    report = loads.run(loads.parquet("assertion_verdicts.parquet", verdicts), run="r")
    assert counted(report, "assertion_verdicts") == (2, 1, 1, 0)


def test_a_verdict_on_an_assertion_of_another_revision_harms_no_result(loads, result, counted):
    verdicts = [{"assertion_id": name, "verdict": "supported"} for name in ("must", "old")]
    report = loads.run(loads.lines("r.jsonl", result(1, verdicts=verdicts)), run="r")
    assert counted(report, "results") == (1, 1, 0, 0)
    assert counted(report, "assertion_verdicts") == (2, 1, 1, 0)


def test_a_bad_row_that_names_no_result_refuses_the_load(loads, result):
    path = loads.lines("r.jsonl", result(1), result(2))
    rows = [*claims(1, True), *claims(2, False, item_id=None)]
    with pytest.raises(ContractError, match="it is not named") as caught:
        loads.run(path, loads.parquet("claims.parquet", rows), run="r")
    assert "claims.parquet row 2: item_id: null" in str(caught.value)
    assert loads.rows("runs") == []


def test_a_line_of_a_ranking_that_names_no_query_refuses_the_load(loads):
    path = loads.raw("r.trec", b"q1 Q0 d1 1 0.5 t\n\xff\xfe Q0 d1 1 0.5 t\n")
    with pytest.raises(ContractError, match="row 2: line: not UTF-8"):
        loads.run(path)


def test_a_ranking_of_which_no_line_has_six_columns_says_so(loads):
    path = loads.lines("r.trec", *[f"q1 d{n} {n} 0.5 t" for n in range(9)])
    with pytest.raises(ContractError, match="no rows of results") as caught:
        loads.run(path)
    assert "r.trec row 1: line: 5 columns, not 6 (" in str(caught.value)


def test_what_a_run_lacks_is_told_when_no_part_is_to_come(loads, result):
    report = loads.run(loads.lines("a.jsonl", result(1), result(2)), run="a")
    assert report.messages == ("2 of 4 items have no result; they will count as missing",)
    rows = [result(n, sample_index=s) for n in (1, 2, 3) for s in (0, 1)]
    parts = loads.lines("1.jsonl", *rows[:4]), loads.lines("2.jsonl", *rows[4:])
    header = loads.lines("run.jsonl", {"run": {"run_id": "b", "samples_n": 2}})
    assert loads.run(header, parts[0], part="1").messages == ()
    report = loads.run(header, parts[1], part="2", status="succeeded")
    said = "2 of 8 results (4 items × 2 samples) are not there; they will count as missing"
    assert report.messages == (said,)


def test_lenient_refuses_an_item_that_lacks_a_refused_row(loads, item, counted):
    good = [{"level": "must", "text": "So."}]
    both = [{"doc_id": "d", "kind": kind} for kind in ("required", "forbidden")]
    path = loads.lines(
        "golden.jsonl",
        item(11, assertions=[*good, {"level": "most", "text": "Not so."}]),
        item(12, assertions=good, citations=both),
        item(13, assertions=good),
    )
    report = loads.golden(path, lenient=True)
    assert counted(report, "golden_items") == (3, 1, 2, 0)
    assert counted(report, "golden_assertions") == (4, 1, 3, 0)
    assert "golden.jsonl row 1: level: not one of must, should: most" in "\n".join(report.reasons)
    assert {"q11", "q12"}.isdisjoint(loads.rows("golden_items", "item_id"))


def test_lenient_does_not_take_a_bad_row_that_names_no_item(loads, item):
    rows = [{"item_id": "q11", "level": "must", "text": text} for text in ("So.", "Not so.")]
    rows[1]["item_id"] = " "
    path = loads.parquet("golden_assertions.parquet", rows)
    with pytest.raises(ContractError, match="the item they belong to: it is not named"):
        loads.golden(loads.lines("golden.jsonl", item(11)), path, lenient=True)


def test_lenient_refuses_all_judgments_on_a_query_that_lacks_a_refused_one(loads, counted):
    rows = [
        {"query_id": query, "doc_id": f"d{grade}", "grade": grade, "source": "human"}
        for query, grade in [("q1", 1), ("q1", 3), ("q1", 4), ("q3", 2)]
    ]
    report = loads.qrels(loads.lines("qrels.jsonl", *rows), lenient=True)
    assert counted(report, "qrels") == (4, 1, 3, 0)
    assert "qrels.jsonl row 3: grade: not in 0..3: 4" in "\n".join(report.reasons)
    assert ("q1", "d1") not in loads.rows("qrels", "query_id", "doc_id")
    trec = loads.lines("x.qrels", "q1 0 d1 1", "q1 0 d3", "q3 0 d4 2")
    report = loads.qrels(trec, lenient=True)
    assert counted(report, "qrels") == (3, 1, 2, 0)


def test_lenient_does_not_take_a_judgment_that_names_no_query(loads):
    good = {"query_id": "q1", "doc_id": "d", "grade": 1, "source": "human"}
    path = loads.lines("qrels.jsonl", good, good | {"query_id": ""})
    with pytest.raises(ContractError, match="the query they belong to: it is not named"):
        loads.qrels(path, lenient=True)


@pytest.mark.parametrize("option", [{"source": "human"}, {"judge": "ann"}])
def test_options_of_trec_judgments_are_refused_where_they_would_change_nothing(loads, option):
    row = {"query_id": "q1", "doc_id": "d", "grade": 1, "source": "human"}
    with pytest.raises(UsageError, match="would change nothing in files that are not TREC"):
        loads.qrels(loads.lines("qrels.jsonl", row), **option)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("results", {"latency_ms": 1e308}),
        ("results", {"cost_usd": 1.1e15}),
        ("external_scores", {"metric": "plugin.a.b", "value": -1e200}),
    ],
)
def test_a_number_whose_square_no_sum_could_hold_is_refused(loads, result, table, row):
    results = [{"item_id": "q1"}, {"item_id": "q2"}]
    paths = []
    if table == "results":
        results[1] |= row
    else:
        paths = [loads.parquet(f"{table}.parquet", [{"item_id": "q2"} | row])]
    report = loads.run(loads.parquet("results.parquet", results), *paths, run="r")
    assert any("1e+15: " in line for line in report.reasons)
    assert loads.rows("results", "item_id") == ["q1"]
    aside = [pl.read_parquet(path, glob=False) for path in report.quarantine]
    assert all(frame["item_id"].to_list() == ["q2"] for frame in aside)
