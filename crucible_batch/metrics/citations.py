"""Citation metrics, on the distinct documents an answer cites."""

from __future__ import annotations

import polars as pl

from crucible_batch.metrics.answer_grains import ANSWER
from crucible_batch.metrics.answer_nulls import (
    ANSWERED,
    CONTEXTS_PROVIDED,
    REPORTED_CITATIONS,
    REPORTED_RETRIEVAL,
)
from crucible_batch.metrics.metric import Example, Metric
from crucible_batch.metrics.nulls import Null

N_CITED = pl.col("n_cited")
# Citations are of documents also where chunks are ranked and judged.
WITHOUT_GRADES = (pl.col("n_qrels") == 0) & (pl.col("n_graded") == 0)
UNANSWERABLE = Null("unanswerable", ~pl.col("answerable") & WITHOUT_GRADES)
NO_REQUIRED = Null("no_required_citations", pl.col("n_required") == 0)
CITED = (*ANSWERED, REPORTED_CITATIONS, Null("no_citations", N_CITED == 0))
JUDGED = (Null("no_qrels", WITHOUT_GRADES), Null("unplaced", pl.col("n_graded") == 0))
ON_JUDGED = (UNANSWERABLE, *CITED, *JUDGED)


def citation_precision() -> Metric:
    """Share of cited documents that are relevant and not forbidden."""
    return Metric(
        name="citation_precision",
        title="Citation precision",
        group="citations",
        grain=ANSWER,
        expr=pl.col("cited_relevant") / N_CITED,
        nulls=ON_JUDGED,
        headline=True,
        summary="Share of cited documents that are relevant and not forbidden; unjudged is not.",
        formula="cited documents graded relevant_at or more and not forbidden / cited documents",
        source="Crucible; ALCE, Gao et al. 2023",
        example=Example.of(0.5, n_graded=3, n_cited=4, cited_judged=3, cited_relevant=2),
    )


def citation_precision_judged() -> Metric:
    """Share of judged cited documents that are relevant and not forbidden."""
    return Metric(
        name="citation_precision_judged",
        title="Citation precision (judged only)",
        group="citations",
        grain=ANSWER,
        expr=pl.col("cited_relevant") / pl.col("cited_judged"),
        nulls=(*ON_JUDGED, Null("not_judged", pl.col("cited_judged") == 0)),
        summary="Share of the judged cited documents that are relevant and not forbidden.",
        formula="cited documents graded relevant_at or more and not forbidden / cited documents"
        " that are judged",
        source="Crucible; judged-only measures, Sakai 2007",
        example=Example.of(2 / 3, n_graded=3, n_cited=4, cited_judged=3, cited_relevant=2),
    )


def citation_judged_share() -> Metric:
    """Share of cited documents that anybody judged."""
    return Metric(
        name="citation_judged_share",
        title="Citations judged",
        group="citations",
        grain=ANSWER,
        expr=pl.col("cited_judged") / N_CITED,
        nulls=ON_JUDGED,
        better="none",
        summary="Share of cited documents that anybody judged.",
        formula="cited documents that are judged / cited documents",
        source="Crucible; ir_measures Judged",
        example=Example.of(0.75, n_graded=3, n_cited=4, cited_judged=3),
    )


def citation_recall() -> Metric:
    """Share of required documents that are cited."""
    return Metric(
        name="citation_recall",
        title="Citation recall",
        group="citations",
        grain=ANSWER,
        expr=pl.col("cited_required") / pl.col("n_required"),
        nulls=(NO_REQUIRED, *ANSWERED, REPORTED_CITATIONS),
        headline=True,
        summary="Share of the documents an answer must rest on that it cites.",
        formula="required documents that are cited / required documents",
        source="Crucible, golden citations",
        example=Example.of(0.5, n_required=2, n_cited=3, cited_required=1),
    )


def forbidden_citation_rate() -> Metric:
    """Share of cited documents that are forbidden."""
    return Metric(
        name="forbidden_citation_rate",
        title="Forbidden citations",
        group="citations",
        grain=ANSWER,
        expr=pl.col("cited_forbidden") / N_CITED,
        nulls=CITED,
        better="lower",
        summary="Share of cited documents that the item forbids.",
        formula="cited documents that are forbidden / cited documents",
        source="Crucible, golden citations",
        example=Example.of(0.25, n_cited=4, cited_forbidden=1),
    )


def dangling_citation_rate() -> Metric:
    """Share of cited documents that were not retrieved."""
    return Metric(
        name="dangling_citation_rate",
        title="Dangling citations",
        group="citations",
        grain=ANSWER,
        expr=pl.col("cited_not_retrieved") / N_CITED,
        nulls=(*ANSWERED, CONTEXTS_PROVIDED, REPORTED_RETRIEVAL, *CITED[len(ANSWERED) :]),
        better="lower",
        summary="Share of cited documents that were not retrieved.",
        formula="cited documents that were not retrieved / cited documents",
        source="Crucible",
        example=Example.of(0.25, n_cited=4, cited_not_retrieved=1),
    )


METRICS = (
    citation_precision(),
    citation_precision_judged(),
    citation_judged_share(),
    citation_recall(),
    forbidden_citation_rate(),
    dangling_citation_rate(),
)
"""The citation metrics."""
