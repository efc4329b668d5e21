"""The one place that writes values into SQL text, for statements that cannot bind them.

CREATE VIEW and COPY take no parameters; their texts are the `.sql` files of this folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

Value = str | int | Path | Sequence[str] | Sequence[Path] | Mapping[str, str]


class Names(tuple[str, ...]):
    """Column or view names, written as a list of quoted identifiers."""

    __slots__ = ()


def fill(template: str, **values: Value) -> str:
    """Return the template `<template>.sql` with every `$name` replaced by its quoted value.

    Text becomes a literal, a path a literal without glob characters, names identifiers, a mapping
    a struct, a sequence a list.
    """
    return re.sub(r"\$(\w+)", lambda match: _quoted(values[match[1]]), _text(template))


def literal_glob(path: Path) -> str:
    """Return the path so that `*`, `?` and `[` in it stand for themselves in a glob."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


@cache
def _text(template: str) -> str:
    return resources.files(__package__).joinpath(f"{template}.sql").read_text(encoding="utf-8")


def _quoted(value: Value) -> str:
    match value:
        case int():
            return str(value)
        case Path():
            return _literal(literal_glob(value))
        case str():
            return _literal(value)
        case Names():
            return ", ".join('"' + name.replace('"', '""') + '"' for name in value)
        case Mapping():
            return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
        case _:
            return "[" + ", ".join(_quoted(part) for part in value) + "]"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
