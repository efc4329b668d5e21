from __future__ import annotations

import json

import polars as pl
import pytest

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.conform import complete, conform
from crucible_batch.contracts.reasons import count_reasons, reason_lines
from crucible_batch.contracts.validate import reject, split, split_duplicates

RESULTS, QRELS, SCORES = (TABLES[name] for name in ("results", "qrels", "external_scores"))


def results(**columns):
    """One good result with some columns replaced."""
    good = {
        "workspace_id": "w",
        "run_id": "r",
        "item_id": "q",
        "sample_index": 0,
        "retrieval_ran": True,
    }
    frame = pl.DataFrame(good).with_columns(**columns)
    return complete(RESULTS, conform(RESULTS, frame, source="in"))


def reasons(frame, table=RESULTS, **options):
    parts = split(table, frame, **options)
    assert parts.accepted.height + parts.quarantined.height == frame.height
    return [text for texts in parts.quarantined["_reasons"] for text in texts]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"item_id": pl.lit("")}, ["item_id: blank: "]),
        ({"item_id": pl.lit(" \u2003")}, ["item_id: blank:  \u2003"]),
        ({"item_id": pl.lit(None, pl.String)}, ["item_id: null: null"]),
        ({"item_id": pl.lit("a\tb")}, ["item_id: control_character: a\tb"]),
        ({"item_id": pl.lit("x" * 257)}, [f"item_id: id_too_long: {'x' * 80}"]),
        (
            {"confidence": pl.lit(float("nan"))},
            ["confidence: not finite: NaN", "confidence: not in 0..1: NaN"],
        ),
        ({"confidence": pl.lit(1.5)}, ["confidence: not in 0..1: 1.5"]),
        (
            {"latency_ms": pl.lit(float("inf"))},
            ["latency_ms: not finite: inf", "latency_ms: not in 0..1e+15: inf"],
        ),
        ({"latency_ms": pl.lit(-1.0)}, ["latency_ms: not in 0..1e+15: -1.0"]),
        ({"sample_index": pl.lit(-1)}, ["sample_index: not in 0..9999: -1"]),
        ({"prompt_tokens": pl.lit(2.5)}, ["prompt_tokens: not an integer: 2.5"]),
        ({"workspace_id": pl.lit("a/b")}, ["workspace_id: not_a_workspace_name: a/b"]),
        ({"answer": pl.lit("é" * (2**19) + "x")}, [f"answer: text_too_long: {'é' * 80}"]),
    ],
)
def test_a_bad_value_is_named_with_column_check_and_value(columns, said):
    assert reasons(results(**columns)) == said


@pytest.mark.parametrize(
    "columns",
    [
        {"answer": pl.lit("")},
        {"answer": pl.lit("nan")},
        {"answer": pl.lit("x" * 2**20)},
        {"item_id": pl.lit("007")},
        {"item_id": pl.lit("null")},
        {"item_id": pl.lit("é" * 256)},
        {"confidence": pl.lit(0.0)},
        {"confidence": pl.lit(1.0)},
        {"workspace_id": pl.lit("A1._-")},
    ],
)
def test_values_that_look_odd_but_keep_the_contract_are_accepted(columns):
    assert reasons(results(**columns)) == []


def test_a_row_carries_every_reason_it_has():
    frame = results(item_id=pl.lit(""), confidence=pl.lit(2.0), sample_index=pl.lit(-1))
    assert len(reasons(frame)) == 3


def test_the_quarantined_row_is_kept_whole():
    row = split(RESULTS, results(confidence=pl.lit(2.0))).quarantined.row(0, named=True)
    assert json.loads(row["_row"]) | {"item_id": "q", "confidence": 2.0} == json.loads(row["_row"])
    assert (row["_source_file"], row["_source_row"]) == ("in", 1)


def test_a_rule_names_its_column_and_the_value_there():
    frame = pl.DataFrame(
        {
            "workspace_id": ["w"] * 3,
            "run_id": ["r"] * 3,
            "item_id": ["a", "b", "c"],
            "metric": ["made_up", "faithfulness", "plugin.a.b"],
            "value": [0.5, 7.0, 7.0],
        }
    )
    full = complete(SCORES, conform(SCORES, frame, source="in"))
    assert reasons(full, SCORES) == [
        "metric: not_a_payload_or_plugin_name: made_up",
        "value: payload_out_of_range: 7.0",
    ]


def test_a_rule_does_not_repeat_what_is_said_of_its_value():
    frame = pl.DataFrame(
        {
            "workspace_id": ["w"] * 2,
            "run_id": ["r"] * 2,
            "item_id": ["a", "b"],
            "metric": ["faithfulness"] * 2,
            "value": [float("nan"), None],
        }
    )
    full = complete(SCORES, conform(SCORES, frame, source="in"))
    assert reasons(full, SCORES) == [
        "value: not finite: NaN",
        "value: not in -1e+15..1e+15: NaN",
        "value: null: null",
    ]


def test_a_column_filled_later_may_be_null_until_then():
    frame = pl.DataFrame(
        {
            "workspace_id": ["w"],
            "query_id": ["q"],
            "target": ["doc:d"],
            "source": ["human"],
            "judge": ["human"],
            "doc_id": ["d"],
            "grade": [3],
        }
    )
    full = complete(QRELS, conform(QRELS, frame, source="in"))
    assert reasons(full, QRELS, later=["qrel_id", "created_at"]) == []
    assert reasons(full, QRELS) == ["qrel_id: null: null", "created_at: null: null"]


def test_a_null_in_a_list_and_a_long_text_in_a_list_are_found():
    items = TABLES["golden_items"]
    frame = pl.DataFrame(
        {
            "workspace_id": ["w"] * 3,
            "item_id": ["a", "b", "c"],
            "revision": [1] * 3,
            "golden_set": ["g"] * 3,
            "question": ["?"] * 3,
            "answerable": [True] * 3,
            "contexts": [["x", None], ["x" * (2**20 + 1)], None],
        }
    )
    full = complete(items, conform(items, frame, source="in"))
    kinds = [text.split(": ")[:2] for text in reasons(full, items)]
    assert kinds == [["contexts", "null_in_list"], ["contexts", "text_too_long"]]


def test_a_lazy_frame_is_refused_because_pandera_would_not_look_at_its_data():
    with pytest.raises(TypeError, match="collected"):
        split(RESULTS, results().lazy())


def test_identical_copies_count_as_already_there_and_the_first_stays():
    frame = pl.concat([results(), results(item_id=pl.lit("p")), results()])
    frame = frame.with_columns(_source_row=pl.Series([1, 2, 3]))
    parts = split_duplicates(RESULTS, frame)
    assert parts.accepted["_source_row"].to_list() == [1, 2]
    assert (parts.quarantined.height, parts.n_already_there) == (0, 1)


def test_one_key_with_different_contents_is_put_aside_with_all_its_rows():
    frame = pl.concat([results(), results(answer=pl.lit("x")), results()])
    parts = split_duplicates(RESULTS, frame)
    assert parts.accepted.height == 0
    assert parts.n_already_there == 0
    assert parts.quarantined["_reasons"].to_list() == [["sample_index: duplicate_key: r, q, 0"]] * 3


def test_null_key_parts_count_as_equal():
    table = TABLES["mentions"]
    row = {"workspace_id": "w", "corpus_version": "v", "entity_id": "e", "doc_id": "d"}
    frame = complete(table, conform(table, pl.DataFrame([row, row]), source="in"))
    parts = split_duplicates(table, frame)
    assert (parts.accepted.height, parts.n_already_there) == (1, 1)


def test_rejecting_leaves_rows_of_a_null_condition():
    frame = pl.concat([results(), results(confidence=pl.lit(0.5))])
    parts = reject(frame, pl.col("confidence") > 0, pl.lit("confidence: rule: 0.5"))
    assert (parts.accepted.height, parts.quarantined.height) == (1, 1)


def test_reasons_are_counted_with_their_first_place():
    frames = [
        split(
            RESULTS, results(sample_index=pl.lit(-n), _source_row=pl.lit(n, pl.Int64))
        ).quarantined
        for n in (3, 2)
    ]
    other = split(RESULTS, results(confidence=pl.lit(2.0))).quarantined
    lines = reason_lines([count_reasons(frame) for frame in [*frames, other]])
    assert lines == [
        "sample_index: not in 0..9999: -2 (2 rows, first at in row 2)",
        "confidence: not in 0..1: 2.0 (1 row, first at in row 1)",
    ]
    assert reason_lines([]) == []
