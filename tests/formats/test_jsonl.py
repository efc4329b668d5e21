from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from crucible_batch.contracts.ids import assertion_id
from crucible_batch.errors import ContractError
from crucible_batch.formats import jsonl

RESULT = {"item_id": "a", "sample_index": 0, "answer": "x"}


def test_a_golden_item_brings_its_assertions_concepts_and_citations(write, load):
    item = {
        "item_id": "i1",
        "revision": 2,
        "question": "Who?",
        "answerable": True,
        "tags": ["t"],
        "assertions": [{"assertion_id": "a1", "level": "must", "text": "Me"}],
        "concepts": [{"entity_id": "e", "relevance": "required"}],
        "citations": [{"doc_id": "d", "kind": "required"}],
    }
    found = load(write("golden.jsonl", item), "golden")
    assert found.rows("golden_items", "item_id", "question", "tags") == [("i1", "Who?", ["t"])]
    key = ("item_id", "revision")
    assert found.rows("golden_assertions", *key, "assertion_id", "text") == [("i1", 2, "a1", "Me")]
    assert found.rows("golden_concepts", *key, "entity_id") == [("i1", 2, "e")]
    assert found.rows("golden_citations", *key, "doc_id", "chunk_id") == [("i1", 2, "d", None)]
    assert not found.problems("golden_items")


def test_a_result_brings_its_seven_kinds_of_rows(write, load):
    result = {
        **RESULT,
        "run_id": "r",
        "retrievals": [{"doc_id": "d1", "score": 2}, {"doc_id": "d2", "rank": 5}],
        "citations": [{"doc_id": "d1"}, {"doc_id": "d2"}],
        "verdicts": [{"assertion_id": "a1", "verdict": "supported"}],
        "claims": [{"claim_id": "c1", "grounded": True}],
        "concepts": [{"entity_id": "e", "place": "answer"}],
        "checks": [{"check_id": "k", "passed": False, "detail": {"b": 1, "a": "ü"}}],
        "scores": [{"metric": "faithfulness", "value": 1}],
    }
    found = load(write("r.jsonl", result), "run")
    key = ("run_id", "item_id", "sample_index")
    at = ("r", "a", 0)
    assert found.rows("retrievals", *key, "rank", "score") == [(*at, 1, 2.0), (*at, 5, None)]
    assert found.rows("answer_citations", *key, "ordinal", "doc_id") == [
        (*at, 1, "d1"),
        (*at, 2, "d2"),
    ]
    assert found.rows("assertion_verdicts", *key, "judge", "verdict") == [(*at, None, "supported")]
    assert found.rows("claims", *key, "grounded") == [(*at, True)]
    assert found.rows("detected_concepts", *key, "place") == [(*at, "answer")]
    assert found.rows("checks", *key, "detail") == [(*at, '{"a":"ü","b":1}')]
    assert found.rows("external_scores", *key, "value") == [(*at, 1.0)]
    assert all(not found.problems(table) for table in found.tables)


def test_a_missing_key_is_not_reported_and_an_empty_list_is(write, load):
    lines = [RESULT, {**RESULT, "item_id": "b", "citations": [], "concepts": None}]
    found = load(write("r.jsonl", *lines), "run")
    assert found.findings.reported == {"results", "answer_citations"}
    assert set(found.tables) == {"results"}


def test_the_first_line_may_give_the_run(write, load):
    found = load(write("r.jsonl", {"run": {"run_id": "r", "top_k": 5}}, RESULT), "run")
    assert found.findings.run == {"run_id": "r", "top_k": 5}
    assert found.rows("results", "item_id", "_source_row") == [("a", 2)]


def test_a_later_run_line_is_a_problem_of_its_row(write, load):
    found = load(write("r.jsonl", RESULT, {"run": {"run_id": "r"}}), "run")
    assert found.findings.run is None
    assert found.problems("results") == [
        'run: only the first line of a file gives the run: {"run_id": "r"}'
    ]


def test_a_run_line_that_is_no_object_is_refused(write, load):
    with pytest.raises(ContractError, match="begins with a run that is no object"):
        load(write("r.jsonl", {"run": "r1"}, RESULT), "run")


def test_parts_of_one_run_may_repeat_its_header_but_not_change_it(write, load, tmp_path):
    write("a.jsonl", {"run": {"run_id": "r"}}, RESULT)
    write("b.jsonl", {"run": {"run_id": "r"}}, {**RESULT, "item_id": "b"})
    assert load(tmp_path, "run")["results"].height == 2
    write("b.jsonl", {"run": {"run_id": "s"}}, RESULT)
    with pytest.raises(ContractError, match="describe different runs"):
        load(tmp_path, "run")


def test_a_file_with_only_a_run_header_has_no_rows(write, load):
    with pytest.raises(ContractError, match="no rows"):
        load(write("r.jsonl", {"run": {"run_id": "r"}}), "run")


@pytest.mark.parametrize("content", [b"\n", b"\xef\xbb\xbf", b"  \r\n\n"])
def test_a_file_of_blank_lines_has_no_rows(write, load, content):
    with pytest.raises(ContractError, match="no rows"):
        load(write("r.jsonl", content), "run")


def test_a_qrels_file_is_flat_whatever_its_name(write, load):
    row = {"query_id": "q", "doc_id": "d", "grade": 3, "source": "human"}
    found = load(write("judgments.jsonl", row), "qrels")
    assert found.rows("qrels", "query_id", "doc_id", "grade") == [("q", "d", 3)]


@pytest.mark.parametrize(
    ("name", "verb", "row"),
    [
        ("chunks.jsonl", "qrels", {"chunk_id": "c", "doc_id": "d"}),
        ("map.jsonl", "qrels", {"chunk_id": "c", "doc_id": "d"}),
        ("documents.jsonl", "corpus", {"doc_id": "d", "content_hash": "h", "hash_version": "1"}),
        ("d.jsonl", "corpus", {"doc_id": "d", "content_hash": "h", "hash_version": "1"}),
        ("entities-1.jsonl", "corpus", {"entity_id": "e", "entity_type": "t"}),
        ("mentions.jsonl", "corpus", {"entity_id": "e", "doc_id": "d"}),
        ("retrievals.jsonl", "run", {"item_id": "a", "rank": 1, "doc_id": "d"}),
        ("golden_assertions.jsonl", "golden", {"item_id": "a", "level": "must", "text": "x"}),
        ("anything.jsonl", "policy", {"decision_id": "d"}),
    ],
)
def test_flat_files_are_known_by_name_or_keys(write, load, name, verb, row):
    (table,) = load(write(name, row), verb).tables.values()
    assert table.select(row.keys()).rows(named=True) == [row]


def test_a_corpus_file_of_unknown_table_is_an_error(write, load):
    with pytest.raises(ContractError, match="more than one table, or none"):
        load(write("x.jsonl", {"doc_id": "d"}), "corpus")


@pytest.mark.parametrize("text", ["007", "nan", "null", "None", "", " ", "true", "日本\u2028"])
def test_texts_stay_what_they_are(write, load, text):
    found = load(write("r.jsonl", {"item_id": text, "answer": text}), "run")
    assert found.rows("results", "item_id", "answer") == [(text, text)]
    assert not found.problems("results")


@pytest.mark.parametrize(
    ("column", "text", "value"),
    [
        ("prompt_tokens", "3.0", 3),
        ("prompt_tokens", "3e2", 300),
        ("prompt_tokens", "-0.0", 0),
        ("prompt_tokens", "9223372036854775807", 2**63 - 1),
        ("confidence", "1", 1.0),
        ("latency_ms", "5e-324", 5e-324),
        ("abstained", "true", True),
        ("answer", "null", None),
        ("answered_at", '"2026-01-02T03:04:05Z"', datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("answered_at", '"20260102T030405.5+0200"', datetime(2026, 1, 2, 1, 4, 5, 500_000, UTC)),
        (
            "answered_at",
            '"2026-01-02 03:04:05.123456789-00:30"',
            datetime(2026, 1, 2, 3, 34, 5, 123456, UTC),
        ),
    ],
)
def test_values_that_fit_their_column_are_accepted(write, load, column, text, value):
    found = load(write("r.jsonl", f'{{"item_id": "a", "{column}": {text}}}'), "run")
    assert found.rows("results", column) == [(value,)]
    assert not found.problems("results")


@pytest.mark.parametrize(
    ("column", "text", "problem"),
    [
        ("item_id", "7", "item_id: not text: 7"),
        ("item_id", "true", "item_id: not text: true"),
        ("answer", '["x"]', 'answer: not text: ["x"]'),
        ("answer", '{"a": 1}', 'answer: not text: {"a": 1}'),
        ("prompt_tokens", "true", "prompt_tokens: not an integer of at least 0: true"),
        ("prompt_tokens", '"3"', 'prompt_tokens: not an integer of at least 0: "3"'),
        ("prompt_tokens", "1.9", "prompt_tokens: not an integer: 1.9"),
        ("prompt_tokens", "NaN", "prompt_tokens: not finite: NaN"),
        ("prompt_tokens", "9223372036854775808", "prompt_tokens: too large: 9223372036854775808"),
        ("prompt_tokens", "1e300", "prompt_tokens: too large: 1e+300"),
        ("confidence", "NaN", "confidence: not finite: NaN"),
        ("confidence", "-Infinity", "confidence: not finite: -Infinity"),
        ("confidence", "1e999", "confidence: not finite: Infinity"),
        ("confidence", "1" * 400, "confidence: not finite: " + "1" * 80),
        ("confidence", "false", "confidence: not a number in 0..1: false"),
        ("confidence", '"0.8"', 'confidence: not a number in 0..1: "0.8"'),
        ("abstained", "0", "abstained: not true or false: 0"),
        ("abstained", '"true"', 'abstained: not true or false: "true"'),
        ("answered_at", "1700000000", "answered_at: not an ISO 8601 time: 1700000000"),
        ("answered_at", '"2026-01-02"', "answered_at: no time zone: 2026-01-02"),
        ("answered_at", '"2026-01-02T03:04:05"', "answered_at: no time zone: 2026-01-02T03:04:05"),
        ("answered_at", '"02/28/2024"', "answered_at: not an ISO 8601 time: 02/28/2024"),
        (
            "answered_at",
            '"0001-01-01T00:00+23:00"',
            "answered_at: not an ISO 8601 time: 0001-01-01T00:00+23:00",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_null_with_a_reason(write, load, column, text, problem):
    line = f'{{"latency_ms": 5.5, "{column}": {text}}}'
    found = load(write("r.jsonl", '{"item_id": "ok"}', line), "run")
    assert found.reasons("results") == [[], [problem]]
    assert found.rows("results", column, "latency_ms")[1] == (None, 5.5)
    kept = json.loads(found["results"]["_row"][1], parse_constant=pytest.fail)
    assert kept.keys() == {"latency_ms", column}


def test_every_bad_value_of_a_row_is_named_and_the_row_kept_as_it_was(write, load):
    row = {"item_id": 5, "answer": 6, "confidence": "x", "latency_ms": float("inf")}
    found = load(write("r.jsonl", row), "run")
    assert sorted(found.problems("results")) == [
        "answer: not text: 6",
        'confidence: not a number in 0..1: "x"',
        "item_id: not text: 5",
        "latency_ms: not finite: Infinity",
    ]
    assert json.loads(found["results"]["_row"][0]) == {**row, "latency_ms": "Infinity"}


@pytest.mark.parametrize("tags", ['"a"', "[1]", "[null]", '{"a": 1}', '[["a"]]'])
def test_a_list_of_words_holds_only_texts(write, load, tags):
    line = f'{{"item_id": "a", "question": "q", "answerable": true, "tags": {tags}}}'
    (problem,) = load(write("g.jsonl", line), "golden").problems("golden_items")
    assert problem.startswith("tags: not a list of texts: ")


@pytest.mark.parametrize(
    ("detail", "problem"),
    [("3", "detail: not an object or a list: 3"), ('{"a": NaN}', 'detail: not finite: {"a": NaN}')],
)
def test_json_columns_hold_objects_and_lists(write, load, detail, problem):
    line = f'{{"item_id": "a", "checks": [{{"check_id": "c", "detail": {detail}}}]}}'
    assert load(write("r.jsonl", line), "run").problems("checks") == [problem]


def test_an_unknown_key_is_refused_with_the_nearest_name(write, load):
    row = {**RESULT, "answr": "x", "retreivals": [], "zzz": 1}
    found = load(write("r.jsonl", row), "run")
    assert found.problems("results") == [
        "answr: unknown key, did you mean answer?: x",
        "retreivals: unknown key, did you mean retrievals?: []",
        "zzz: unknown key: 1",
    ]
    assert json.loads(found["results"]["_row"][0]) == row


def test_an_unknown_key_of_a_child_is_a_problem_of_the_child_alone(write, load):
    row = {**RESULT, "retrievals": [{"doc": "d"}, {"doc_id": "d"}]}
    found = load(write("r.jsonl", row), "run")
    assert found.reasons("results") == [[]]
    assert found.reasons("retrievals") == [["doc: unknown key, did you mean doc_id?: d"], []]
    assert json.loads(found["retrievals"]["_row"][0])["item_id"] == "a"


def test_a_child_that_is_no_object_is_a_row_with_a_reason(write, load):
    found = load(write("r.jsonl", {**RESULT, "citations": ["d1", {"doc_id": "d2"}]}), "run")
    assert found.reasons("answer_citations") == [["answer_citations[1]: not an object: d1"], []]
    assert found.rows("answer_citations", "item_id", "ordinal") == [("a", None), ("a", 2)]


def test_children_that_are_no_list_are_a_problem_of_the_line(write, load):
    found = load(write("r.jsonl", {**RESULT, "scores": {"faithfulness": 1.0}}), "run")
    assert found.problems("results") == ['scores: not a list: {"faithfulness": 1.0}']
    assert "external_scores" not in found.findings.reported


def test_a_child_of_another_item_than_its_line_is_a_problem(write, load):
    row = {
        **RESULT,
        "citations": [{"doc_id": "d", "item_id": "b"}, {"doc_id": "d", "item_id": "a"}],
    }
    found = load(write("r.jsonl", row), "run")
    assert found.reasons("answer_citations") == [
        ["item_id: differs from the row it stands under: b"],
        [],
    ]


@pytest.mark.parametrize(
    ("line", "check"),
    [
        (b'{"item_id": "a"', "line: not JSON (Expecting ',' delimiter at character 16): "),
        (b'{"item_id": "a"} {"item_id": "b"}', "line: not JSON (Extra data at character 18): "),
        (b'{"item_id": "a",}', "line: not JSON (Expecting property name"),
        (b"item_id,answer", "line: not JSON (Expecting value at character 1): item_id,answer"),
        (b'["a"]', 'line: not a JSON object: ["a"]'),
        (b"7", "line: not a JSON object: 7"),
        (b'{"item_id": "a", "item_id": "b"}', "line: key 'item_id' stands twice in one object: "),
        (b'{"checks": [{"a": 1, "a": 1}]}', "line: key 'a' stands twice in one object: "),
        (b'{"item_id": "\xff"}', "line: not UTF-8 (byte 14): "),
        (b'{"prompt_tokens": ' + b"1" * 5000 + b"}", "line: a number is too long: "),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "line: nested too deeply: "),
        (b'{"a": ' + b"[" * 250 + b"]" * 250 + b"}", "line: nested too deeply: "),
        (b'{"answer": "a\tb"}', "line: not JSON (Invalid control character"),
        (b"\x00\x00", "line: not JSON (Expecting value"),
    ],
)
def test_a_broken_line_is_a_row_with_a_reason_and_its_text(write, load, line, check):
    found = load(write("r.jsonl", b'{"item_id": "ok"}\n' + line + b'\n{"item_id": "z"}\n'), "run")
    assert found["results"]["_source_row"].to_list() == [1, 2, 3]
    good, (problem,), also_good = found.reasons("results")
    assert (good, also_good) == ([], [])
    assert problem.startswith(check)
    assert len(problem) < 200
    assert found["results"]["_row"][1] == line.decode(errors="replace")
    assert found["results"]["item_id"].to_list() == ["ok", None, "z"]


def test_the_kept_text_of_a_broken_line_is_cut_at_one_mebibyte(write, load):
    found = load(write("r.jsonl", b"x" * (3 << 20)), "run")
    assert len(found["results"]["_row"][0]) == 1 << 20


def test_a_line_too_long_to_hold_is_a_broken_row(write, load, monkeypatch):
    from crucible_batch.formats import lines

    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 100)
    long = json.dumps({"item_id": "b", "answer": "x" * 5000})
    found = load(write("r.jsonl", RESULT, long, {**RESULT, "item_id": "c"}), "run")
    assert found["results"]["_source_row"].to_list() == [1, 2, 3]
    assert found.problems("results")[0].startswith("line: longer than 1,000 bytes: ")


@pytest.mark.parametrize(
    ("line", "answer", "n"),
    [
        (rb'{"item_id": "a", "answer": "x\ud835y"}', "x\ufffdy", 1),
        (rb'{"item_id": "a", "answer": "\uDC00\ud835"}', "\ufffd\ufffd", 2),
        (rb'{"item_id": "a", "answer": "\ud83d\ude00"}', "😀", 0),
        (rb'{"item_id": "a", "answer": "\\ud835"}', r"\ud835", 0),
        (b'{"item_id": "a", "answer": "x\xed\xa0\x80y"}', "x\ufffdy", 1),
    ],
)
def test_lone_surrogates_are_replaced_and_counted(write, load, line, answer, n):
    found = load(write("r.jsonl", line + b"\n"), "run")
    assert found.rows("results", "answer") == [(answer,)]
    assert found.findings.n_replaced_surrogates == n
    assert not found.problems("results")


def test_lone_surrogates_of_child_rows_and_keys_are_counted_too(write, load):
    line = (
        rb'{"item_id": "a", "\ud800": 1, "checks": [{"check_id": "c", "detail": {"k": "\udfff"}}]}'
    )
    found = load(write("r.jsonl", line), "run")
    assert found.findings.n_replaced_surrogates == 2
    assert found.rows("checks", "detail") == [('{"k":"\ufffd"}',)]


def test_windows_line_ends_blank_lines_and_a_byte_order_mark_do_no_harm(write, load):
    content = b'\xef\xbb\xbf{"item_id": "a"}\r\n\r\n \n{"item_id": "b"}\r\n'
    found = load(write("r.jsonl", content), "run")
    assert found.rows("results", "item_id", "_source_row") == [("a", 1), ("b", 4)]


def test_line_separators_inside_texts_end_no_line(write, load):
    line = json.dumps({"item_id": "a", "answer": "x\u2028y\x85z"}, ensure_ascii=False)
    assert load(write("r.jsonl", line), "run")["results"].height == 1


def test_chunks_are_bounded_by_lines_and_by_bytes(write, load, monkeypatch):
    lines = [{**RESULT, "item_id": f"i{n}"} for n in range(25)]
    monkeypatch.setattr(jsonl, "CHUNK_LINES", 10)
    path = write("r.jsonl", *lines)
    assert load(path, "run").heights["results"] == [10, 10, 5]
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 100)
    found = load(path, "run")
    assert max(found.heights["results"]) == 2
    assert found["results"]["item_id"].to_list() == [f"i{n}" for n in range(25)]


def test_a_column_that_only_some_chunks_have_is_null_in_the_others(write, load, monkeypatch):
    monkeypatch.setattr(jsonl, "CHUNK_LINES", 1)
    found = load(write("r.jsonl", RESULT, {"item_id": "b", "error": "x"}), "run")
    assert found.rows("results", "answer", "error") == [("x", None), (None, "x")]


def test_assertions_without_an_id_get_a_stable_one(write, load):
    assertions = [{"level": "must", "text": "x"}, {"level": "should", "text": "x"}, {"level": 1}]
    item = {"item_id": "i", "question": "q", "answerable": True, "assertions": assertions}
    ids = load(write("g.jsonl", item), "golden")["golden_assertions"]["assertion_id"].to_list()
    assert ids == [assertion_id("must", "x"), assertion_id("should", "x"), None]


def test_the_id_of_an_assertion_is_pinned_and_does_not_depend_on_the_spelling_of_a_character():
    import hashlib

    expected = "a-" + hashlib.sha256('["must","é"]'.encode()).hexdigest()[:12]
    assert assertion_id("must", "\u00e9") == assertion_id("must", "e\u0301") == expected


def test_the_commit_number_of_an_exported_row_is_ignored(write, load):
    assert not load(write("r.jsonl", {**RESULT, "_commit": 3}), "run").problems("results")


def test_a_file_name_that_fits_another_table_than_its_keys_misleads_nobody(write, load):
    assert load(write("runs-7.jsonl", RESULT), "run")["results"].height == 1
    assert load(write("checks.jsonl", {**RESULT, "checks": []}), "run")["results"].height == 1
