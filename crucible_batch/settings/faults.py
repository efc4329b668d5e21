"""What is wrong with a settings file: each fault with its line, its key and what to write instead.

`tomllib` gives no lines, so the keys are looked up in the text: every line belongs to the table, or
the entry of an array of tables, whose head stands above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from crucible_batch.errors import suggestion

Place = tuple[str | int, ...]
"""Keys and numbers that lead to a value, e.g. ("thresholds", 0, "warn", "value")."""

SECRETIVE = frozenset({("url",), ("secret_env",)})
"""Last keys whose value may hold a secret, or hold one by mistake: a fault does not quote it."""

_HEAD = re.compile(r"^\s*(?P<open>\[\[?)\s*(?P<name>[^\]#]+?)\s*\]")
_TEXT = re.compile(r"\"[^\"]*\"(?!\s*=)|'[^']*'(?!\s*=)")
_PART = re.compile(r"""[{}]|(?P<key>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[\w-]+)*)\s*=""")


def located(message: str, place: Place) -> PydanticCustomError:
    """A fault that several values make together, told where one of them stands."""
    return PydanticCustomError("located", "{message}", {"message": message, "place": place})


def problems(error: ValidationError, text: str, model: type[BaseModel]) -> list[str]:
    """One sentence per fault of a file.

    Args:
        error: What validation found.
        text: Text of the file.
        model: What the whole file was held against.
    """
    lines = list(_placed(text))
    return [_problem(fault, lines, model) for fault in error.errors()]


def _problem(fault: Any, lines: Sequence[tuple[Place, int]], model: type[BaseModel]) -> str:
    is_own = fault["type"] == "located"
    place: Place = tuple(fault["ctx"]["place"] if is_own else _without_branches(fault["loc"]))
    line = _line_of(place, lines)
    at = f"line {line}: " if line else ""
    name = _named(place)
    match fault["type"]:
        case "extra_forbidden":
            return f"{at}unknown setting {name!r}. {suggestion(name, _siblings(place, model))}"
        case "missing":
            return f"{at}{name} is missing: write {place[-1]} = …"
        case "literal_error":
            known = re.findall(r"'([^']*)'", str(fault["ctx"]["expected"]))
            nearest = suggestion(str(fault["input"]), known)
            return f"{at}{name}: no such value (got {fault['input']!r}). {nearest}"
        case "value_error":
            return f"{at}{name}: {fault['msg'].removeprefix('Value error, ')}"
        case "located":
            return f"{at}{fault['ctx']['message']}"
    shown = "" if _may_hold_a_secret(place) else f" (got {fault['input']!r})"
    return f"{at}{name}: {fault['msg']}{shown}"


def _may_hold_a_secret(place: Place) -> bool:
    """Whether what stands at a place is not to be quoted: an address, or all of an endpoint."""
    is_endpoint = place[:1] == ("webhooks",) and len(place) <= 2
    return is_endpoint or place[-1:] in SECRETIVE


def _without_branches(place: Sequence[str | int]) -> Place:
    """A place up to where it names one of the types a value may have, which is no key."""
    branch = re.compile(r"[\[(]|^(all|float|int|str|timedelta)$")
    ends = (n for n, part in enumerate(place) if isinstance(part, str) and branch.search(part))
    return tuple(place[: next(ends, len(place))])


def _named(place: Place) -> str:
    """The place as people count: entries of [[thresholds]] and [[webhooks]] from 1."""
    is_entry = place[:1] in {("thresholds",), ("webhooks",)} and len(place) > 1
    shown = (place[0], int(place[1]) + 1, *place[2:]) if is_entry else place
    return ".".join(str(part) for part in shown)


def _placed(text: str) -> Iterator[tuple[Place, int]]:
    """Every head and key of a file with its line, in order."""
    table: Place = ()
    listed: Place | None = None  # inside `key = [`, where each line may be an entry `{…}`
    n_entries: dict[Place, int] = {}
    for line, content in enumerate(text.splitlines(), start=1):
        code = _TEXT.sub('""', content).partition("#")[0].strip()
        if listed is not None and code.startswith("]"):
            listed = None
        elif listed is not None and code.startswith("{"):
            entry = _next_entry(listed, n_entries)
            yield entry, line
            yield from (((*entry, *key), line) for key in _keys(code))
        elif listed is None and (head := _HEAD.match(content)):
            table = _resolved(_words(head["name"]), n_entries)
            table = _next_entry(table, n_entries) if head["open"] == "[[" else table
            yield table, line
        elif listed is None:
            keys = list(_keys(code))
            yield from (((*table, *key), line) for key in keys)
            listed = (*table, *keys[0]) if keys and code.endswith("[") else None


def _keys(code: str) -> Iterator[Place]:
    """The keys of a line, those of inline tables below the key these belong to."""
    around: list[Place] = []
    last: Place = ()
    for part in _PART.finditer(code):
        if part[0] == "{":
            around.append(last)
        elif part[0] == "}":
            del around[-1:]
        else:
            last = _words(part["key"])
            yield (*(word for words in around for word in words), *last)


def _next_entry(listed: Place, n_entries: dict[Place, int]) -> Place:
    n_entries[listed] = n_entries.get(listed, 0) + 1
    return (*listed, n_entries[listed] - 1)


def _resolved(words: Place, n_entries: dict[Place, int]) -> Place:
    """A head's place: `[thresholds.warn]` speaks of the last entry of `[[thresholds]]`."""
    place: Place = ()
    for number, word in enumerate(words, start=1):
        place = (*place, word)
        if place in n_entries and number < len(words):
            place = (*place, n_entries[place] - 1)
    return place


def _words(name: str) -> Place:
    return tuple(part.strip().strip("\"'") for part in name.split("."))


def _line_of(place: Place, lines: Sequence[tuple[Place, int]]) -> int | None:
    """Line of a place, or of the nearest one around it that the file names."""
    for length in range(len(place), 0, -1):
        for found, line in lines:
            if found == place[:length]:
                return line
    return next((line for found, line in lines if found[:1] == place[:1]), None)


def _siblings(place: Place, model: type[BaseModel]) -> list[str]:
    """Names that may stand at a place, in full."""
    around: Place = ()
    for part in place[:-1]:
        around = (*around, part)
        if isinstance(part, str):
            inner = _model_of(model.model_fields[part].annotation)
            if inner is None:
                break
            model = inner
    head = f"{_named(around)}." if around else ""
    own = [f"{head}{name}" for name in model.model_fields]
    return own if around else [*own, *_inner_names(model)]


def _inner_names(model: type[BaseModel]) -> list[str]:
    """Names within the sections: a key without its section is meant for one of these."""
    sections = {name: _model_of(info.annotation) for name, info in model.model_fields.items()}
    return [
        f"{section}.{key}"
        for section, inner in sections.items()
        if inner is not None
        for key in inner.model_fields
    ]


def _model_of(annotation: Any) -> type[BaseModel] | None:
    """The model that a type holds: itself, one of a union, or the entry of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_of(part))), None)
