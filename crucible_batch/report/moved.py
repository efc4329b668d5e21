"""The items that moved most, with the documents that moved them, as text for a terminal."""

from __future__ import annotations

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.focus import focus
from crucible_batch.report.lines import Row, declarations, declared, delta_text

SHOWN_DOCUMENTS = 6
"""Documents shown for an item, those first that add or take most."""


def moved_text(
    comparisons: pl.DataFrame,
    items: pl.DataFrame,
    documents: pl.DataFrame,
    catalog: pl.DataFrame,
    *,
    most: int = 5,
) -> str:
    """The items that moved most each way on the metric that matters most, and why.

    Args:
        comparisons: Rows of one comparison.
        items: `comparison_items` of it.
        documents: `comparison_documents` of it.
        catalog: `metric_catalog`.
        most: Items listed each way.

    Returns:
        Empty when nothing moved.
    """
    chosen = focus(comparisons)
    if chosen is None:
        return ""
    name, why = chosen
    metric = declared(declarations(catalog), name)
    own = items.filter((pl.col("metric") == name) & (pl.col("delta") != 0)).sort("rank")
    sign = -1 if metric["better"] == "lower" else 1
    lines = [f"items that moved most on {name} ({why}):"]
    for word, rows in (
        ("worse", own.filter(pl.col("delta") * sign < 0)),
        ("better", own.filter(pl.col("delta") * sign > 0)),
    ):
        if rows.height:
            lines.append(
                f"  {word}: {min(most, rows.height)} of {words.count(rows.height, 'item')}"
            )
        for row in rows.head(most).iter_rows(named=True):
            found = documents.filter(metric=name, item_id=row["item_id"])
            lines += [f"    {line}" for line in _item(row, metric, found)]
    return "\n".join(lines) if len(lines) > 1 else ""


def _item(row: Row, metric: Row, documents: pl.DataFrame) -> list[str]:
    """One item: its values, then a line per document that changed its place or its part."""
    ends = [words.amount(row[side], metric["unit"]) for side in ("baseline", "candidate")]
    told = {"ci_label": "ok", "delta": row["delta"]}
    head = f"{words.one_line(row['item_id'])}  {' → '.join(ends)}  {delta_text(told, metric)}"
    changed = changed_documents(documents)
    lines = [f"  {_document(one)}" for one in changed.head(SHOWN_DOCUMENTS).iter_rows(named=True)]
    if changed.height > SHOWN_DOCUMENTS:
        rest = words.count(changed.height - SHOWN_DOCUMENTS, "more document")
        lines.append(f"  {rest} in comparison_documents")
    return [head, *lines]


def _document(row: Row) -> str:
    part = "" if not row["contribution"] else f"  {words.signed(row['contribution'])}"
    return f"{words.one_line(row['doc_id'])}  {place_text(row)}  {grade_text(row)}{part}"


def changed_documents(documents: pl.DataFrame) -> pl.DataFrame:
    """Documents of one item that changed their place or their part, those first that did most.

    Where nothing is known of their parts, the most relevant ones come first.

    Args:
        documents: Rows of `comparison_documents` of one metric and item.
    """
    size = pl.col("contribution").abs().fill_null(0.0)
    old, new = pl.col("rank_baseline"), pl.col("rank_candidate")
    return documents.filter(old.ne_missing(new) | (size > 0)).sort(
        size,
        pl.col("grade").fill_null(-1),
        pl.min_horizontal(old, new),
        "doc_id",
        descending=[True, True, False, False],
    )


def place_text(row: Row) -> str:
    """From which rank to which a document went."""
    old, new = row["rank_baseline"], row["rank_candidate"]
    if old is None:
        return f"entered at {new}"
    if new is None:
        return f"left from {old}"
    return f"{old} → {new}" if old != new else f"stayed at {new}"


def grade_text(row: Row) -> str:
    """How relevant it was judged."""
    return "unjudged" if row["grade"] is None else f"grade {row['grade']}"
