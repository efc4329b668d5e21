"""What every table promises, in words, for a terminal and for `data/README.md`."""

from __future__ import annotations

from typing import Any

from crucible_batch.contracts import ALL, Column, Kind, Role, Storage, Table

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
    Storage.VIEW: "wide view",
}
ROLES = {
    Role.INPUT: "Inputs",
    Role.TRAIL: "Append-only trails",
    Role.OUTPUT: "Outputs",
    Role.VIEW: "Wide views",
}


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


def kept(table: Table) -> str:
    """How the store keeps a table, and what a view reads."""
    return STORED[table.storage] + (f" of {', '.join(table.over)}" if table.over else "")


def describe(table: Table) -> str:
    """The contract of one table as text for a terminal."""
    lines = [
        f"{table.name}: {table.description}",
        f"key: {', '.join(table.key)}",
        f"kept: {kept(table)}; contract version {table.version}",
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
        "over": list(table.over),
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
        "",
        "Every description here is also a comment on its view or column: `duckdb_views()` and "
        "`duckdb_columns()` of `catalog.duckdb` show them, and so does `views.sql`. The wide views "
        "hold the headline metrics; `result_metrics` has a column, and `run_metrics` a row, for "
        "each of the others.",
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
        f"Key: {', '.join(f'`{name}`' for name in table.key)}. Kept: {kept(table)}.",
        "",
        "| column | type | allowed | meaning |",
        "|---|---|---|---|",
    ]
    for column in table.columns:
        filled = " *Filled.*" if column.filled or column.has_default else ""
        lines.append(
            f"| `{column.name}` | {type_name(column)} | {cell(allowed(column))} "
            f"| {cell(column.description)}.{filled} |"
        )
    if table.rules:
        lines += ["", "Rules: " + "; ".join(cell(rule.description) for rule in table.rules) + "."]
    return lines


def cell(text: str) -> str:
    """Text that may stand in a cell of a Markdown table."""
    return text.replace("|", "\\|")
