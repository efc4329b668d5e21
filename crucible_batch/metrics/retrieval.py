"""Retrieval metrics over the `ranking` grain, each as trec_eval defines it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import polars as pl

from crucible_batch.errors import UnknownNameError
from crucible_batch.metrics import names
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Example, Metric
from crucible_batch.metrics.nulls import RESULT_NULLS
from crucible_batch.metrics.retrieval_terms import (
    JUDGED,
    NO_REQUIRED,
    NOTHING_RETRIEVED,
    ON_GAIN,
    ON_JUDGED,
    ON_RELEVANT,
    RETRIEVED,
    UNANSWERABLE,
    exponential,
    first,
    in_top,
    linear,
    normalised_gain,
    precisions_at,
    share_of,
)

declare = partial(Metric, group="retrieval", grain=RANKING)

KPI_K = 10
"""The cut-off of the headline numbers, of `retrieval_hit_rate` and of `required_doc_recall`."""

RELEVANT_AT = 2
"""Default smallest relevant grade: TREC Deep Learning's 0..3 scale, on which 2 is relevant."""


def ndcg(k: int | None = None) -> Metric:
    """Normalised discounted cumulative gain with linear gain."""
    return declare(
        name=at("ndcg", k),
        title=titled("nDCG", k),
        expr=normalised_gain(linear, k),
        nulls=ON_GAIN,
        cut=k,
        headline=k == KPI_K,
        summary=f"Discounted gain of {within(k)} over that of the best possible order.",
        formula=f"Σ grade_i / log₂(i + 1) over the positions i of {within(k)}, divided by the same"
        " sum over all judged documents of the item in their best order, to the same depth",
        source="trec_eval ndcg_cut and ndcg; Järvelin and Kekäläinen 2002",
        example=Example.of(0.5, found=[1], found_grades=[1], ideal=[2]),
    )


def ndcg_exp(k: int) -> Metric:
    """Normalised discounted cumulative gain with exponential gain."""
    return declare(
        name=at("ndcg_exp", k),
        title=f"nDCG@{k} (exponential)",
        expr=normalised_gain(exponential, k),
        nulls=ON_GAIN,
        cut=k,
        summary=f"As nDCG of {within(k)}, with the gain 2^grade - 1.",
        formula=f"as nDCG, with 2^grade_i − 1 in place of grade_i, over the positions i of"
        f" {within(k)}",
        source="Burges et al. 2005; gdeval.pl",
        example=Example.of(1 / 3, found=[1], found_grades=[1], ideal=[2]),
    )


def precision(k: int) -> Metric:
    """Share of relevant documents among the first `k`, also when fewer were retrieved."""
    return declare(
        name=at("precision", k),
        title=titled("Precision", k),
        expr=share_of(in_top("relevant", k), k),
        nulls=ON_JUDGED,
        cut=k,
        summary=f"Relevant documents in {within(k)}, divided by {k}.",
        formula=f"relevant documents in {within(k)} / {k}, also when fewer were retrieved",
        source="trec_eval P",
        example=Example.of(1 / k, relevant=[1, k + 1], n_relevant=2, n_retrieved=k + 1),
    )


def recall(k: int) -> Metric:
    """Share of all relevant documents that stand among the first `k`."""
    return declare(
        name=at("recall", k),
        title=titled("Recall", k),
        expr=in_top("relevant", k) / pl.col("n_relevant"),
        nulls=ON_RELEVANT,
        cut=k,
        headline=k == KPI_K,
        summary=f"Share of the item's relevant documents found in {within(k)}.",
        formula=f"relevant documents in {within(k)} / relevant documents of the item",
        source="trec_eval recall",
        example=Example.of(0.25, relevant=[k, k + 1], n_relevant=4),
    )


def hit(k: int) -> Metric:
    """1 when any relevant document stands among the first `k`."""
    return declare(
        name=at("hit", k),
        title=titled("Hit", k),
        expr=(first("relevant") <= k).fill_null(value=False),
        nulls=ON_RELEVANT,
        cut=k,
        summary=f"1 if any relevant document is in {within(k)}, else 0.",
        formula=f"1 if {within(k)} holds a relevant document, else 0",
        source="trec_eval success",
        example=Example.of(1.0, relevant=[k], n_relevant=4),
    )


def mrr(k: int | None = None) -> Metric:
    """Reciprocal position of the first relevant document."""
    reciprocal = 1 / first("relevant")
    if k is not None:
        reciprocal = pl.when(first("relevant") <= k).then(reciprocal)
    return declare(
        name=at("mrr", k),
        title=titled("MRR", k),
        expr=reciprocal.fill_null(0.0),
        nulls=ON_RELEVANT,
        cut=k,
        summary=f"1 / position of the first relevant document of {within(k)}; 0 without one.",
        formula=f"1 / position of the first relevant document of {within(k)}; 0 without one",
        source="trec_eval recip_rank",
        example=Example.of(1 / (k or 3), relevant=[k or 3], n_relevant=1),
    )


def average_precision(k: int | None = None) -> Metric:
    """Mean precision at the relevant documents, those not found counting 0."""
    positions = pl.col("relevant")
    if k is not None:
        positions = positions.list.head(in_top("relevant", k))
    return declare(
        name=at("average_precision", k),
        title=titled("Average precision", k),
        expr=precisions_at(positions) / pl.col("n_relevant"),
        nulls=ON_RELEVANT,
        cut=k,
        summary=f"Mean precision at the relevant documents of {within(k)}; not found counts 0.",
        formula=f"Σ precision at each relevant document of {within(k)} / relevant documents of the"
        " item",
        source="trec_eval map and map_cut",
        example=Example.of(0.5, relevant=[1], n_relevant=2),
    )


def r_precision() -> Metric:
    """Precision after as many documents as the item has relevant ones."""
    return declare(
        name="r_precision",
        title="R-precision",
        expr=in_top("relevant", pl.col("n_relevant")) / pl.col("n_relevant"),
        nulls=ON_RELEVANT,
        summary="Share of relevant documents among the first R, where R is how many there are.",
        formula="relevant documents in the first R / R, with R = relevant documents of the item",
        source="trec_eval Rprec",
        example=Example.of(0.25, relevant=[1, 5], n_relevant=4),
    )


def bpref() -> Metric:
    """Binary preference: how rarely judged non-relevant documents stand above relevant ones."""
    pairs = pl.min_horizontal("n_relevant", "n_nonrelevant").clip(1)
    # Without a judged non-relevant document every term is 1, never 0/0.
    terms = (pl.col("nonrelevant_above") / pairs).list.eval(1 - pl.element().clip(upper_bound=1))
    return declare(
        name="bpref",
        title="bpref",
        expr=terms.list.sum() / pl.col("n_relevant"),
        nulls=ON_RELEVANT,
        summary="Share of judged non-relevant documents that relevant ones are ranked above.",
        formula="1/R · Σ over relevant documents retrieved of 1 − min(N, B) / B, where N judged"
        " non-relevant documents stand above it and B is the smaller of R and the judged"
        " non-relevant ones; a term with N = 0 is 1",
        source="trec_eval bpref; Buckley and Voorhees 2004",
        example=Example.of(
            0.75, relevant=[1, 3], nonrelevant_above=[0, 1], n_relevant=2, n_nonrelevant=5
        ),
    )


def judged(k: int) -> Metric:
    """Share of judged documents among the first `k` retrieved."""
    return declare(
        name=at("judged", k),
        title=titled("Judged", k),
        expr=in_top("judged", k) / pl.col("n_retrieved").clip(upper_bound=k),
        nulls=(UNANSWERABLE, *RETRIEVED, NOTHING_RETRIEVED, *JUDGED),
        cut=k,
        better="none",
        summary=f"Share of {within(k)} that anybody judged.",
        formula=f"judged documents in {within(k)} / min({k}, documents retrieved)",
        source="ir_measures Judged",
        example=Example.of(1.0, judged=[1], n_retrieved=1),
    )


def n_retrieved() -> Metric:
    """Number of distinct documents retrieved."""
    return declare(
        name="n_retrieved",
        title="Documents retrieved",
        expr=pl.col("n_retrieved"),
        nulls=RETRIEVED,
        unit="count",
        high=None,
        better="none",
        summary="Distinct documents retrieved.",
        formula="distinct documents of the ranking",
        source="trec_eval num_ret",
        example=Example.of(2.0, n_retrieved=2),
    )


def n_relevant() -> Metric:
    """Number of relevant documents of the item."""
    return declare(
        name="n_relevant",
        title="Relevant documents",
        expr=pl.col("n_relevant"),
        nulls=(UNANSWERABLE, *RESULT_NULLS, *JUDGED),
        unit="count",
        high=None,
        better="none",
        summary="Documents of the item that are judged relevant.",
        formula="documents of the item graded relevant_at or more",
        source="trec_eval num_rel",
        example=Example.of(3.0, n_relevant=3),
    )


def n_relevant_retrieved() -> Metric:
    """Number of relevant documents in the whole ranking."""
    return declare(
        name="n_relevant_retrieved",
        title="Relevant documents retrieved",
        expr=pl.col("relevant").list.len(),
        nulls=ON_JUDGED,
        unit="count",
        high=None,
        summary="Relevant documents anywhere in the ranking.",
        formula="relevant documents of the ranking",
        source="trec_eval num_rel_ret",
        example=Example.of(2.0, relevant=[2, 9], n_relevant=3),
    )


def retrieval_hit_rate() -> Metric:
    """1 when a required document stands among the first ten."""
    return declare(
        name="retrieval_hit_rate",
        title="Retrieval hit rate",
        expr=(first("required") <= KPI_K).fill_null(value=False),
        nulls=(NO_REQUIRED, *RETRIEVED),
        headline=True,
        cut=KPI_K,
        summary=f"1 if the document of a required citation is in {within(KPI_K)}, else 0.",
        formula=f"1 if {within(KPI_K)} holds the document of a required citation, else 0",
        source="Crucible, golden citations",
        example=Example.of(1.0, required=[10], n_required=2),
    )


def required_doc_recall() -> Metric:
    """Share of the required documents that stand among the first ten."""
    return declare(
        name="required_doc_recall",
        title="Required document recall",
        expr=in_top("required", KPI_K) / pl.col("n_required"),
        nulls=(NO_REQUIRED, *RETRIEVED),
        cut=KPI_K,
        summary=f"Share of the documents of required citations found in {within(KPI_K)}.",
        formula=f"documents of required citations in {within(KPI_K)} / documents of required"
        " citations",
        source="Crucible, golden citations",
        example=Example.of(0.5, required=[10, 11], n_required=2),
    )


def at(family: str, k: int | None) -> str:
    """The name of a family at a cut-off."""
    return family if k is None else f"{family}_at_{k}"


def titled(family: str, k: int | None) -> str:
    """The label of a family at a cut-off."""
    return family if k is None else f"{family}@{k}"


def within(k: int | None) -> str:
    """The part of the ranking a metric reads, in words."""
    return "the whole ranking" if k is None else f"the top {k}"


WITH_CUT = {
    "ndcg": ndcg,
    "ndcg_exp": ndcg_exp,
    "precision": precision,
    "recall": recall,
    "mrr": mrr,
    "hit": hit,
    "average_precision": average_precision,
    "judged": judged,
}
"""Families that take a cut-off; any k from 1 on."""

UNCUT = (
    ndcg(),
    mrr(),
    average_precision(),
    r_precision(),
    bpref(),
    n_retrieved(),
    n_relevant(),
    n_relevant_retrieved(),
)
"""Metrics of the whole ranking."""

REQUIRED = (retrieval_hit_rate(), required_doc_recall())
"""Metrics of the golden citations; they need no judgments."""


def metrics(ks: Iterable[int]) -> tuple[Metric, ...]:
    """Every retrieval metric at the cut-offs `ks`."""
    at_ks = tuple(family(k) for family in WITH_CUT.values() for k in ks)
    return (*at_ks, *UNCUT, *REQUIRED)


def named(name: str) -> Metric:
    """The metric of rankings and judgments that `name` means, at any cut-off.

    Raises:
        CutoffError: The cut-off is below 1.
        UnknownNameError: There is none; the nearest names are suggested.
    """
    spelled = names.canonical(name)
    family, k = names.split(spelled)
    if k is not None and family in WITH_CUT:
        return WITH_CUT[family](k)
    uncut = {metric.name: metric for metric in UNCUT}
    if spelled in uncut:
        return uncut[spelled]
    raise UnknownNameError("metric", name, [*(f"{f}@10" for f in WITH_CUT), *uncut])
