"""Two raters of the same things, held against each other in every way that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from crucible_batch.stats.agreement import agreement, kappa_from

HUMAN = "human"
"""People together: the highest grade that any of them gave."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PairAgreement:
    """Agreement of a judge with people, or of two people.

    Attributes:
        reference: Whose ratings count as right.
        judge: Who is held against them.
        n: Things that both rated.
        n_reference_only: Things only the reference rated.
        n_judge_only: Things only the judge rated.
        n_malformed: Ratings of the judge that could not be read; they are in no other number.
        raw: Share of equal ratings.
        kappa: Cohen's kappa; any difference counts fully.
        kappa_linear: The same, weighted by distance.
        kappa_quadratic: The same, weighted by squared distance.
        kappa_from: Smallest rating that is a yes to the kappa of yes and no.
        alpha: Krippendorff's alpha, ordinal.
        alpha_nominal: The same, nominal.
        alpha_interval: The same, interval.
        mae: Mean distance of the ratings.
        base_rate: Share of things the reference says yes to.
        majority: Share of the reference's most frequent rating: what a judge reaches in `raw` that
            always says it.
        table: Every pair of ratings: human (the reference), judge, n.
        tau: Kendall's tau-b of the runs as both would rank them; None with fewer than two runs.
        means: Run to the metric's mean by the reference's and by the judge's grades.
    """

    reference: str
    judge: str
    n: int
    n_reference_only: int
    n_judge_only: int
    n_malformed: int
    raw: float | None
    kappa: float | None
    kappa_linear: float | None
    kappa_quadratic: float | None
    kappa_from: Mapping[str, float | None]
    alpha: float | None
    alpha_nominal: float | None
    alpha_interval: float | None
    mae: float | None
    base_rate: float | None
    majority: float | None
    table: pl.DataFrame
    tau: float | None = None
    means: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)

    def ranked(
        self, tau: float | None, means: Mapping[str, tuple[float | None, float | None]]
    ) -> PairAgreement:
        """The same with what both would make of the runs."""
        return replace(self, tau=tau, means=means)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        means = [
            {"run_id": run, "reference": ours, "judge": theirs}
            for run, (ours, theirs) in self.means.items()
        ]
        return vars(self) | {
            "kappa_from": dict(self.kappa_from),
            "table": self.table.to_dicts(),
            "means": means,
        }


def compare_raters(
    reference: pl.DataFrame,
    judge: pl.DataFrame,
    *,
    names: tuple[str, str],
    scale: Sequence[Any],
    yes_from: Any,
    n_malformed: int = 0,
) -> PairAgreement:
    """Hold a judge against a reference.

    Args:
        reference: Key columns and `rating`: one row per thing the reference rated.
        judge: The same columns, of the judge.
        names: Reference and judge.
        scale: All ratings there are, ascending.
        yes_from: The smallest rating that is a yes, for the base rate.
        n_malformed: Ratings of the judge that could not be read.
    """
    key = [name for name in reference.columns if name != "rating"]
    both = reference.join(
        judge.rename({"rating": "judged"}), on=key, how="inner", maintain_order="left"
    )
    ours, theirs = both["rating"].to_list(), both["judged"].to_list()
    plain, linear, quadratic = (
        agreement(ours, theirs, weights=weights, categories=scale)
        for weights in (None, "linear", "quadratic")
    )
    place = {rating: number for number, rating in enumerate(scale)}
    ranks = [[place[rating] for rating in side] for side in (ours, theirs)]
    n_yes = len([rank for rank in ranks[0] if rank >= place[yes_from]])
    return PairAgreement(
        reference=names[0],
        judge=names[1],
        n=plain.n,
        n_reference_only=reference.height - both.height,
        n_judge_only=judge.height - both.height,
        n_malformed=n_malformed,
        raw=plain.raw,
        kappa=plain.kappa,
        kappa_linear=linear.kappa,
        kappa_quadratic=quadratic.kappa,
        kappa_from={
            str(scale[at]): kappa_from(ranks[0], ranks[1], at) for at in range(1, len(scale))
        },
        alpha=plain.alpha,
        alpha_nominal=plain.alpha_nominal,
        alpha_interval=plain.alpha_interval,
        mae=plain.mae,
        base_rate=n_yes / plain.n if plain.n else None,
        majority=plain.majority,
        table=plain.table,
    )
