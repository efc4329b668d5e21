"""Rules of the house that can be read off the source text: each is a function that finds breaches.

Every rule takes source and says what breaks it, so that the tests can show each one failing on a
planted breach before they trust its silence about the package.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

PACKAGE = "crucible_batch"

FLOORS: Mapping[str, int] = {
    "errors": 0,
    "exact": 0,
    "ahead": 0,
    "pieces": 0,
    "printable": 0,
    "settings": 0,
    "contracts": 1,
    **dict.fromkeys(
        (
            "store",
            "metrics",
            "stats",
            "sql",
            "formats",
            "judges",
            "targets",
            "watch",
            "delivery",
            "report",
        ),
        2,
    ),
    "assemble": 3,
    "cli": 4,
    "service": 4,
}
"""Room to floor: imports only go down, never sideways."""

SIDEWAYS = {
    ("errors", "printable"): "what an error says is printed",
    ("settings", "errors"): "a setting that cannot be used is a UsageError",
}


def imported_modules(source: str, module: str) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a module imports, inside functions too."""
    parts = module.split(".")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(parts[: len(parts) - node.level]) if node.level else ""
            origin = ".".join(part for part in (base, node.module or "") if part)
            if origin == PACKAGE:  # `from crucible_batch import store`
                yield from ((node.lineno, f"{origin}.{name.name}") for name in node.names)
            else:
                yield node.lineno, origin


def wrong_imports(source: str, module: str) -> list[str]:
    """Imports of the package that go up or sideways."""
    room = module.split(".")[1]
    if room not in FLOORS:
        return [f"{module}: no floor is declared for the room {room!r}"]
    found = []
    for line, name in imported_modules(source, module):
        parts = name.split(".")
        if parts[0] != PACKAGE or len(parts) == 1 or parts[1] == room:
            continue
        down = FLOORS.get(parts[1], 99) < FLOORS[room]
        if not down and (room, parts[1]) not in SIDEWAYS:
            found.append(f"{module} line {line}: {room} may not import {name}")
    return found


def foreign_imports(source: str, module: str, forbidden: str) -> list[str]:
    """Imports of a library, or of its parts."""
    return [
        f"{module} line {line}: imports {name}"
        for line, name in imported_modules(source, module)
        if name.split(".")[0] == forbidden
    ]


SQL_TEXT = re.compile(
    r"\bselect\s[^|,.]*(,[^|.]*)?\sfrom\s+\S|\binsert\s+into\b|\bdelete\s+from\b|\bupdate\s+\w+\s+set\b"
    r"|\bcreate\s+(or\s+replace\s+)?(temp\s+|temporary\s+)?(table|view|macro)\b"
    r"|\bcopy\b.*\bto\s+['$]|\bgroup\s+by\b.*\b(order|having)\b|^\s*(from|with)\s+\w+\s+(as\b|select\b)",
    re.IGNORECASE | re.DOTALL,
)


def sql_in_strings(source: str, module: str) -> list[str]:
    """String literals, f-strings too, that hold a SQL statement; docstrings are for people."""
    tree = ast.parse(source)
    docstrings = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    }
    return [
        f"{module} line {node.lineno}: {text[:60]!r}"
        for node in ast.walk(tree)
        if id(node) not in docstrings and (text := _literal(node)) and SQL_TEXT.search(text)
    ]


def _literal(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) or "{}" for part in node.values)
    return ""


MEANS = {"mean", "fmean", "nanmean", "average", "nansum", "median_mean"}
SUMS = {"sum"}
COUNT_NAME = re.compile(r"^_?(n|n_\w+|is_\w+|has_\w+|height|errored|size|sizes|counts?)$")
COUNT_CALLS = {"is_null", "is_not_null", "is_in", "is_finite", "isinf", "isnan", "len", "any"}


def float_sums(source: str, module: str, allowed: Mapping[tuple[str, str], str]) -> list[str]:
    """Means, and sums that are not evidently counts, outside `exact`.

    A mean is never exactly rounded, so it is never allowed. A sum is evidently a count when it is
    taken as `int(…)`, when what is summed is a condition (a comparison, `~`, `&`, `|`, `is_null`
    and the like), or when it is named as a count (`n_…`, `is_…`, `has_…`). Every other sum needs
    an entry (module, function) in `allowed` that says why its result is exact.
    """
    tree = ast.parse(source)
    parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = _called(node)
        if name in MEANS:
            found.append(f"{module} line {node.lineno}: {name}() is not exactly rounded")
        elif name in SUMS and not _evidently_counts(node, parents):
            function = _function_of(node, parents)
            if (module, function) not in allowed and (module, "*") not in allowed:
                found.append(f"{module} line {node.lineno}: sum in {function}() may be of floats")
    return found


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _function_of(node: ast.AST, parents: Mapping[int, ast.AST]) -> str:
    while not isinstance(node, ast.FunctionDef) and id(node) in parents:
        node = parents[id(node)]
    return node.name if isinstance(node, ast.FunctionDef) else "the module"


def _evidently_counts(call: ast.Call, parents: Mapping[int, ast.AST]) -> bool:
    parent = parents.get(id(call))
    if isinstance(parent, ast.Call) and _called(parent) == "int":
        return True
    if isinstance(parent, ast.keyword) and COUNT_NAME.match(parent.arg or ""):
        return True
    summed = call.args or [call.func.value if isinstance(call.func, ast.Attribute) else call.func]
    if isinstance(call.func, ast.Attribute) and not _is_module(call.func.value):
        summed = [call.func.value]  # x.sum(axis=1): the receiver is what is summed
    return all(_is_count(part) for part in summed)


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in {"pl", "np", "pc"}


def _is_count(node: ast.AST) -> bool:
    """Whether an expression is a condition, a whole number by name, or made of such."""
    match node:
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr()) | ast.Compare() | ast.BoolOp():
            counts = True
        case ast.UnaryOp(op=ast.Not() | ast.Invert()) | ast.Constant(value=int()):
            counts = True
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()):
            counts = _is_count(node.left) and _is_count(node.right)
        case ast.UnaryOp():
            counts = _is_count(node.operand)
        case ast.GeneratorExp() | ast.ListComp():
            counts = _is_count(node.elt)
        case ast.Subscript():
            counts = _is_count(node.slice)
        case ast.Call() if _called(node) == "col":
            counts = bool(node.args) and all(_is_count(part) for part in node.args)
        case ast.Call():
            counts = _called(node) in COUNT_CALLS
        case _:
            counts = bool(COUNT_NAME.match(_name(node)))
    return counts


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


SQL_SUM = re.compile(r"\b(avg|favg|mean|fsum|sum|kahan_sum|product)\s*\(", re.IGNORECASE)


def sums_in_sql(text: str, name: str, allowed: Mapping[str, str]) -> list[str]:
    """Means and sums in a SQL file; comments are for people."""
    code = re.sub(r"--[^\n]*", "", text)
    return [] if name in allowed else [f"{name}: {m[0]}…)" for m in SQL_SUM.finditer(code)]


def catch_alls(source: str, module: str) -> list[str]:
    """Handlers of every exception that do not raise it again."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        names = (
            {part.id for part in ast.walk(node.type) if isinstance(part, ast.Name)}
            if (node.type)
            else {"BaseException"}
        )
        raises = any(isinstance(part, ast.Raise) for part in node.body)
        if names & {"Exception", "BaseException"} and not raises:
            found.append(f"{module} line {node.lineno}: catches everything")
    return found


def reads_that_end_early(source: str, module: str) -> list[str]:
    """Calls of `collect_batches`, which loses the panics of its engine and the rows after them."""
    return [
        f"{module} line {node.lineno}: use InPieces, which raises"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr == "collect_batches"
    ]
