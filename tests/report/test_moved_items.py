"""Items that moved most: what changed in the top k, and answers that share their room."""

from __future__ import annotations

import polars as pl
import pytest
from page import Page
from report_nights import document_rows
from report_tables import frame, item, two_runs

from crucible_batch.report import build_report, to_html, to_markdown
from crucible_batch.report.moved_items import ROOM, SHOWN_DOCUMENTS, MovedItems


def moved(**tables) -> MovedItems:
    found = build_report(two_runs(**tables)).moved
    assert found is not None
    return found


def answers(text: str, n_items: int = 60):
    return frame(
        "results",
        [
            {"run_id": run_id, "item_id": item(k), "answer": text, "retrieval_ran": True}
            for run_id in ("cand", "base")
            for k in range(n_items)
        ],
    )


def test_an_item_names_the_documents_that_moved_it_those_first_that_did_most() -> None:
    rows = frame("comparison_documents", document_rows("recall_at_10", 60))
    first = moved(comparison_documents=rows).worse[0]
    assert [(one.doc_id, one.place, one.grade) for one in first.documents] == [
        ("document-5", "6 → 7", "grade 1"),
        ("document-4", "5 → 6", "grade 0"),
        ("document-3", "4 → 5", "grade 3"),
    ]
    assert first.documents[0].part is not None
    assert first.documents[0].part.text == "−0.060"
    assert first.n_more_documents == 6 - SHOWN_DOCUMENTS


def test_documents_of_another_metric_are_not_told() -> None:
    rows = frame("comparison_documents", document_rows("accuracy", 60))
    assert moved(comparison_documents=rows).worse[0].documents == ()


def test_where_nothing_is_known_of_their_parts_the_most_relevant_documents_come_first() -> None:
    rows = [{**row, "contribution": None} for row in document_rows("recall_at_10", 60)]
    rows[1]["grade"] = None
    first = moved(comparison_documents=frame("comparison_documents", rows)).worse[0]
    assert [one.grade for one in first.documents] == ["grade 3", "grade 2", "grade 1"]
    assert first.documents[0].part is None


def test_page_and_markdown_tell_what_changed_in_the_top_k() -> None:
    rows = frame("comparison_documents", document_rows("recall_at_10", 60))
    report = build_report(two_runs(comparison_documents=rows))
    line = "document-5 6 → 7, grade 1, −0.060 · document-4 5 → 6, grade 0, −0.050"
    assert line in Page.of(to_html(report)).all("main")[0].text
    assert f"  - Top k: {line}" in to_markdown(report)


def test_the_same_answer_of_both_runs_is_printed_once() -> None:
    text = "The same words."
    page = to_html(build_report(two_runs(results=answers(text))))
    assert page.count(text) == 20
    assert "Answer, the same of both" in page


@pytest.mark.parametrize("length", [50, 500, 5_000])
def test_answers_share_their_room_whatever_their_length(length: int) -> None:
    rows = answers("é" * length)
    other = rows.with_columns(answer=pl.concat_str("run_id", "answer"))
    found = moved(results=other)
    items = (*found.worse, *found.better)
    shown = [one.answer_candidate or "" for one in items]
    shown += [one.answer_baseline or "" for one in items]
    assert sum(text.count("é") for text in shown) <= ROOM
    assert all(text.count("é") >= min(length, 140) for text in shown)
