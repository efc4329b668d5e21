"""TREC files for other evaluators: relevance judgments (qrels) and runs."""

from __future__ import annotations

from typing import TextIO

import polars as pl

from crucible_batch.errors import ContractError

NO_ID = r"^$|[ \t\v\f\r\n]"
"""What an id between blanks cannot be."""


def write_trec_qrels(frame: pl.DataFrame, file: TextIO) -> int:
    """Write judgments as `query 0 document grade`, sorted by query and document bytewise.

    Args:
        frame: query_id, doc_id, grade; one row per pair (effective grades, not lanes).
        file: An open text file, UTF-8; nothing is written to it when this raises.

    Returns:
        The number of lines.

    Raises:
        ContractError: A pair stands twice, a value is null, or an id is empty or has blanks.
    """
    rows = frame.select("query_id", "doc_id", "grade").sort("query_id", "doc_id")
    _require_ids(rows)
    _require_distinct(rows)
    lines = rows.select(pl.format("{} 0 {} {}", "query_id", "doc_id", "grade"))
    return _write(lines.to_series(), file)


def write_trec_run(frame: pl.DataFrame, file: TextIO, *, tag: str) -> bool:
    """Write rankings as `query Q0 document rank score tag`, in the order of their ranks.

    TREC evaluators order by score, then by document id, and ignore the rank. The scores are
    written where that order is the order of the ranks for every query; otherwise every score is
    minus the rank, so that the file still says the same ranking.

    Args:
        frame: query_id, doc_id, rank, and score if there is one. Of a document retrieved twice for
            a query (two of its chunks) the first is written.
        file: An open text file, UTF-8; nothing is written to it when this raises.
        tag: Name of the run.

    Returns:
        Whether the scores are the run's own.

    Raises:
        ContractError: A query, document or rank is null, or an id or the tag is empty or has
            blanks.
    """
    score = pl.col("score") if "score" in frame.columns else pl.lit(None, pl.Float64).alias("score")
    rows = frame.select("query_id", "doc_id", "rank", score.cast(pl.Float64), tag=pl.lit(tag))
    _require_ids(rows, "tag")
    rows = (
        rows.sort("query_id", "rank", "doc_id")
        .unique(["query_id", "doc_id"], keep="first", maintain_order=True)
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    )
    own = _scores_say_the_ranks(rows)
    if not own:
        rows = rows.with_columns(score=-pl.col("rank").cast(pl.Float64))
    # repr() of a float is the shortest text that reads back as the same float.
    texts = pl.Series("score", [repr(value) for value in rows["score"]], dtype=pl.String())
    lines = rows.with_columns(texts).select(
        pl.format("{} Q0 {} {} {} {}", "query_id", "doc_id", "rank", "score", "tag")
    )
    _write(lines.to_series(), file)
    return own


def _scores_say_the_ranks(rows: pl.DataFrame) -> bool:
    if rows["score"].null_count() or not rows["score"].is_finite().all():
        return False
    by_score = rows.sort("query_id", "score", "doc_id", descending=[False, True, True])
    return by_score["doc_id"].equals(rows["doc_id"])


def _require_ids(rows: pl.DataFrame, *more: str) -> None:
    problems = [
        f"{name} is null in {rows[name].null_count():,} rows"
        for name in ("query_id", "doc_id", "grade", "rank")
        if name in rows.columns and rows[name].null_count()
    ]
    for name in ("query_id", "doc_id", *more):
        odd = rows[name].drop_nulls().unique()
        odd = odd.filter(odd.str.contains(NO_ID)).sort()
        problems += [f"{name} {value!r} is empty or has blanks" for value in odd]
    if problems:
        raise ContractError(
            "These rows cannot be written: TREC columns are separated by blanks",
            problems=problems,
            fix="export these rows in another format, or rename the ids",
        )


def _require_distinct(rows: pl.DataFrame) -> None:
    twice = rows.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if twice.height:
        raise ContractError(
            "These judgments cannot be written: a document is judged twice for one query",
            problems=[f"{q} {d}: grade {g}" for q, d, g in twice.iter_rows()],
            fix="resolve the grades first",
        )


def _write(lines: pl.Series, file: TextIO) -> int:
    file.writelines(f"{line}\n" for line in lines)
    return len(lines)
