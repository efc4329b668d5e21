"""Is a golden set ready to be measured by: one line per question a careful team would ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.assemble.golden import checks
from crucible_batch.assemble.golden.material import (
    MISSING,
    OK,
    STATUSES,
    WARN,
    Line,
    Material,
    graded,
)
from crucible_batch.stats.row import smallest_effect

JUDGED_SHARE = 0.9
"""Share of the retrieved pool that should be judged before retrieval numbers are trusted."""

SMALL_DROP = 0.1
"""Part of a metric's range; a set that cannot show a drop of this size shows little."""


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """The report.

    Attributes:
        golden_set: Name of the set.
        golden_set_hash: Version that was looked at.
        n_items: Its active items.
        lines: One per check, in the order of the handbook.
    """

    golden_set: str
    golden_set_hash: str
    n_items: int
    lines: tuple[Line, ...]

    @property
    def status(self) -> str:
        """The worst status of any line."""
        return max((line.status for line in self.lines), key=STATUSES.index)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        head = {name: value for name, value in vars(self).items() if name != "lines"}
        return head | {"status": self.status, "lines": [vars(line) for line in self.lines]}


def readiness(material: Material) -> Readiness:
    """Judge a golden set by what it holds and what is known of it."""
    every = (*checks.CHECKS, provenance, judged_pool, significance)
    return Readiness(
        golden_set=material.golden_set,
        golden_set_hash=material.golden_set_hash,
        n_items=material.n,
        lines=tuple(check(material) for check in every),
    )


def provenance(material: Material) -> Line:
    """Whether every answerable item says which documents it came from."""
    ids = material.answerable["item_id"]
    without = ids.filter(~ids.is_in(sorted(material.provenance)))
    required = material.golden.citations.filter(pl.col("kind") == "required")["item_id"]
    unseeded = without.is_in(required.implode()).any()
    return graded(
        "provenance",
        without,
        material.answerable.height,
        fine="every answerable item has a provenance judgment",
        lacking="are answerable and have no provenance judgment",
        fix="crucible qrels seed" if unseeded else checks.WRITE,
    )


def judged_pool(material: Material) -> Line:
    """How much of what the last runs retrieved anybody has judged."""
    pool, runs = material.pool, " and ".join(material.pooled_runs)
    if pool is None:
        what = "no run of this set has retrieved anything yet"
        return Line(check="judged_pool", status=MISSING, what=what, help="crucible load run FILE")
    n, judged = (int(pool[name].sum()) for name in ("n_retrieved", "n_judged"))
    share = judged / n
    what = f"{judged:,} of {n:,} retrieved documents are judged ({share:.1%}), in {runs}"
    status = OK if share >= JUDGED_SHARE else WARN if judged else MISSING
    poor = pool.filter(pl.col("n_judged") < JUDGED_SHARE * pl.col("n_retrieved"))
    return Line(
        check="judged_pool",
        status=status,
        what=what,
        items=() if status == OK else tuple(poor["item_id"].sort()),
        help="" if status == OK else f"crucible qrels judge {' '.join(material.pooled_runs)}",
    )


def significance(material: Material) -> Line:
    """The smallest drop of each headline metric that a comparison of two runs would find.

    Two runs that each vary over the items as the last one did, and not together: the standard
    deviation of their deltas is then √2 of it. Runs that fail on the same items do better, so
    these numbers are upper bounds; `mde80` of a comparison is the number for two real runs. A
    metric measured on too few items gets no number: a comparison would give it no verdict.
    """
    if not material.spreads:
        help_ = f"crucible score {material.spread_run or 'RUN'}"
        what = "no scored run says how much the metrics vary"
        return Line(check="significance", status=MISSING, what=what, help=help_)
    drops = {
        name: smallest_effect(2**0.5 * spread.sd, spread.n)
        for name, spread in material.spreads.items()
        if spread.n >= checks.FEWEST
    }
    few = [f"{name} {s.n}" for name, s in material.spreads.items() if s.n < checks.FEWEST]
    told = []
    if drops:
        numbers = ", ".join(f"{name} {drop:.3f}" for name, drop in drops.items())
        told.append(f"smallest drop found in 4 of 5 comparisons, at most: {numbers}")
    if few:
        told.append(f"no verdict on fewer than {checks.FEWEST} measured items: {', '.join(few)}")
    is_blind = any(drop > SMALL_DROP * material.spreads[name].width for name, drop in drops.items())
    status = WARN if is_blind or few else OK
    return Line(
        check="significance",
        status=status,
        what="; ".join(told),
        help="" if status == OK else checks.WRITE,
    )
