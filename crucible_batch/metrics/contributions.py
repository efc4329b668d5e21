"""What each document adds to a retrieval metric, and so to the difference of two runs.

Every metric of rankings and judgments is a sum of terms, one per document; the difference of an
item is the sum over documents of (mean term in the candidate - mean term in the baseline).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from crucible_batch.exact import exact_sum
from crucible_batch.metrics import names
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.ranking import ranked
from crucible_batch.metrics.retrieval import KPI_K
from crucible_batch.metrics.retrieval_terms import discounted, exponential, linear, ranks

RESULT = ["item_id", "sample_index"]
DOCUMENT = ["item_id", "doc_id"]
CELL = ["metric", "item_id"]

Gains = Callable[[pl.Expr], pl.Expr]


def placed_documents(
    retrievals: pl.DataFrame, grades: pl.DataFrame, required: pl.DataFrame, *, relevant_at: int
) -> pl.DataFrame:
    """Every retrieved document of some results with the facts that terms read.

    Args:
        retrievals: item_id, sample_index, rank, doc_id of one run.
        grades: Effective grades: item_id, doc_id, grade.
        required: Documents that citations require: item_id, doc_id.
        relevant_at: Smallest grade that counts as relevant.

    Returns:
        A row per result and document, sorted by item_id, sample_index, position (from 1, repeats
        dropped): doc_id, grade (null: unjudged), is_required, is_relevant, and of its result
        n_retrieved, first_relevant, first_required, n_found (relevant ones down to here) and
        n_above (judged non-relevant ones down to here); of its item n_relevant, n_nonrelevant,
        n_required and ideal (positive grades, best first).
    """
    rows = retrievals.select(*RESULT, doc="doc_id", order=-pl.col("rank").cast(pl.Float64)).sort(
        *RESULT, "order", "doc", descending=[False, False, True, True]
    )
    rows = rows.with_columns(group=pl.struct(RESULT).rle_id())
    placed = ranked(rows).rows.select(
        *RESULT, doc_id="doc", position=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("group")
    )
    required = required.select(DOCUMENT).unique()
    facts = (
        placed.join(grades.select(*DOCUMENT, "grade"), on=DOCUMENT, how="left")
        .join(required.with_columns(is_required=True), on=DOCUMENT, how="left")
        .join(_of_items(grades, required, relevant_at), on="item_id", how="left")
        .sort(*RESULT, "position")
        .with_columns(
            pl.col("is_required").fill_null(value=False),
            is_relevant=(pl.col("grade") >= relevant_at).fill_null(value=False),
        )
    )
    relevant, position = pl.col("is_relevant"), pl.col("position")
    other = (~relevant & pl.col("grade").is_not_null()).cast(pl.Int64)
    return facts.with_columns(
        n_retrieved=pl.len().over(RESULT),
        first_relevant=position.filter(relevant).min().over(RESULT),
        first_required=position.filter("is_required").min().over(RESULT),
        n_found=relevant.cast(pl.Int64).cum_sum().over(RESULT),
        n_above=other.cum_sum().over(RESULT),
    )


def contributions(
    baseline: pl.DataFrame,
    candidate: pl.DataFrame,
    carried: Sequence[pl.DataFrame],
    cells: pl.DataFrame,
    metrics: Mapping[str, Metric],
) -> pl.DataFrame:
    """Explain the differences of some items document by document.

    Args:
        baseline: `placed_documents` of the baseline.
        candidate: The same of the candidate.
        carried: metric, item_id, sample_index of the results that carry a metric, of either run.
        cells: metric, item_id: what is explained; both runs carry it.
        metrics: The metrics by name.

    Returns:
        metric, item_id, doc_id, rank_baseline, rank_candidate (the best over the samples; null
        where it was not retrieved), grade, contribution, sorted by the first three. A metric that
        is a sum over documents has the documents that entered or left what it reads, moved in it
        or changed what they add, and contributions sum to the difference; without a cut-off what it
        reads is the top 10. Any other metric has the documents of both top 10, and no
        contributions.
    """
    sides = (baseline, candidate)
    before, after = (
        _means(facts, own, cells, metrics) for facts, own in zip(sides, carried, strict=True)
    )
    on = [*CELL, "doc_id"]
    rows = (
        cells.join(_ranks(*sides), on="item_id")
        .join(before, on=on, how="left")
        .join(after, on=on, how="left", suffix="_after")
        .join(_kinds(metrics), on="metric")
    )
    added = pl.col("mean_after").fill_null(0.0) - pl.col("mean").fill_null(0.0)
    old, new, depth = pl.col("rank_baseline"), pl.col("rank_candidate"), pl.col("depth")
    is_seen = (old <= depth).fill_null(value=False) | (new <= depth).fill_null(value=False)
    has_changed = (added != 0) | (is_seen & old.ne_missing(new))
    return (
        rows.filter(pl.when("is_sum").then(has_changed).otherwise(is_seen))
        .with_columns(contribution=pl.when("is_sum").then(added))
        .select(*on, "rank_baseline", "rank_candidate", "grade", "contribution")
        .sort(on)
    )


def term(metric: Metric) -> pl.Expr | None:
    """What a retrieved document adds to the metric, over `placed_documents`; None: it is no sum."""
    if metric.grain is not RANKING:
        return None
    family, k = names.split(metric.name)
    made = TERMS.get(family)
    if made is None:
        return None
    inside = pl.col("position") <= k if k is not None else pl.lit(value=True)
    return made(k, inside)


def _of_items(grades: pl.DataFrame, required: pl.DataFrame, relevant_at: int) -> pl.DataFrame:
    """What judgments and citations say of an item, whatever was retrieved."""
    grade = pl.col("grade")
    judged = grades.group_by("item_id").agg(
        n_relevant=(grade >= relevant_at).sum().cast(pl.Int64),
        n_nonrelevant=(grade < relevant_at).sum().cast(pl.Int64),
        ideal=grade.filter(grade > 0).sort(descending=True),
    )
    cited = required.group_by("item_id").agg(n_required=pl.len().cast(pl.Int64))
    return judged.join(cited, on="item_id", how="full", coalesce=True)


def _means(
    facts: pl.DataFrame, carried: pl.DataFrame, cells: pl.DataFrame, metrics: Mapping[str, Metric]
) -> pl.DataFrame:
    """Mean term of every document of a run, over the samples of the item that carry the metric."""
    parts = []
    for (name,), part in cells.partition_by("metric", as_dict=True).items():
        own = term(metrics[str(name)])
        if own is not None:
            inside = facts.filter(pl.col("item_id").is_in(part["item_id"].implode()))
            made = inside.select(*RESULT, "doc_id", term=own.cast(pl.Float64))
            parts.append(made.with_columns(metric=pl.lit(str(name))).filter(pl.col("term") != 0))
    if not parts:
        return pl.DataFrame(
            schema=dict.fromkeys((*CELL, "doc_id"), pl.String) | {"mean": pl.Float64}
        )
    n_samples = carried.group_by(CELL).agg(n=pl.len())
    terms = (
        pl.concat(parts)
        .join(carried, on=["metric", *RESULT], how="semi")
        .group_by(*CELL, "doc_id")
        .agg("term")
        .join(n_samples, on=CELL)
    )
    sums = pl.Series("mean", [exact_sum(values) for values in terms["term"]], dtype=pl.Float64)
    return terms.select(*CELL, "doc_id", mean=sums / terms["n"])


def _ranks(baseline: pl.DataFrame, candidate: pl.DataFrame) -> pl.DataFrame:
    """Best rank of every document of an item in either run, and its grade."""
    old, new = (
        facts.group_by(DOCUMENT).agg(pl.col("position").min(), pl.col("grade").first())
        for facts in (baseline, candidate)
    )
    both = old.join(new, on=DOCUMENT, how="full", coalesce=True, suffix="_after")
    return both.select(
        *DOCUMENT,
        rank_baseline="position",
        rank_candidate="position_after",
        grade=pl.coalesce("grade", "grade_after"),
    )


def _kinds(metrics: Mapping[str, Metric]) -> pl.DataFrame:
    """Per metric whether it is a sum over documents, and how deep it is shown."""
    rows = [(name, term(one) is not None, one.cut or KPI_K) for name, one in metrics.items()]
    schema = {"metric": pl.String, "is_sum": pl.Boolean, "depth": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _discounted_gain(gains: Gains, gain: pl.Expr, k: int | None, inside: pl.Expr) -> pl.Expr:
    ideal = pl.col("ideal") if k is None else pl.col("ideal").list.head(k)
    best = discounted(gains(ideal), ranks(ideal))
    is_gain = inside & (pl.col("grade") > 0)
    return pl.when(is_gain).then(gain / (pl.col("position") + 1).log(2) / best)


def _ndcg(k: int | None, inside: pl.Expr) -> pl.Expr:
    return _discounted_gain(linear, pl.col("grade"), k, inside)


def _ndcg_exp(k: int | None, inside: pl.Expr) -> pl.Expr:
    best = pl.col("ideal").list.first()
    gain = pl.lit(2.0).pow(pl.col("grade") - best) - pl.lit(2.0).pow(-best)
    return _discounted_gain(exponential, gain, k, inside)


def _bpref(_: int | None, inside: pl.Expr) -> pl.Expr:
    pairs = pl.min_horizontal("n_relevant", "n_nonrelevant").clip(1)
    missed = (pl.col("n_above") / pairs).clip(upper_bound=1)
    return pl.when(inside & pl.col("is_relevant")).then((1 - missed) / pl.col("n_relevant"))


def _counted(flag: str, total: pl.Expr, where: pl.Expr) -> pl.Expr:
    return pl.when(where & pl.col(flag)).then(1 / total)


def _deciding(kind: str, value: pl.Expr, inside: pl.Expr) -> pl.Expr:
    """The first document of a kind decides; it alone has a term."""
    return pl.when(inside & (pl.col("position") == pl.col(f"first_{kind}"))).then(value)


N_RELEVANT, POSITION = pl.col("n_relevant"), pl.col("position")

TERMS: Mapping[str, Callable[[int | None, pl.Expr], pl.Expr]] = {
    "ndcg": _ndcg,
    "ndcg_exp": _ndcg_exp,
    "precision": lambda k, inside: _counted("is_relevant", pl.lit(k), inside),
    "recall": lambda _, inside: _counted("is_relevant", N_RELEVANT, inside),
    "hit": lambda _, inside: _deciding("relevant", pl.lit(1.0), inside),
    "mrr": lambda _, inside: _deciding("relevant", 1 / POSITION, inside),
    "average_precision": lambda _, inside: pl.when(inside & pl.col("is_relevant")).then(
        pl.col("n_found") / POSITION / N_RELEVANT
    ),
    "r_precision": lambda _, inside: _counted(
        "is_relevant", N_RELEVANT, inside & (POSITION <= N_RELEVANT)
    ),
    "bpref": _bpref,
    "judged": lambda k, inside: pl.when(inside & pl.col("grade").is_not_null()).then(
        1 / pl.col("n_retrieved").clip(upper_bound=k)
    ),
    "n_relevant_retrieved": lambda _, inside: _counted("is_relevant", pl.lit(1.0), inside),
    "retrieval_hit_rate": lambda _, inside: _deciding(
        "required", pl.lit(1.0), inside & (POSITION <= KPI_K)
    ),
    "required_doc_recall": lambda _, inside: _counted(
        "is_required", pl.col("n_required"), inside & (POSITION <= KPI_K)
    ),
}
"""Term of every family that is a sum over documents, from its cut-off and who is inside it.

nDCG is a sum because the ideal belongs to the item. The terms of hit and MRR stand with the one
document that decides.
"""
