"""Must-pass rules: items that have to be answered rightly, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crucible_batch.assemble.gate.config import MustPass
from crucible_batch.assemble.gate.evidence import Evidence
from crucible_batch.assemble.gate.known import Resolved
from crucible_batch.assemble.gate.verdict import FAIL, PASS, RuleResult
from crucible_batch.report import words


@dataclass(frozen=True, kw_only=True)
class Tally:
    """The samples of one item: right, wrong, without a value."""

    item_id: str
    n_right: int
    n_wrong: int
    n_open: int

    @property
    def n(self) -> int:
        """Expected samples."""
        return self.n_right + self.n_wrong + self.n_open

    def must_miss(self, rate: float) -> bool:
        """Whether the item misses the rate even if every open sample were right."""
        return self.n_right + self.n_open < rate * self.n - 1e-9


def judge_must_pass(one: Resolved, blank: RuleResult, evidence: Evidence) -> RuleResult:
    """Fail when an item cannot reach the rate any more; inconclusive while a sample is open."""
    rule = one.rule
    if not isinstance(rule, MustPass):
        raise TypeError(f"{rule.rule_id} names no tag")
    result = replace(blank, threshold=rule.min_rate)
    aside = f"; flaky, set aside: {words.listed(list(one.set_aside))}" if one.set_aside else ""
    if not one.items:
        return result.inconclusive(f"every item with the tag is set aside{aside}")
    tallies = [_tally(item, evidence) for item in one.items]
    rates = [t.n_right / (t.n_right + t.n_wrong) for t in tallies if t.n_right + t.n_wrong]
    result = replace(result, observed=min(rates, default=None))
    missing = [t for t in tallies if t.must_miss(rule.min_rate)]
    if missing:
        said = words.listed([f"{t.item_id} ({t.n_right} of {t.n} right)" for t in missing])
        return replace(result, outcome=FAIL, reason=f"wrong: {said}{aside}")
    unknown = [t for t in tallies if t.n_open or not t.n]
    if unknown:
        said = words.listed([f"{t.item_id} ({t.n_open} of {t.n})" for t in unknown])
        return result.inconclusive(f"samples without a value: {said}{aside}")
    n = words.count(len(tallies), "item")
    return replace(result, outcome=PASS, reason=f"{n} answered rightly{aside}")


def _tally(item: str, evidence: Evidence) -> Tally:
    values = evidence.samples.get(item, ())
    scored = [value for value in values if value is not None]
    n_right = len([value for value in scored if value >= 1])
    return Tally(
        item_id=item,
        n_right=n_right,
        n_wrong=len(scored) - n_right,
        n_open=len(values) - len(scored),
    )
