"""Gates in a few words: rules with their metrics found, cells of a comparison, evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crucible_batch.assemble.gate.config import GateConfig, load_gate
from crucible_batch.assemble.gate.evidence import Evidence, RunFacts
from crucible_batch.assemble.gate.known import Known, Resolved, resolve_rules
from crucible_batch.assemble.gate.rules import judge_all
from crucible_batch.assemble.gate.verdict import RuleResult
from crucible_batch.metrics import catalog
from crucible_batch.metrics.metric import RunMetric
from crucible_batch.stats.comparison import MetricValues
from crucible_batch.stats.paired import paired_many

METRICS = {metric.name: metric for metric in catalog.ALL}
TOGETHER = ("blocked_reason", "judged_at_k_baseline", "judged_at_k_candidate")
ITEMS = tuple(f"q{n}" for n in range(40))


def known(**slices: tuple[str, ...]) -> Known:
    """Forty items; tags and what is in them by keyword."""
    return Known(
        metrics=METRICS,
        of_runs=frozenset(m.name for m in METRICS.values() if isinstance(m, RunMetric)),
        slices={
            ("all", "all"): frozenset(ITEMS),
            ("shape", "lookup"): frozenset(ITEMS[:20]),
            **{("tag", name): frozenset(ids) for name, ids in slices.items()},
        },
        clusters=dict.fromkeys(ITEMS),
    )


def config(folder: Path, *rules: str, head: str = "") -> GateConfig:
    """A gate.toml with this head and these [[rules]], read."""
    path = folder / "gate.toml"
    path.write_text(head + "".join(f"\n[[rules]]\n{rule}\n" for rule in rules), encoding="utf-8")
    return load_gate(path)


def resolved(gate: GateConfig, names: Known | None = None) -> tuple[Resolved, ...]:
    """The rules with their metrics found."""
    return resolve_rules(gate, names or known())


def cell(metric: str, baseline: list[float], candidate: list[float], **more: Any) -> dict[str, Any]:
    """A row of `comparisons`, as the real test makes it."""
    facts = METRICS[metric]
    higher = {"higher": True, "lower": False}[facts.better]
    values = MetricValues(baseline, candidate, higher, scale=facts.scale)
    ids = [f"q{n:04}" for n in range(len(baseline))]
    row = dict(vars(paired_many(ids, {metric: values})[metric]))
    return row | dict.fromkeys(TOGETHER) | {"metric": metric} | more


def number(**more: Any) -> dict[str, Any]:
    """A row of `run_metrics`."""
    return {"mean": 0.5, "ci_low": 0.4, "ci_high": 0.6, "coverage": 1.0} | more


def run(run_id: str = "new", **more: Any) -> RunFacts:
    facts: dict[str, Any] = {
        "run_id": run_id,
        "status": "succeeded",
        "golden_set_hash": "sha256:1",
        "judge": "judge@1",
        "n_expected": 100,
        "n_lost": 0,
    }
    return RunFacts(**(facts | more))


def evidence(
    *cells: dict[str, Any], where: tuple[str, str] = ("all", "all"), **more: Any
) -> Evidence:
    """Two sound runs and these cells; every metric is covered."""
    numbers = {(*where, name): number() for name in METRICS}
    facts: dict[str, Any] = {
        "candidate": run(),
        "baseline": run("old"),
        "n_paired": 40,
        "comparison_id": "c1",
        "compared": {(*where, one["metric"]): one for one in cells},
        "numbers": numbers,
        "numbers_before": numbers,
    }
    return Evidence(**(facts | more))


def judged(gate: GateConfig, found: Evidence, names: Known | None = None) -> dict[str, RuleResult]:
    """Every row by rule_id."""
    return {one.rule_id: one for one in judge_all(resolved(gate, names), found, gate)}


def losses(n_worse: int, n: int = 40, step: float = 1.0) -> tuple[list[float], list[float]]:
    """Values of n items of which so many fell by a step."""
    return [1.0] * n, [1.0 - step] * n_worse + [1.0] * (n - n_worse)
