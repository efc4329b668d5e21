"""document_changes.sql and churn.sql: what happened to each document, and how much that is."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from crucible_batch.sql import query

HASHES = {"doc_id": pl.String(), "content_hash": pl.String(), "hash_version": pl.String()}


def documents(text: str) -> pl.DataFrame:
    """`d1:h1 d2:h2/other`: documents with their hashes, and how those were made (default `v`)."""
    rows = []
    for word in text.split():
        doc_id, _, rest = word.partition(":")
        content_hash, _, hash_version = rest.partition("/")
        rows.append((doc_id, content_hash, hash_version or "v"))
    return pl.DataFrame(rows, schema=HASHES, orient="row")


def changes(before: str, now: str) -> list[tuple[str, str, str | None]]:
    sides = {"previous_documents": documents(before), "documents": documents(now)}
    frame = query("document_changes", sides)
    assert frame.schema == dict.fromkeys(frame.columns, pl.String())
    return frame.select("doc_id", "change", "moved_from").rows()


def churn(before: str, now: str) -> dict[str, Any]:
    sides = {"previous_documents": documents(before), "documents": documents(now)}
    found = query("document_changes", sides)
    row = query("churn", {"changes": found}, {"doc_count": sides["documents"].height})
    assert row.schema == {
        "doc_added": pl.Int64,
        "doc_removed": pl.Int64,
        "doc_changed": pl.Int64,
        "doc_churn": pl.Int64,
        "doc_churn_ratio": pl.Float64,
        "doc_moved": pl.Int64,
        "reason": pl.String,
    }
    assert row.height == 1
    return {name.removeprefix("doc_"): value for name, value in row.row(0, named=True).items()}


def test_documents_are_added_removed_or_changed_and_the_rest_is_left_out() -> None:
    assert changes("d1:h1 d2:h2 d3:h3", "d2:h2 d3:x d4:h4") == [
        ("d1", "removed", None),
        ("d3", "changed", None),
        ("d4", "added", None),
    ]


def test_an_added_document_with_the_hash_of_a_removed_one_comes_from_it() -> None:
    assert changes("old:h kept:k", "new:h kept:k") == [
        ("new", "added", "old"),
        ("old", "removed", None),
    ]


def test_a_copy_of_a_document_that_stays_is_not_moved() -> None:
    assert changes("a:h", "a:h b:h") == [("b", "added", None)]


def test_a_document_that_takes_the_text_of_a_removed_one_is_changed_not_moved() -> None:
    assert changes("a:h b:k", "a:k") == [("a", "changed", None), ("b", "removed", None)]


def test_equal_texts_are_paired_in_order_of_their_ids_each_used_once() -> None:
    assert changes("r2:h r1:h", "a3:h a1:h a2:h") == [
        ("a1", "added", "r1"),
        ("a2", "added", "r2"),
        ("a3", "added", None),
        ("r1", "removed", None),
        ("r2", "removed", None),
    ]
    assert churn("r2:h r1:h", "a3:h a1:h a2:h")["moved"] == 2
    assert churn("r1:h r2:h r3:h", "a1:h")["moved"] == 1


def test_ids_are_ordered_by_their_bytes() -> None:
    found = changes("Z:h é:h a:h", "n1:h n2:h n3:h")
    assert [row for row in found if row[2]] == [
        ("n1", "added", "Z"),
        ("n2", "added", "a"),
        ("n3", "added", "é"),
    ]


def test_a_hash_made_in_another_way_does_not_say_whether_the_text_changed() -> None:
    assert changes("a:h b:k", "a:x/w b:k/w") == [("a", "rehashed", None), ("b", "rehashed", None)]


def test_equal_hashes_made_in_different_ways_are_no_move() -> None:
    assert changes("a:h", "b:h/w") == [("a", "removed", None), ("b", "added", None)]


def test_churn_is_added_removed_and_changed_and_moved_stays_inside() -> None:
    assert churn("d1:h1 d2:h2 d3:h3", "e1:h1 d2:x d3:h3 d4:h4") == {
        "added": 2,
        "removed": 1,
        "changed": 1,
        "churn": 4,
        "churn_ratio": 4 / 5,
        "moved": 1,
        "reason": None,
    }


def test_nothing_happened_is_zero_and_a_ratio_of_zero() -> None:
    assert churn("a:h", "a:h") == {
        "added": 0,
        "removed": 0,
        "changed": 0,
        "churn": 0,
        "churn_ratio": 0.0,
        "moved": 0,
        "reason": None,
    }


@pytest.mark.parametrize(("before", "now"), [("a:h b:k", ""), ("", "a:h b:k")])
def test_all_that_is_gone_or_new_is_a_ratio_of_one(before: str, now: str) -> None:
    found = churn(before, now)
    assert (found["churn"], found["churn_ratio"]) == (2, 1.0)


def test_two_empty_versions_have_a_churn_of_zero_and_no_ratio() -> None:
    found = churn("", "")
    assert (found["churn"], found["churn_ratio"], found["moved"]) == (0, None, 0)


def test_another_way_to_hash_makes_changed_churn_and_moved_unknown_and_says_so() -> None:
    assert churn("a:h b:k c:l", "b:x/w c:y/w d:z/w") == {
        "added": 1,
        "removed": 1,
        "changed": None,
        "churn": None,
        "churn_ratio": None,
        "moved": None,
        "reason": "hash_version_changed",
    }


def test_one_rehashed_document_is_enough_to_make_the_count_unknown() -> None:
    found = churn("a:h b:k", "a:x b:y/w")
    assert (found["changed"], found["churn"], found["reason"]) == (
        None,
        None,
        "hash_version_changed",
    )


def test_new_documents_hashed_in_another_way_leave_everything_known() -> None:
    found = churn("a:h b:k", "a:h b:x c:y/w")
    assert (found["churn"], found["moved"], found["reason"]) == (2, 0, None)


def test_whether_documents_moved_is_unknown_when_new_and_gone_are_hashed_differently() -> None:
    found = churn("a:h b:k", "a:h c:k/w")
    assert (found["changed"], found["churn"]) == (0, 2)
    assert (found["moved"], found["reason"]) == (None, "hash_version_changed")
