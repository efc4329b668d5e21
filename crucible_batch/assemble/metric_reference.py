"""The page `metrics` of the handbook: every metric in full, from its declaration."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from crucible_batch.assemble.dictionary import cell
from crucible_batch.assemble.metric_dictionary import metric_range

if TYPE_CHECKING:
    from crucible_batch.metrics.metric import AnyMetric

HEAD = """\
# Metrics: definition, formula, range, and what a null means

Generated from the declarations; a test runs every example. `crucible metrics METRIC` prints one
of them.

Names with `_at_k` are there for every cut-off of the setting `scoring.ks` (5 and 10 in a new
store); the examples are of k = 10. *Relevant* is a grade of `scoring.relevant_at` (2) or more on
the scale 0–3; nDCG reads the grades themselves. A document that nobody judged counts as grade 0.
The eight headline metrics are marked: they are compared as one family.

A metric **per result** has an interval and is compared item by item. A metric **per run** is one
number over all results: a comparison shows both numbers and an interval of their difference, and
never tests it.
"""

NULLS_HEAD = """\
## Why a value is null

Null is *not measured*; zero is *measured, and zero*. A reason that says *not applicable* takes
the result out of the denominator. One that says *missing* lowers the coverage. They are tried in
this order, and the first that holds is the reason in `scores.null_reason`.

| reason | kind | in words |
|---|---|---|
"""

GROUPS = {
    "retrieval": "Retrieval",
    "answers": "Answers",
    "claims": "Claims",
    "citations": "Citations",
    "concepts": "Concepts",
    "payloads": "Scores of other tools, contexts and checks",
    "operational": "Time, tokens, cost",
    "abstention": "Abstention",
    "selective": "Selective prediction",
    "calibration": "Calibration",
}


def metric_reference() -> str:
    """Every metric: definition, formula, range, direction, null reasons, worked example."""
    from crucible_batch.metrics import catalog
    from crucible_batch.metrics.nulls import REASONS

    parts = [HEAD]
    for group, metrics in groupby(catalog.ALL, key=lambda metric: metric.group):
        parts.append(f"## {GROUPS[group]}\n")
        parts += [_entry(family) for family in _families(list(metrics))]
    reasons = [
        f"| `{reason.name}` | {reason.kind.replace('_', ' ')} | {reason.text} |"
        for reason in REASONS
    ]
    parts.append(NULLS_HEAD + "\n".join(reasons) + "\n")
    return "\n".join(parts)


def _families(metrics: list[AnyMetric]) -> list[list[AnyMetric]]:
    """Metrics that differ by their cut-off alone, together."""
    stem = {metric.name: re.sub(r"_at_\d+$", "_at_k", metric.name) for metric in metrics}
    return [
        [metric for metric in metrics if stem[metric.name] == one]
        for one in dict.fromkeys(stem.values())
    ]


def _entry(family: list[AnyMetric]) -> str:
    metric = family[-1]
    names = ", ".join(f"`{one.name}`" for one in family)
    facts = {
        "formula": metric.formula,
        "range": f"{metric_range(metric)}, {_direction(metric)}",
        "one number per": _grain(metric),
        "rests on a judge": "yes" if metric.uses_judge else "no",
        "null when": _null_rule(metric),
        "example": _example(metric),
        "source": metric.source,
    }
    lines = [f"### {names}", "", f"**{metric.title}**{_headline(metric)}. {metric.summary}", ""]
    lines += [f"- {name}: {text}" for name, text in facts.items()]
    return "\n".join(lines) + "\n"


def is_per_result(metric: AnyMetric) -> bool:
    """Whether it is a number per result, whose run value is a mean."""
    from crucible_batch.metrics.metric import Metric

    return isinstance(metric, Metric)


def _headline(metric: AnyMetric) -> str:
    return " (headline)" if metric.headline else ""


def _direction(metric: AnyMetric) -> str:
    said = {"higher": "higher is better", "lower": "lower is better", "none": "no better end"}
    compared = "; runs are compared by ratio" if metric.scale == "log" else ""
    return said[metric.better] + compared


def _grain(metric: AnyMetric) -> str:
    return "result" if is_per_result(metric) else "run"


def _null_rule(metric: AnyMetric) -> str:
    if not is_per_result(metric):
        return metric.null_rule
    return ", ".join(f"`{reason}`" for reason in metric.null_rule.split(", "))


def _example(metric: AnyMetric) -> str:
    """The facts of the declared example and its value."""
    rows, value = metric.example.rows, _value(metric.example.value)
    if len(rows) > 1:
        names = list(rows[0])
        listed = " · ".join(", ".join(_value(row[name]) for name in names) for row in rows)
        return f"results with {', '.join(f'`{name}`' for name in names)} = {listed} → **{value}**"
    columns = metric.grain.columns
    facts = [
        f"`{name}` = {_value(fact)} ({cell(columns[name].meaning)})"
        for name, fact in rows[0].items()
    ]
    return f"{', '.join(facts)} → **{value}**"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return str(value)
