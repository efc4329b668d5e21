"""The documents of an answer: what it cites, and what of it was retrieved."""

from __future__ import annotations

import polars as pl

from crucible_batch.metrics.answer_grains import KEY
from crucible_batch.metrics.facts import Golden, RunRows

ON = list(KEY)
PAIR = ["item_id", "doc_id"]


def cited_documents(
    rows: RunRows, golden: Golden, grades: pl.DataFrame, relevant_at: int
) -> pl.DataFrame:
    """Distinct documents cited: is_judged, is_relevant, is_required, is_forbidden."""
    kinds = golden.citations.group_by(PAIR).agg(
        is_required=(pl.col("kind") == "required").any(),
        is_forbidden=(pl.col("kind") == "forbidden").any(),
    )
    cited = rows.answer_citations.select(*KEY, "doc_id").unique()
    given = grades.select(*PAIR, "grade")[: None if cited.height else 0]
    cited = cited.join(given, on=PAIR, how="left")
    cited = cited.join(kinds, on=PAIR, how="left").with_columns(
        pl.col("is_required", "is_forbidden").fill_null(value=False)
    )
    relevant = (pl.col("grade") >= relevant_at).fill_null(value=False)
    return cited.with_columns(
        is_judged=pl.col("grade").is_not_null(),
        is_relevant=relevant & ~pl.col("is_forbidden"),
    )


def retrieved_documents(
    retrievals: pl.DataFrame, golden: Golden, cited: pl.DataFrame
) -> pl.DataFrame:
    """Distinct documents retrieved that are required or cited: is_required, is_superseded."""
    required = golden.citations.filter(pl.col("kind") == "required").select(PAIR).unique()
    concerned = pl.concat([required, cited.select(PAIR)]).unique()
    # Rankings are long and few of their documents matter here.
    rows = retrievals.select(*KEY, "doc_id", "superseded").join(concerned, on=PAIR, how="semi")
    documents = rows.group_by(*KEY, "doc_id").agg(
        is_superseded=pl.col("superseded").fill_null(value=False).any()
    )
    return documents.join(
        required.with_columns(is_required=pl.lit(value=True)), on=PAIR, how="left"
    ).with_columns(pl.col("is_required").fill_null(value=False))


def citation_counts(cited: pl.DataFrame, retrieved: pl.DataFrame) -> pl.DataFrame:
    """Cited documents, counted by what they are."""
    documents = cited.join(
        retrieved.select(*KEY, "doc_id", is_retrieved=pl.lit(value=True)),
        on=[*ON, "doc_id"],
        how="left",
    )
    return documents.group_by(KEY).agg(
        n_cited=pl.len(),
        cited_relevant=pl.col("is_relevant").sum(),
        cited_judged=pl.col("is_judged").sum(),
        cited_required=pl.col("is_required").sum(),
        cited_forbidden=pl.col("is_forbidden").sum(),
        cited_not_retrieved=pl.col("is_retrieved").is_null().sum(),
    )


def evidence_counts(retrievals: pl.DataFrame, retrieved: pl.DataFrame) -> pl.DataFrame:
    """Required documents retrieved, superseded ones among those that matter, conflicts."""
    documents = retrieved.group_by(KEY).agg(
        required_retrieved=pl.col("is_required").sum(), superseded=pl.col("is_superseded").any()
    )
    conflicts = (
        retrievals.filter(pl.col("conflicts_with").is_not_null())
        .select(KEY)
        .unique()
        .with_columns(conflicting=pl.lit(value=True))
    )
    return documents.join(conflicts, on=ON, how="full", coalesce=True)
