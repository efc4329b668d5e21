"""Who is ranked with whom: only runs that were measured on the same items with the same ruler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crucible_batch.report import words
from crucible_batch.report.blocked import STATES
from crucible_batch.report.lines import Row

KEYS = ("accuracy", "ndcg_at_10")
"""The metric that decides: the first that any run carries."""

GROUND = ("golden_set_hash", "ruler_hash", "judge")
"""Columns of `evaluations` that have to agree, in the order in which a difference is told."""

DIFFERS = {
    "golden_set_hash": "another version of the golden set",
    "ruler_hash": "other judgments",
    "judge": "another judge",
}


@dataclass(frozen=True)
class Ordered:
    """The runs in the order of the page.

    Attributes:
        run_ids: Ranked runs, best first, then the others; ties by id.
        ranks: Place of every ranked run; equal values share one.
        outside: Why the others are not ranked.
    """

    run_ids: tuple[str, ...]
    ranks: Mapping[str, int]
    outside: Mapping[str, str]


def key_metric(numbers: Mapping[tuple[str, str], Row]) -> str:
    """The metric that decides the order."""
    carried = {metric for (_, metric), row in numbers.items() if row["mean"] is not None}
    return next((key for key in KEYS if key in carried), KEYS[0])


def ordered(
    evaluations: Mapping[str, Row],
    values: Mapping[str, float | None],
    *,
    title: str,
    uses_judge: bool,
    baseline: str | None,
) -> Ordered:
    """Rank the runs that stand on common ground.

    Args:
        evaluations: The row of `evaluations` of every run.
        values: The deciding metric of every run.
        title: Its name for people.
        uses_judge: Whether that metric rests on a judge's verdicts.
        baseline: The run whose ground counts; without one it is the ground of most runs.
    """
    ground = GROUND if uses_judge else GROUND[:-1]
    outside = {
        run_id: f"the run {STATES[row['status']]}"
        for run_id, row in evaluations.items()
        if row["status"] in STATES
    }
    unmeasured = [one for one in evaluations if values[one] is None and one not in outside]
    outside |= dict.fromkeys(unmeasured, f"{title} is not measured")
    sound = [run_id for run_id in sorted(evaluations) if run_id not in outside]
    common = _common_ground([evaluations[one] for one in sound], ground, baseline)
    for run_id in sound:
        differing = [name for name in ground if evaluations[run_id][name] != common[name]]
        if differing:
            outside[run_id] = DIFFERS[differing[0]]

    def place(run_id: str) -> tuple[bool, bool, float, str]:
        value = values[run_id]
        return run_id in outside, value is None, -(value or 0.0), run_id

    run_ids = tuple(sorted(evaluations, key=place))
    return Ordered(run_ids, _ranks([one for one in run_ids if one not in outside], values), outside)


def _common_ground(rows: Sequence[Row], ground: Sequence[str], baseline: str | None) -> Row:
    """What the ranked runs share: the baseline's, else that of most; the first by id of equals."""
    if not rows:
        return dict.fromkeys(ground)
    own = [row for row in rows if row["run_id"] == baseline]
    counts = Counter(tuple(row[name] for name in ground) for row in own or rows)
    return dict(zip(ground, counts.most_common(1)[0][0], strict=True))


def _ranks(run_ids: Sequence[str], values: Mapping[str, float | None]) -> Mapping[str, int]:
    ranks: dict[str, int] = {}
    for place, run_id in enumerate(run_ids, start=1):
        above = run_ids[place - 2] if place > 1 else None
        is_tie = above is not None and values[above] == values[run_id]
        ranks[run_id] = ranks[above] if is_tie and above else place
    return ranks


def order_text(title: str, n_ranked: int, *, uses_judge: bool) -> str:
    """How the runs are ordered, in words."""
    same = ("golden set", "judgments", "judge") if uses_judge else ("golden set", "judgments")
    return (
        f"Ordered by {title}, ties by run id; equal values share a rank. Ranked together: "
        f"{words.count(n_ranked, 'run')} that succeeded, with the same {words.listed(list(same))}."
    )
