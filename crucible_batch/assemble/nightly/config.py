"""`nightly.toml`: what is loaded every night, and what it is compared with."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crucible_batch.errors import UsageError


class Input(BaseModel):
    """One thing to load; paths are relative to the file that names them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["golden", "qrels", "run", "corpus"]
    paths: Annotated[tuple[str, ...], Field(min_length=1)]
    format: str | None = None
    run: str | None = None
    corpus_version: str | None = None
    observed_at: str | None = None


class NightlyConfig(BaseModel):
    """Everything the nightly job needs to know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workspace: str = "default"
    golden_set: str
    baseline: str
    report_dir: str
    inputs: tuple[Input, ...] = ()


def load_config(path: Path) -> tuple[NightlyConfig, Path]:
    """Read a nightly.toml; returns it with the folder its paths are relative to.

    Raises:
        UsageError: The file is absent, no TOML, or has unknown or missing keys.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"{path} does not exist", fix="say --config FILE; `crucible docs nightly` shows one."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML", problems=[str(error)]) from error
    try:
        return NightlyConfig.model_validate(content), path.resolve().parent
    except ValidationError as error:
        raise UsageError(
            f"{path} cannot be used",
            problems=[_problem(fault) for fault in error.errors()],
            fix="`crucible docs nightly` lists the keys.",
        ) from error


def _problem(fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        known = Input.model_fields if where.startswith("inputs") else NightlyConfig.model_fields
        near = get_close_matches(str(fault["loc"][-1]), known, n=1)
        return f"unknown key {where}" + (f"; did you mean {near[0]}?" if near else "")
    return f"{where}: {fault['msg']}"
