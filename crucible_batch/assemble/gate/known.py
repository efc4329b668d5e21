"""The names a gate may use, and its rules with their metrics and items found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from crucible_batch.assemble.evaluate.ruler import load_golden_set
from crucible_batch.assemble.gate.bounds import idle_bound
from crucible_batch.assemble.gate.config import (
    Floor,
    GateConfig,
    MustPass,
    NoOpenAlert,
    OnMetric,
    Rule,
)
from crucible_batch.assemble.gate.flaky import FlakyItem
from crucible_batch.errors import UsageError, suggestion
from crucible_batch.metrics import catalog, names
from crucible_batch.metrics.metric import Declaration, RunMetric
from crucible_batch.metrics.plugins import PREFIX, plugin_metrics
from crucible_batch.settings import Settings
from crucible_batch.sql import query
from crucible_batch.store import Snapshot

Slices = Mapping[tuple[str, str], frozenset[str]]
OF_RESULTS, OF_RUN = "external_scores", "external_run_metrics"


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """What there is in the candidate's golden set and in the two runs.

    Attributes:
        metrics: Every metric by name: the catalog, declared plugins, plugins of either run.
        of_runs: Those that are one number per run, and are never tested.
        slices: Items of every slice, by slice_by and slice.
        clusters: Cluster of every item, None for an item of its own.
    """

    metrics: Mapping[str, Declaration]
    of_runs: frozenset[str]
    slices: Slices
    clusters: Mapping[str, str | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Resolved:
    """A rule with what its names stand for.

    Attributes:
        rule: The rule.
        metric: The metric it reads; of must-pass rules the one that says what is right.
        items: Items a must-pass rule is about, sorted, flaky ones left out.
        set_aside: Its items that are left out as flaky.
    """

    rule: Rule
    metric: Declaration | None = None
    items: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()

    @property
    def uses_judge(self) -> bool:
        """Whether it rests on a judge's verdicts."""
        return self.metric is not None and self.metric.uses_judge


RIGHT = "accuracy"
"""The metric that says whether a sample of a must-pass item is right."""


def known_names(
    snapshot: Snapshot, golden_set_hash: str, runs: Iterable[str], settings: Settings
) -> Known:
    """Gather the names a gate over these runs may use."""
    items = load_golden_set(snapshot, golden_set_hash).items
    rows = query("slices", {"items": items})
    declared = snapshot.read("plugin_metrics").drop("_commit").collect()
    reported = {table: _reported(snapshot, table, runs) for table in (OF_RESULTS, OF_RUN)}
    plugins = sorted({*declared["metric"], *reported[OF_RESULTS], *reported[OF_RUN]})
    of_plugins = plugin_metrics(pl.DataFrame({"metric": plugins}, {"metric": pl.String}), declared)
    every = (*catalog.for_ks(settings.scoring.ks), *of_plugins)
    of_runs = {m.name for m in every if isinstance(m, RunMetric)} | set(reported[OF_RUN])
    return Known(
        metrics={metric.name: metric for metric in every},
        of_runs=frozenset(of_runs),
        slices={
            (by, name): frozenset(ids)
            for by, name, ids in rows.group_by("slice_by", "slice").agg("item_id").iter_rows()
        },
        clusters=dict(items.select("item_id", "cluster_id").iter_rows()),
    )


def _reported(snapshot: Snapshot, table: str, runs: Iterable[str]) -> list[str]:
    """Metrics other programs computed for any of the runs."""
    found = (
        snapshot.read(table, subject=run).select("metric").unique().collect()["metric"].to_list()
        for run in runs
    )
    return sorted({name for part in found for name in part if name.startswith(PREFIX)})


def resolve_rules(
    config: GateConfig, known: Known, flaky: Sequence[FlakyItem] = ()
) -> tuple[Resolved, ...]:
    """Find the metric and the items of every rule.

    Args:
        config: The gate.
        known: The names there are.
        flaky: Items that are left out now.

    Raises:
        UsageError: A rule names a metric, slice, tag or item that is not there, tests a metric
            that has no direction or is one number per run, or has a bound no value of its metric
            can reach; names the rule, and the nearest name or the line.
    """
    problems: list[str] = []
    resolved = []
    for place, rule in enumerate(config.rules):
        found = _resolved(rule, known, frozenset(item.item_id for item in flaky))
        if isinstance(found, Resolved):
            resolved.append(found)
            if bound := idle_bound(rule, found.metric):
                line = config.line(place, bound.key)
                at = "" if line is None else f"line {line}: "
                problems.append(f"{at}rule {rule.rule_id!r}: {bound.why}")
        else:
            problems.append(f"rule {rule.rule_id!r}: {found}")
    if problems:
        raise UsageError(
            f"{config.path} cannot be applied to this golden set and these runs",
            problems=problems,
            fix="correct them; `crucible metrics` lists the metrics and their ranges.",
        )
    return tuple(resolved)


def check_flaky(items: Sequence[FlakyItem], known: Known, path: object) -> None:
    """Refuse a flaky item the golden set does not have: its entry protects nothing.

    Raises:
        UsageError: Names the items, and the nearest ones there are.
    """
    unknown = [item.item_id for item in items if item.item_id not in known.clusters]
    if unknown:
        there = sorted(known.clusters)
        raise UsageError(
            f"{path} lists items that the candidate's golden set does not have",
            problems=[f"{name}. {suggestion(name, there)}" for name in unknown],
            fix="correct the ids, or remove the entries.",
        )


def _resolved(rule: Rule, known: Known, flaky: frozenset[str]) -> Resolved | str:
    """The rule with its names found, or what is wrong with it."""
    if isinstance(rule, NoOpenAlert):
        return Resolved(rule=rule)
    if rule.cell not in known.slices:
        return _no_slice(rule.cell, known.slices)
    if isinstance(rule, MustPass):
        return _with_items(rule, known, flaky)
    return _with_metric(rule, known)


def _with_metric(rule: OnMetric, known: Known) -> Resolved | str:
    try:
        exact = rule.metric in known.metrics
        name = rule.metric if exact else names.resolve(rule.metric, known.metrics)
    except UsageError as error:
        return f"{error.what}. {error.fix}"
    metric = known.metrics[name]
    if not isinstance(rule, Floor):
        if name in known.of_runs:
            return f'{name} is one number per run and is never tested; use kind = "floor"'
        if metric.better == "none":
            return f"{name} has no direction: neither more nor less of it is worse"
    return Resolved(rule=rule, metric=metric)


def _with_items(rule: MustPass, known: Known, flaky: frozenset[str]) -> Resolved | str:
    tagged = known.slices.get(("tag", rule.tag))
    if tagged is None:
        tags = sorted(name for by, name in known.slices if by == "tag")
        return f"no item has the tag {rule.tag!r}. {suggestion(rule.tag, tags)}"
    items = tagged & known.slices[rule.cell]
    if not items:
        return f"no item with the tag {rule.tag!r} is in {rule.cell[0]} = {rule.cell[1]}"
    return Resolved(
        rule=rule,
        metric=known.metrics[RIGHT],
        items=tuple(sorted(items - flaky)),
        set_aside=tuple(sorted(items & flaky)),
    )


def _no_slice(cell: tuple[str, str], slices: Slices) -> str:
    slice_by, name = cell
    inside = sorted(n for by, n in slices if by == slice_by)
    if not inside:
        facets = sorted({by for by, _ in slices})
        return f"no item has the facet {slice_by!r}. {suggestion(slice_by, facets)}"
    return f"no item has {slice_by} = {name!r}. {suggestion(name, inside)}"
