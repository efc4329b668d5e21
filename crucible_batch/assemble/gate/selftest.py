"""Does this gate bite, and does it leave a run alone that did not change?

The candidate's own values are held against themselves, then against themselves shifted for the
worse, by the rules of the gate that read a comparison. Nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import polars as pl

from crucible_batch.assemble.compare import Comparison
from crucible_batch.assemble.compare.rows import direction
from crucible_batch.assemble.gate.cells import holm, margin_of
from crucible_batch.assemble.gate.config import GateConfig, Regression
from crucible_batch.assemble.gate.evidence import CellKey, Evidence, Row
from crucible_batch.assemble.gate.gather import gather
from crucible_batch.assemble.gate.known import Resolved
from crucible_batch.assemble.gate.requirements import PAIRED, cell_of
from crucible_batch.assemble.gate.rules import judge_rule
from crucible_batch.assemble.gate.run import Prepared, prepare
from crucible_batch.assemble.gate.verdict import FAIL, PASS, RuleResult
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.errors import NotComparableError, UsageError
from crucible_batch.stats.comparison import MetricValues
from crucible_batch.stats.comparison import Settings as HowToTest
from crucible_batch.stats.paired import paired_many
from crucible_batch.store import Store

POWER = 0.8
"""How often the smallest drop that is told would be found."""

LOG_SHIFT = math.log(1.1)

MOST_LOG_SHIFT = math.log(1e100)
"""Largest factor that is planted: values of up to 1e15 stay numbers that can be compared."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One rule, tried out.

    Attributes:
        unchanged: What it says of the candidate against itself.
        planted: What it says of the same with every pair made worse.
        shift: By how much, on the scale of the delta, above 0.
        smallest_drop: The drop that it would find in 80 of 100 runs like these, on the same scale;
            None when the two runs do not vary, or the cell has no pairs.
        is_log: Whether the scale is that of logarithms.
    """

    unchanged: RuleResult
    planted: RuleResult
    shift: float | None
    smallest_drop: float | None
    is_log: bool

    @property
    def outcome(self) -> str:
        """Pass when it left the unchanged run alone and found the drop; else what went wrong."""
        if self.unchanged.outcome == FAIL or self.planted.outcome == PASS:
            return FAIL
        ok = self.unchanged.outcome == PASS and self.planted.outcome == FAIL
        return PASS if ok else "inconclusive"


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """A gate, tried out on two runs.

    Attributes:
        candidate: The run whose values were used.
        baseline: The run whose distance to it gave the spread.
        tried: Every rule that reads a comparison.
        untried: Ids of the others: they read one run, and no shift concerns them.
    """

    candidate: str
    baseline: str
    tried: tuple[Tried, ...]
    untried: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """Any rule that cries wolf or sleeps fails; else any open one is inconclusive."""
        found = {one.outcome for one in self.tried}
        if FAIL in found:
            return FAIL
        return PASS if found == {PASS} else "inconclusive"

    @property
    def exit_code(self) -> int:
        """0, 1 or 3, as a gate's."""
        return {PASS: 0, FAIL: 1}.get(self.outcome, 3)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {
            "candidate_run_id": self.candidate,
            "baseline_run_id": self.baseline,
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "rules": [
                {
                    "rule_id": one.unchanged.rule_id,
                    "metric": one.unchanged.metric,
                    "outcome": one.outcome,
                    "unchanged": one.unchanged.outcome,
                    "unchanged_reason": one.unchanged.reason,
                    "planted": one.planted.outcome,
                    "planted_reason": one.planted.reason,
                    "shift": one.shift,
                    "smallest_drop": one.smallest_drop,
                    "scale": "log" if one.is_log else "linear",
                }
                for one in self.tried
            ],
            "untried": list(self.untried),
        }


def self_test(
    store: Store,
    workspace: str,
    candidate: str,
    baseline: str,
    config_path: Path,
    *,
    progress: Progress = quiet,
) -> SelfTest:
    """Try a gate out on two runs; see the module.

    Args:
        store: The store.
        workspace: Workspace of both runs.
        candidate: The run whose values are used.
        baseline: A run id, `pinned:NAME` or `latest-succeeded`.
        config_path: The gate.toml.
        progress: Is told how far it has come.

    Raises:
        UsageError: The gate.toml cannot be used, or no rule of it reads a comparison.
        NotComparableError: The two runs cannot be compared, or there is no second one.
    """
    ready = prepare(store, workspace, candidate, baseline, config_path)
    paired = tuple(one for one in ready.rules if isinstance(one.rule, PAIRED))
    if not paired:
        raise UsageError(
            f"{config_path} has no rule that compares two runs",
            fix="add a regression, non_inferiority or max_drop rule; others need no self-test.",
        )
    found = gather(store, ready.workspace, ready, as_of=None, progress=progress)
    if found.comparison is None or ready.baseline is None:
        raise NotComparableError(
            f"{candidate} cannot be compared with {baseline}: there is no spread to plan with",
            fix="name two runs of one golden set that have succeeded.",
        )
    progress("planting a drop")
    trial = Trial(ready, paired, found.evidence, found.comparison)
    return SelfTest(
        candidate=candidate,
        baseline=ready.baseline,
        tried=trial.all(),
        untried=tuple(one.rule.rule_id for one in ready.rules if one not in paired),
    )


class Trial:
    """The cells of the paired rules, refilled with the candidate's values and shifted ones."""

    def __init__(
        self,
        ready: Prepared,
        rules: tuple[Resolved, ...],
        evidence: Evidence,
        comparison: Comparison,
    ) -> None:
        self.ready, self.rules, self.evidence = ready, rules, evidence
        self.items = comparison.items
        same = replace(evidence.candidate)
        self.clean = replace(evidence, baseline=same, numbers_before=evidence.numbers, before={})
        # Whether one night is enough is no question of the numbers: what is planted stays planted.
        gate = ready.config.gate.model_copy(update={"confirm_runs": 1})
        self.config: GateConfig = ready.config.model_copy(update={"gate": gate})

    def all(self) -> tuple[Tried, ...]:
        """Every rule, tried."""
        shifts = {one.rule.rule_id: self._shift(one) for one in self.rules}
        unchanged = self._judged(dict.fromkeys(shifts, 0.0))
        planted = self._judged(shifts)
        return tuple(
            Tried(
                unchanged=unchanged[one.rule.rule_id],
                planted=planted[one.rule.rule_id],
                shift=shifts[one.rule.rule_id],
                smallest_drop=self._smallest_drop(one),
                is_log=one.metric is not None and one.metric.scale == "log",
            )
            for one in self.rules
        )

    def _judged(self, shifts: Mapping[str, float | None]) -> dict[str, RuleResult]:
        """Every rule over its own refilled cell; the family is that of the whole gate."""
        cells = {name: self._cells(one, shift) for one, (name, shift) in self._with(shifts)}
        merged: dict[CellKey, Row] = {}
        for one in self.rules:
            if isinstance(one.rule, Regression):
                merged |= cells[one.rule.rule_id]
        family = holm(self.rules, replace(self.clean, compared=merged))
        return {
            one.rule.rule_id: judge_rule(
                one, replace(self.clean, compared=cells[one.rule.rule_id]), self.config, family
            )
            for one in self.rules
        }

    def _with(
        self, shifts: Mapping[str, float | None]
    ) -> list[tuple[Resolved, tuple[str, float | None]]]:
        return [(one, (one.rule.rule_id, shifts[one.rule.rule_id])) for one in self.rules]

    def _cells(self, one: Resolved, shift: float | None) -> dict[CellKey, Row]:
        """The cell of a rule: the candidate's values against the same, worse by the shift."""
        key = cell_of(one)
        metric, real = one.metric, self.evidence.compared.get(key)
        if metric is None or real is None or shift is None:
            return {}
        inside = self.ready.known.slices[key[:2]]
        rows = self.items.filter(
            (pl.col("metric") == metric.name) & pl.col("item_id").is_in(list(inside))
        )
        values, sign = rows["candidate"].to_numpy(), 1 if direction(metric) else -1
        worse = values * math.exp(-sign * shift) if metric.scale == "log" else values - sign * shift
        ids = rows["item_id"].to_list()
        tested = paired_many(
            ids,
            {metric.name: MetricValues(values, worse, direction(metric), scale=metric.scale)},
            clusters=[self.ready.known.clusters.get(item) for item in ids],
            settings=self._how(str(real["unit"])),
        )[metric.name]
        row: dict[str, Any] = dict(vars(tested))
        blank = dict.fromkeys(("blocked_reason", "judged_at_k_baseline", "judged_at_k_candidate"))
        return {key: row | blank}

    def _how(self, unit: str) -> HowToTest:
        statistics = self.ready.settings.statistics
        return HowToTest(
            seed=statistics.seed,
            n_resamples=statistics.n_resamples,
            min_items=statistics.min_items,
            small_sample=statistics.small_sample,
            unit=unit,
        )

    def _shift(self, one: Resolved) -> float | None:
        """max(2 margin, 2 mde80, 0.1 of the declared range); on the log scale at least ln 1.1."""
        row = self.evidence.compared.get(cell_of(one))
        if row is None or one.metric is None or not row["n_pairs"]:
            return None
        # What is planted is judged by the candidate's mean; the gate will judge by the baseline's.
        sides = [row, {**row, "mean_baseline": row["mean_candidate"]}]
        margin = max(margin_of(one, side) or 0.0 for side in sides)
        parts = [2 * margin, 2 * (row["mde80"] or 0.0)]
        low, high = one.metric.low, one.metric.high
        if one.metric.scale == "log":
            return min(max(*parts, LOG_SHIFT), MOST_LOG_SHIFT)
        if low is not None and high is not None:
            parts.append(0.1 * (high - low))
        else:
            parts.append(0.1 * abs(row["mean_candidate"] or 0.0))
        return max(parts) or None

    def _smallest_drop(self, one: Resolved) -> float | None:
        """The drop found with 80 % power, given the spread of the two runs' real deltas.

        A regression needs the two-sided p at alpha over the size of the family (Holm's first step),
        and at .05 for the interval; the other rules need the whole 90 % interval beyond the margin.
        """
        row = self.evidence.compared.get(cell_of(one))
        if row is None or not row["sd_delta"] or not row["n_units"]:
            return None
        error = float(row["sd_delta"]) / math.sqrt(row["n_units"])
        quantile = NormalDist().inv_cdf
        if isinstance(one.rule, Regression):
            family = holm(self.rules, self.evidence)
            size = max([1, *[size for _, size in family.values()]])
            level = min(self.config.gate.alpha / size, 0.05)
            return (quantile(1 - level / 2) + quantile(POWER)) * error
        margin = margin_of(one, row)
        return None if margin is None else margin + (quantile(0.95) + quantile(POWER)) * error
