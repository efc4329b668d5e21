"""What is generated from declarations: the data dictionary, README blocks, the handbook.

One generator, so that a document cannot drift from the code: `crucible docs --write` writes, a test
and `crucible docs --check` fail when something is stale.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crucible_batch.contracts import ALL, Column, Kind, Role, Storage, Table
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.settings import described

if TYPE_CHECKING:
    from crucible_batch.metrics.metric import AnyMetric

TYPE_NAMES = {
    Kind.INT: "Int64",
    Kind.FLOAT: "Float64",
    Kind.BOOL: "Boolean",
    Kind.TIME: "timestamp[us, UTC]",
    Kind.WORDS: "list[String]",
}
STORED = {
    Storage.EVENT: "lake, unique by row",
    Storage.BULK: "lake, unique by subject and part",
    Storage.MART: "mart, one file per subject",
    Storage.FOLD: "view over event rows",
}
ROLES = {
    Role.INPUT: "Inputs",
    Role.TRAIL: "Append-only trails",
    Role.OUTPUT: "Outputs",
}
MARKER = re.compile(
    r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end of generated -->)", re.DOTALL
)


def type_name(column: Column) -> str:
    """The published type, with `?` where null is allowed."""
    return TYPE_NAMES.get(column.kind, "String") + (" ?" if column.nullable else "")


def allowed(column: Column) -> str:
    """The allowed values of a column in words, empty when any value of the type is."""
    if column.allowed:
        return ", ".join(column.allowed)
    if column.low is not None and column.high is not None:
        return f"{column.low:g} to {column.high:g}"
    return f"at least {column.low:g}" if column.low is not None else ""


def describe(table: Table) -> str:
    """The contract of one table as text for a terminal."""
    lines = [
        f"{table.name}: {table.description}",
        f"key: {', '.join(table.key)}",
        f"kept: {STORED[table.storage]}; contract version {table.version}",
        "",
    ]
    width = max(len(name) for name in table.names)
    for column in table.columns:
        about = column.description + (f" ({allowed(column)})" if allowed(column) else "")
        about += {True: " [filled if absent]"}.get(column.filled or column.has_default, "")
        lines.append(f"  {column.name.ljust(width)}  {type_name(column).ljust(20)}  {about}")
    if table.rules:
        lines += ["", "rules:"]
        lines += [f"  {rule.name}: {rule.description}" for rule in table.rules]
    return "\n".join(lines)


def overview() -> str:
    """Every table with what it holds."""
    width = max(len(table.name) for table in ALL)
    lines: list[str] = []
    for role, title in ROLES.items():
        lines += ["", title] if lines else [title]
        lines += [
            f"  {table.name.ljust(width)}  {table.description}"
            for table in ALL
            if table.role is role
        ]
    return "\n".join([*lines, "", "crucible schema TABLE prints the columns of one of them."])


def to_dict(table: Table) -> dict[str, Any]:
    """The contract of one table as plain values for JSON."""
    return {
        "table": table.name,
        "description": table.description,
        "version": table.version,
        "role": table.role.value,
        "storage": table.storage.value,
        "key": list(table.key),
        "columns": [
            {
                "name": column.name,
                "type": TYPE_NAMES.get(column.kind, "String"),
                "nullable": column.nullable,
                "optional": column.optional,
                "allowed": list(column.allowed),
                "low": column.low,
                "high": column.high,
                "description": column.description,
            }
            for column in table.columns
        ],
        "rules": {rule.name: rule.description for rule in table.rules},
    }


def data_dictionary() -> str:
    """`data/README.md`: every table and column."""
    lines = [
        "# Data dictionary",
        "",
        "Every table of a Crucible store: what it holds, its key and its columns. Generated from "
        "the contracts by `crucible docs --write`; `crucible schema TABLE` prints one table.",
        "",
        "`?` marks columns that may be null: null is *not measured* or *not known*, zero is "
        "*measured, and zero*. *Filled* columns may be left out of an input.",
    ]
    for role, title in ROLES.items():
        lines += ["", f"## {title}"]
        for table in ALL:
            if table.role is role:
                lines += ["", *_markdown(table)]
    return "\n".join(lines) + "\n"


def _markdown(table: Table) -> list[str]:
    lines = [
        f"### {table.name}",
        "",
        table.description,
        "",
        f"Key: {', '.join(f'`{name}`' for name in table.key)}. Kept: {STORED[table.storage]}.",
        "",
        "| column | type | allowed | meaning |",
        "|---|---|---|---|",
    ]
    for column in table.columns:
        filled = " *Filled.*" if column.filled or column.has_default else ""
        lines.append(
            f"| `{column.name}` | {type_name(column)} | {_cell(allowed(column))} "
            f"| {_cell(column.description)}.{filled} |"
        )
    if table.rules:
        lines += ["", "Rules: " + "; ".join(_cell(rule.description) for rule in table.rules) + "."]
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def settings_table() -> str:
    """Every setting with its default."""
    rows = [f"| `{name}` | `{default}` | {text} |" for name, default, text in described()]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows]) + "\n"


def metric_table() -> str:
    """Every metric as a Markdown table."""
    from crucible_batch.metrics import catalog

    lines = ["| metric | what it says | range | better | null when |", "|---|---|---|---|---|"]
    for metric in catalog.ALL:
        name = f"**`{metric.name}`**" if metric.headline else f"`{metric.name}`"
        lines.append(
            f"| {name} | {_cell(metric.summary)} | {metric_range(metric)} "
            f"| {metric.better} | {_cell(metric.null_rule)} |"
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


FILES: dict[str, Callable[[], str]] = {"data/README.md": data_dictionary}
"""Generated files of a checkout."""

BLOCKS: dict[str, Callable[[], str]] = {"settings": settings_table, "metrics": metric_table}
"""Generated blocks, between markers, of the README and of the handbook."""

WITH_BLOCKS = ("README.md", "crucible_batch/docs/*.md")


def generated(checkout: Path, *, write: bool) -> list[Path]:
    """Find generated documents that are stale, and write them again if asked to.

    Args:
        checkout: Root of a checkout of this project.
        write: Bring them up to date.

    Returns:
        The stale files, relative to the checkout.

    Raises:
        UsageError: The folder is no checkout, or a block has an unknown name.
    """
    if not (checkout / "crucible_batch").is_dir():
        raise UsageError(
            f"{checkout} is no checkout of this project", fix="run it in the project's folder."
        )
    wanted = {checkout / name: make() for name, make in FILES.items()}
    for pattern in WITH_BLOCKS:
        for path in sorted(checkout.glob(pattern)):
            wanted[path] = fill_blocks(path.read_text(encoding="utf-8"))
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if write:
        for path in stale:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
    return [path.relative_to(checkout) for path in stale]


def fill_blocks(text: str) -> str:
    """Put every generated block between its markers.

    Raises:
        UsageError: A marker names a block that nothing generates.
    """

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in BLOCKS:
            raise UnknownNameError("generated block", name, tuple(BLOCKS))
        return f"{match[1]}{BLOCKS[name]()}{match[3]}"

    return MARKER.sub(block, text)


def handbook(topic: str | None) -> str:
    """A topic of the handbook, or the list of topics.

    Raises:
        UnknownNameError: There is no such topic.
    """
    pages = {
        page.name.removesuffix(".md"): page.read_text(encoding="utf-8")
        for page in files("crucible_batch").joinpath("docs").iterdir()
        if page.name.endswith(".md")
    }
    if topic is None:
        titles = [(name, _title(text)) for name, text in sorted(pages.items())]
        width = max(len(name) for name, _ in titles)
        return "\n".join(f"{name.ljust(width)}  {title}" for name, title in titles)
    if topic not in pages:
        raise UnknownNameError("topic", topic, sorted(pages))
    return MARKER.sub(lambda m: m[0][len(m[1]) : -len(m[3])], pages[topic]).rstrip()


def _title(page: str) -> str:
    return page.splitlines()[0].removeprefix("# ")
