"""`nightly.toml`: what is loaded every night, and what it is compared with."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from crucible_batch.assemble.nightly.instants import parse_instant
from crucible_batch.errors import UsageError, suggestion

Text = Annotated[str, Field(min_length=1)]
Flag = Annotated[bool, Field(strict=True)]


def _instant(value: object) -> datetime:
    """A TOML time, or the same as text; pydantic reports a ValueError with its place."""
    if isinstance(value, datetime | date):
        value = value.isoformat()
    try:
        return parse_instant(str(value))
    except UsageError as error:
        raise ValueError(f"{error.what}; {error.fix}") from None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Input(_Strict):
    paths: Annotated[tuple[Text, ...], Field(min_length=1)]
    format: Text | None = None


class GoldenInput(_Input):
    """Golden items; their set is that of the night where the files do not say it."""

    kind: Literal["golden"]
    lenient: Flag = False
    retire_missing: Flag = False


class QrelsInput(_Input):
    """Judgments; source and judge are for files that do not say them."""

    kind: Literal["qrels"]
    source: Text | None = None
    judge: Text | None = None
    lenient: Flag = False


class RunInput(_Input):
    """The output of one run."""

    kind: Literal["run"]
    run: Text | None = None


class CorpusInput(_Input):
    """One version of the corpus."""

    kind: Literal["corpus"]
    corpus_version: Text | None = None
    observed_at: Annotated[datetime | None, BeforeValidator(_instant)] = None
    partial: Flag = False


KINDS: Mapping[str, type[_Input]] = {
    "golden": GoldenInput,
    "qrels": QrelsInput,
    "run": RunInput,
    "corpus": CorpusInput,
}
Input = GoldenInput | QrelsInput | RunInput | CorpusInput


class NightlyConfig(_Strict):
    """Everything the nightly job needs to know.

    Attributes:
        workspace: Where it happens; the command line says it when None.
        golden_set: The set whose runs are judged.
        baseline: A run id, `pinned:NAME`, or `latest-succeeded`.
        gate: The gate.toml the candidate is held against; no gate when None.
        report_dir: Folder of the pages; `reports` in the workspace when None.
        inputs: What is loaded, in this order.
    """

    workspace: Text | None = None
    golden_set: Text
    baseline: Text
    gate: Text | None = None
    report_dir: Text | None = None
    inputs: tuple[Annotated[Input, Field(discriminator="kind")], ...] = ()


def load_config(path: Path) -> tuple[NightlyConfig, Path]:
    """Read a nightly.toml; returns it with the folder its paths are relative to.

    Raises:
        UsageError: The file is absent, no TOML, or has unknown, missing or wrong keys; names the
            file, the line and the nearest known key.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except FileNotFoundError:
        raise UsageError(
            f"{path} does not exist", fix="say --config FILE; `crucible docs nightly` shows one."
        ) from None
    except (IsADirectoryError, NotADirectoryError):
        raise UsageError(
            f"{path} is no file", fix=f"say --config {path / 'nightly.toml'}, or another file."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is not valid TOML", problems=[str(error)], fix="Text needs quotes."
        ) from error
    try:
        return NightlyConfig.model_validate(content), path.resolve().parent
    except ValidationError as error:
        raise UsageError(
            f"{path} cannot be used",
            problems=[_problem(fault, text) for fault in error.errors()],
            fix="`crucible docs nightly` lists the keys.",
        ) from error


def _problem(fault: Any, text: str) -> str:
    """One fault in words: line, key, what is wrong with it."""
    place = list(fault["loc"])
    number = place[1] + 1 if place[0] == "inputs" and len(place) > 1 else None
    kind = place[2] if number is not None and len(place) > 2 else None
    key = "kind" if fault["type"].startswith("union_tag") else _key(place)
    line = _line_of(key, text, number)
    at = (f"line {line}: " if line else "") + (f"input {number}: " if number else "")
    match fault["type"]:
        case "extra_forbidden":
            model: type[BaseModel] = KINDS[kind] if kind else NightlyConfig
            of = f" of kind {kind}" if kind else ""
            return f"{at}unknown key {key!r}{of}. {suggestion(key, list(model.model_fields))}"
        case "missing" | "union_tag_not_found":
            return f"{at}{key} is missing"
        case "union_tag_invalid":
            tag = str(fault["ctx"]["tag"])
            return f"{at}kind is {tag!r}. {suggestion(tag, list(KINDS))}"
        case "tuple_type":
            return f"{at}{key} is not a list (got {fault['input']!r})"
        case _:
            said = fault["msg"].removeprefix("Value error, ")
            return f"{at}{key}: {said} (got {fault['input']!r})"


def _key(place: list[str | int]) -> str:
    """The key a fault is about: the last name of its place."""
    return str(next(part for part in reversed(place) if isinstance(part, str)))


def _line_of(key: str, text: str, number: int | None) -> int | None:
    """Line of a key: the first at the top, or the first after the head of that input."""
    head = re.compile(r"^\s*\[\[\s*inputs\s*\]\]")
    own = re.compile(rf"^\s*{re.escape(key)}\s*=")
    seen, head_line = 0, None
    for line, content in enumerate(text.splitlines(), start=1):
        if head.match(content):
            seen += 1
            head_line = line if seen == number else head_line
        elif seen == (number or 0) and own.match(content):
            return line
    return head_line
