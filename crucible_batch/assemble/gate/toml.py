"""Strict reading of a TOML file into a model; a fault is told with file, line and nearest name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from crucible_batch.errors import UsageError, suggestion

Model = TypeVar("Model", bound=BaseModel)
Kinds = Mapping[str, type[BaseModel]]


def read_toml(path: Path, *, fix: str) -> str:
    """The text of a TOML file.

    Args:
        path: The file.
        fix: What to do when it is not there.

    Raises:
        UsageError: It is not there, or not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise UsageError(f"There is no file {path}", fix=fix) from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is not valid TOML", problems=[str(error)], fix="write it in UTF-8."
        ) from error


def validated(
    model: type[Model],
    text: str,
    path: Path,
    *,
    topic: str,
    groups: Mapping[str, Kinds | type[BaseModel]],
) -> Model:
    """Check the text of a TOML file against a model.

    Args:
        model: The model of the whole file.
        text: The text.
        path: The file, for messages.
        topic: Page of the handbook that lists the keys.
        groups: Models of the entries of its arrays of tables: one, or one by `kind`.

    Raises:
        UsageError: It is no TOML, or a key is unknown, missing or wrong.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"{path} is not valid TOML", problems=[str(error)], fix="Text needs quotes."
        ) from error
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UsageError(
            f"{path} cannot be used",
            problems=[_problem(fault, text, model, groups) for fault in error.errors()],
            fix=f"`crucible docs {topic}` lists the keys.",
        ) from error


def _problem(
    fault: Any, text: str, root: type[BaseModel], groups: Mapping[str, Kinds | type[BaseModel]]
) -> str:
    """One fault in words: line, key, what is wrong with it."""
    place = list(fault["loc"])
    section, number = str(place[0]), place[1] if len(place) > 1 else None
    is_entry = section in groups and isinstance(number, int)
    names = [str(part) for part in place if not isinstance(part, int)]
    model: type[BaseModel] = root
    if is_entry:
        group = groups[section]
        if not isinstance(group, type):
            model = group.get(names[1], root) if len(names) > 1 else root
            names = names[:1] + names[2:]
        else:
            model = group
    key = "kind" if fault["type"].startswith("union_tag") else names[-1]
    line = line_of(key, text, section, int(number or 0) + 1 if is_entry else 1)
    at = f"line {line}: " if line else ""
    at += f"{section} {int(number or 0) + 1}: " if is_entry else ""
    return at + _said(
        fault, ".".join(names[1:]) or key, _known(model, names[1:-1] if is_entry else names[:-1])
    )


def _said(fault: Any, name: str, known: list[str]) -> str:
    match fault["type"]:
        case "extra_forbidden":
            return f"unknown key {name!r}. {suggestion(name.rpartition('.')[2], known)}"
        case "missing":
            return f"{name} is missing"
        case "union_tag_not_found":
            return "kind is missing"
        case "union_tag_invalid":
            allowed = re.findall(r"'([^']+)'", str(fault["ctx"]["expected_tags"]))
            return (
                f"kind is {fault['ctx']['tag']!r}. {suggestion(str(fault['ctx']['tag']), allowed)}"
            )
        case _:
            said = fault["msg"].removeprefix("Value error, ")
            return f"{name}: {said} (got {fault['input']!r})"


def _known(model: type[BaseModel], path: list[str]) -> list[str]:
    """Keys that may stand where a path of keys leads."""
    for name in path:
        if name not in model.model_fields:
            break
        inner = [
            kind
            for kind in _types(model.model_fields[name].annotation)
            if isinstance(kind, type) and issubclass(kind, BaseModel)
        ]
        if len(inner) != 1:
            break
        model = inner[0]
    return list(model.model_fields)


def _types(annotation: Any) -> tuple[Any, ...]:
    """A type, or the members of a union."""
    return getattr(annotation, "__args__", None) or (annotation,)


def line_of(key: str, text: str, section: str, number: int) -> int | None:
    """Line of a key in the `number`-th section of this name; of the section's head without it."""
    head = re.compile(rf"^\s*\[\[?\s*{re.escape(section)}\s*\]\]?")
    any_head = re.compile(r"^\s*\[")
    own = re.compile(rf"(^|[{{,])\s*{re.escape(key)}\s*=")
    named = re.compile(rf"^\s*\[\[?\s*{re.escape(key)}\b")
    seen, inside, head_line = 0, False, None
    for line, content in enumerate(text.splitlines(), start=1):
        if any_head.match(content):
            seen += bool(head.match(content))
            inside = bool(head.match(content)) and seen == number
            head_line = line if inside else head_line
            if named.match(content) and key == section:
                return line
        elif (inside or (key == section and not seen)) and own.search(content):
            return line
    return head_line
