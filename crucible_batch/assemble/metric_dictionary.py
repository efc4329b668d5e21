"""What every metric says, in words, from its declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crucible_batch.assemble.dictionary import cell

if TYPE_CHECKING:
    from crucible_batch.metrics.metric import AnyMetric


def metric_table() -> str:
    """Every metric as a Markdown table, a line each; the page `metrics` says more."""
    from crucible_batch.metrics import catalog

    lines = ["| metric | what it says | range | better |", "|---|---|---|---|"]
    for metric in catalog.ALL:
        name = f"**`{metric.name}`**" if metric.headline else f"`{metric.name}`"
        lines.append(
            f"| {name} | {cell(metric.summary)} | {metric_range(metric)} | {metric.better} |"
        )
    return "\n".join(lines) + "\n"


def metric_range(metric: AnyMetric) -> str:
    """The declared range in words."""
    low, high = ("" if end is None else f"{end:g}" for end in (metric.low, metric.high))
    return f"{low} to {high}" if low and high else f"from {low}" if low else "any"


def metric_overview() -> str:
    """Every metric with what it says, by family."""
    from crucible_batch.metrics import catalog

    width = max(len(metric.name) for metric in catalog.ALL)
    lines: list[str] = []
    for group in dict.fromkeys(metric.group for metric in catalog.ALL):
        lines += ["", group] if lines else [group]
        lines += [
            f"  {metric.name.ljust(width)}  {metric.summary}"
            for metric in catalog.ALL
            if metric.group == group
        ]
    return "\n".join([*lines, "", "crucible metrics METRIC prints range, nulls and source."])


def describe_metric(metric: AnyMetric) -> str:
    """The declaration of one metric as text."""
    judge = "yes: a changed judge blocks its comparison" if metric.uses_judge else "no"
    facts = {
        "title": metric.title,
        "formula": metric.formula,
        "family": metric.group,
        "unit": metric.unit,
        "range": metric_range(metric),
        "better": metric.better,
        "compared on": f"the {metric.scale} scale",
        "judge": judge,
        "null when": metric.null_rule,
        "source": metric.source,
    }
    lines = [f"  {name.ljust(12)} {text}" for name, text in facts.items()]
    return "\n".join([f"{metric.name}: {metric.summary}", *lines])
