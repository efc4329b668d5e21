"""Retrieval metrics over the `ranking` grain, each as trec_eval defines it.

Sums run over the positive gains in rank order, and the ideal goes through the same expression, so
that a perfect ranking is exactly 1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from crucible_batch.errors import UnknownNameError
from crucible_batch.metrics import names
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Example, Metric
from crucible_batch.metrics.nulls import RESULT_NULLS, Null

KPI_K = 10
"""The cut-off of the headline numbers, of `retrieval_hit_rate` and of `required_doc_recall`."""

RELEVANT_AT = 2
"""Default smallest relevant grade: TREC Deep Learning's 0..3 scale, on which 2 is relevant."""

UNANSWERABLE = Null("unanswerable", ~pl.col("answerable") & (pl.col("n_qrels") == 0))
NO_RELEVANT = Null("no_relevant_judged", (pl.col("n_placed") > 0) & (pl.col("n_relevant") == 0))
NO_GAIN = Null("no_relevant_judged", (pl.col("n_placed") > 0) & (pl.col("ideal").list.len() == 0))
NO_REQUIRED = Null("no_required_citations", pl.col("n_required") == 0)
RETRIEVED = (
    *RESULT_NULLS,
    Null("contexts_provided", ~pl.col("retrieval_ran")),
    Null("not_reported", ~pl.col("retrieval_reported")),
)
NOTHING_RETRIEVED = Null("nothing_retrieved", pl.col("n_retrieved") == 0)
JUDGED = (
    Null("no_qrels", pl.col("n_qrels") == 0),
    Null("unplaced", pl.col("n_placed") == 0),
)
ON_JUDGED = (UNANSWERABLE, *RETRIEVED, *JUDGED)
ON_RELEVANT = (UNANSWERABLE, NO_RELEVANT, *RETRIEVED, *JUDGED)
ON_GAIN = (UNANSWERABLE, NO_GAIN, *RETRIEVED, *JUDGED)


def in_top(positions: str, k: int | pl.Expr) -> pl.Expr:
    """Count the positions of a list column that are at most `k`."""
    return (pl.col(positions) - k).list.eval(pl.element() <= 0).list.sum()


def first(positions: str) -> pl.Expr:
    """The best position of a list column, null when the list is empty."""
    return pl.col(positions).list.first()


def discounted(gains: pl.Expr, positions: pl.Expr) -> pl.Expr:
    """Sum of gain / log2(position + 1), in rank order."""
    return (gains / positions.list.eval((pl.element() + 1).log(2))).list.sum()


def precisions_at(positions: pl.Expr) -> pl.Expr:
    """Sum of the precisions at each of the relevant `positions`, in rank order."""
    return positions.list.eval(pl.int_range(1, pl.len() + 1) / pl.element()).list.sum()


def normalised_gain(gains: Callable[[pl.Expr], pl.Expr], k: int | None) -> pl.Expr:
    """DCG over the ideal DCG of all judged documents, both cut at `k`, gains from grades."""
    positions, grades, ideal = pl.col("found"), pl.col("found_grades"), pl.col("ideal")
    if k is not None:
        depth = in_top("found", k)
        positions, grades = positions.list.head(depth), grades.list.head(depth)
        ideal = ideal.list.head(k)
    best_positions = ideal.list.eval(pl.int_range(1, pl.len() + 1))
    return discounted(gains(grades), positions) / discounted(gains(ideal), best_positions)


def linear(grades: pl.Expr) -> pl.Expr:
    """Gain = grade, as trec_eval."""
    return grades


def exponential(grades: pl.Expr) -> pl.Expr:
    """Gain = 2^grade - 1, scaled by the item's best grade.

    The scale is a power of two, so the quotient is the same to the last bit and a huge grade
    cannot overflow.
    """
    best = pl.col("ideal").list.first()
    return (grades - best).list.eval(2.0 ** pl.element()) - 2.0 ** (-best)


def ndcg(k: int | None = None) -> Metric:
    """Normalised discounted cumulative gain with linear gain."""
    return Metric(
        name=at("ndcg", k),
        title=titled("nDCG", k),
        group="retrieval",
        grain=RANKING,
        expr=normalised_gain(linear, k),
        nulls=ON_GAIN,
        cut=k,
        headline=k == KPI_K,
        summary=f"Discounted gain of {within(k)} over that of the best possible order.",
        source="trec_eval ndcg_cut and ndcg; Järvelin and Kekäläinen 2002",
        example=Example.of(0.5, found=[1], found_grades=[1], ideal=[2]),
    )


def ndcg_exp(k: int) -> Metric:
    """Normalised discounted cumulative gain with exponential gain."""
    return Metric(
        name=at("ndcg_exp", k),
        title=f"nDCG@{k} (exponential)",
        group="retrieval",
        grain=RANKING,
        expr=normalised_gain(exponential, k),
        nulls=ON_GAIN,
        cut=k,
        summary=f"As nDCG of {within(k)}, with the gain 2^grade - 1.",
        source="Burges et al. 2005; gdeval.pl",
        example=Example.of(1 / 3, found=[1], found_grades=[1], ideal=[2]),
    )


def precision(k: int) -> Metric:
    """Share of relevant documents among the first `k`, also when fewer were retrieved."""
    return Metric(
        name=at("precision", k),
        title=titled("Precision", k),
        group="retrieval",
        grain=RANKING,
        expr=in_top("relevant", k) / k,
        nulls=ON_JUDGED,
        cut=k,
        summary=f"Relevant documents in {within(k)}, divided by {k}.",
        source="trec_eval P",
        example=Example.of(1 / k, relevant=[1, k + 1], n_relevant=2, n_retrieved=k + 1),
    )


def recall(k: int) -> Metric:
    """Share of all relevant documents that stand among the first `k`."""
    return Metric(
        name=at("recall", k),
        title=titled("Recall", k),
        group="retrieval",
        grain=RANKING,
        expr=in_top("relevant", k) / pl.col("n_relevant"),
        nulls=ON_RELEVANT,
        cut=k,
        headline=k == KPI_K,
        summary=f"Share of the item's relevant documents found in {within(k)}.",
        source="trec_eval recall",
        example=Example.of(0.25, relevant=[k, k + 1], n_relevant=4),
    )


def hit(k: int) -> Metric:
    """1 when any relevant document stands among the first `k`."""
    return Metric(
        name=at("hit", k),
        title=titled("Hit", k),
        group="retrieval",
        grain=RANKING,
        expr=(first("relevant") <= k).fill_null(value=False),
        nulls=ON_RELEVANT,
        cut=k,
        summary=f"1 if any relevant document is in {within(k)}, else 0.",
        source="trec_eval success",
        example=Example.of(1.0, relevant=[k], n_relevant=4),
    )


def mrr(k: int | None = None) -> Metric:
    """Reciprocal position of the first relevant document."""
    reciprocal = 1 / first("relevant")
    if k is not None:
        reciprocal = pl.when(first("relevant") <= k).then(reciprocal)
    return Metric(
        name=at("mrr", k),
        title=titled("MRR", k),
        group="retrieval",
        grain=RANKING,
        expr=reciprocal.fill_null(0.0),
        nulls=ON_RELEVANT,
        cut=k,
        summary=f"1 / position of the first relevant document of {within(k)}; 0 without one.",
        source="trec_eval recip_rank",
        example=Example.of(1 / (k or 3), relevant=[k or 3], n_relevant=1),
    )


def average_precision(k: int | None = None) -> Metric:
    """Mean precision at the relevant documents, those not found counting 0."""
    positions = pl.col("relevant")
    if k is not None:
        positions = positions.list.head(in_top("relevant", k))
    return Metric(
        name=at("average_precision", k),
        title=titled("Average precision", k),
        group="retrieval",
        grain=RANKING,
        expr=precisions_at(positions) / pl.col("n_relevant"),
        nulls=ON_RELEVANT,
        cut=k,
        summary=f"Mean precision at the relevant documents of {within(k)}; not found counts 0.",
        source="trec_eval map and map_cut",
        example=Example.of(0.5, relevant=[1], n_relevant=2),
    )


def r_precision() -> Metric:
    """Precision after as many documents as the item has relevant ones."""
    return Metric(
        name="r_precision",
        title="R-precision",
        group="retrieval",
        grain=RANKING,
        expr=in_top("relevant", pl.col("n_relevant")) / pl.col("n_relevant"),
        nulls=ON_RELEVANT,
        summary="Share of relevant documents among the first R, where R is how many there are.",
        source="trec_eval Rprec",
        example=Example.of(0.25, relevant=[1, 5], n_relevant=4),
    )


def bpref() -> Metric:
    """Binary preference: how rarely judged non-relevant documents stand above relevant ones."""
    pairs = pl.min_horizontal("n_relevant", "n_nonrelevant").clip(1)
    # Without a judged non-relevant document every term is 1, never 0/0.
    terms = (pl.col("nonrelevant_above") / pairs).list.eval(1 - pl.element().clip(upper_bound=1))
    return Metric(
        name="bpref",
        title="bpref",
        group="retrieval",
        grain=RANKING,
        expr=terms.list.sum() / pl.col("n_relevant"),
        nulls=ON_RELEVANT,
        summary="Share of judged non-relevant documents that relevant ones are ranked above.",
        source="trec_eval bpref; Buckley and Voorhees 2004",
        example=Example.of(
            0.75, relevant=[1, 3], nonrelevant_above=[0, 1], n_relevant=2, n_nonrelevant=5
        ),
    )


def judged(k: int) -> Metric:
    """Share of judged documents among the first `k` retrieved."""
    return Metric(
        name=at("judged", k),
        title=titled("Judged", k),
        group="retrieval",
        grain=RANKING,
        expr=in_top("judged", k) / pl.col("n_retrieved").clip(upper_bound=k),
        nulls=(UNANSWERABLE, *RETRIEVED, NOTHING_RETRIEVED, *JUDGED),
        cut=k,
        better="none",
        summary=f"Share of {within(k)} that anybody judged.",
        source="ir_measures Judged",
        example=Example.of(1.0, judged=[1], n_retrieved=1),
    )


def n_retrieved() -> Metric:
    """Number of distinct documents retrieved."""
    return Metric(
        name="n_retrieved",
        title="Documents retrieved",
        group="retrieval",
        grain=RANKING,
        expr=pl.col("n_retrieved"),
        nulls=RETRIEVED,
        unit="count",
        high=None,
        better="none",
        summary="Distinct documents retrieved.",
        source="trec_eval num_ret",
        example=Example.of(2.0, n_retrieved=2),
    )


def n_relevant() -> Metric:
    """Number of relevant documents of the item."""
    return Metric(
        name="n_relevant",
        title="Relevant documents",
        group="retrieval",
        grain=RANKING,
        expr=pl.col("n_relevant"),
        nulls=(UNANSWERABLE, *RESULT_NULLS, *JUDGED),
        unit="count",
        high=None,
        better="none",
        summary="Documents of the item that are judged relevant.",
        source="trec_eval num_rel",
        example=Example.of(3.0, n_relevant=3),
    )


def n_relevant_retrieved() -> Metric:
    """Number of relevant documents in the whole ranking."""
    return Metric(
        name="n_relevant_retrieved",
        title="Relevant documents retrieved",
        group="retrieval",
        grain=RANKING,
        expr=pl.col("relevant").list.len(),
        nulls=ON_JUDGED,
        unit="count",
        high=None,
        summary="Relevant documents anywhere in the ranking.",
        source="trec_eval num_rel_ret",
        example=Example.of(2.0, relevant=[2, 9], n_relevant=3),
    )


def retrieval_hit_rate() -> Metric:
    """1 when a required document stands among the first ten."""
    return Metric(
        name="retrieval_hit_rate",
        title="Retrieval hit rate",
        group="retrieval",
        grain=RANKING,
        expr=(first("required") <= KPI_K).fill_null(value=False),
        nulls=(NO_REQUIRED, *RETRIEVED),
        headline=True,
        cut=KPI_K,
        summary=f"1 if the document of a required citation is in {within(KPI_K)}, else 0.",
        source="Crucible, golden citations",
        example=Example.of(1.0, required=[10], n_required=2),
    )


def required_doc_recall() -> Metric:
    """Share of the required documents that stand among the first ten."""
    return Metric(
        name="required_doc_recall",
        title="Required document recall",
        group="retrieval",
        grain=RANKING,
        expr=in_top("required", KPI_K) / pl.col("n_required"),
        nulls=(NO_REQUIRED, *RETRIEVED),
        cut=KPI_K,
        summary=f"Share of the documents of required citations found in {within(KPI_K)}.",
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
