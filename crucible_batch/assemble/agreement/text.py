"""Agreement for people: never a kappa without its n, its base rate and what people reach."""

from __future__ import annotations

from collections.abc import Sequence

from crucible_batch.assemble.agreement.pairs import HUMAN, PairAgreement
from crucible_batch.report import words

HEADER = (
    *("reference", "judge", "n", "raw", "majority", "base rate"),
    *("kappa", "linear", "quadratic", "alpha", "tau of runs"),
)


def agreement_rows(found: Sequence[PairAgreement]) -> list[tuple[object, ...]]:
    """One row per pair of raters, for a table with `HEADER`."""
    return [
        (
            one.reference,
            one.judge,
            one.n,
            *(
                words.decimal(value)
                for value in (
                    *(one.raw, one.majority, one.base_rate, one.kappa, one.kappa_linear),
                    *(one.kappa_quadratic, one.alpha, one.tau),
                )
            ),
        )
        for one in found
    ]


def agreement_details(one: PairAgreement) -> str:
    """The yes/no kappas, who rated what alone, and the confusion table of one pair."""
    binary = ", ".join(f"from {at} {words.decimal(k)}" for at, k in one.kappa_from.items())
    alone = f"only {one.reference} {one.n_reference_only:,}, only {one.judge} {one.n_judge_only:,}"
    lines = [
        f"{one.reference} (rows) against {one.judge} (columns): kappa of yes and no: {binary}",
        f"{alone}, unreadable {one.n_malformed:,}",
    ]
    scale = [str(rating) for rating in one.table["judge"].unique(maintain_order=True)]
    width = max(map(len, scale), default=0)
    lines.append(" " * (width + 2) + "  ".join(f"{rating:>8}" for rating in scale))
    for (rating,), row in one.table.group_by("human", maintain_order=True):
        counts = "  ".join(f"{n:>8,}" for n in row["n"])
        lines.append(f"{rating!s:>{width}}  {counts}")
    lines += [
        f"{run_id}: {words.decimal(ours)} by {one.reference}, {words.decimal(theirs)} by its grades"
        for run_id, (ours, theirs) in one.means.items()
    ]
    return "\n".join(lines)


def ceiling(found: Sequence[PairAgreement]) -> str:
    """What two people reach: more cannot be asked of a judge."""
    people = [one for one in found if one.reference != HUMAN and one.kappa is not None]
    if not people:
        return "no two people have judged the same documents: there is no human–human ceiling"
    best = max(people, key=lambda one: one.n)
    return (
        f"human–human ceiling: kappa {words.decimal(best.kappa)}, quadratic "
        f"{words.decimal(best.kappa_quadratic)} ({best.reference} and {best.judge}, n {best.n:,})"
    )
