"""The settings in words: for the handbook, and as the commented file of a new store."""

from __future__ import annotations

import json
from datetime import timedelta

from pydantic import BaseModel

from crucible_batch.settings import Settings
from crucible_batch.settings.durations import spelled
from crucible_batch.settings.thresholds import Limit, Threshold
from crucible_batch.settings.watch import DEFAULT_THRESHOLDS
from crucible_batch.settings.webhooks import Webhook

_ABOUT_RULES = (
    "# Rules of the corpus watch. These are in force while no [[thresholds]] is written; the first",
    "# one that is written replaces them all. A value between clear and value changes nothing, so",
    "# that one that hovers at a limit is one alert, not one every night. Metrics and keys:",
    "# `crucible docs drift`.",
)
_ABOUT_WEBHOOKS = (
    "# Who is told of alerts: one [[webhooks]] for each endpoint, `crucible docs alerts`."
)


def described() -> list[tuple[str, str, str]]:
    """Every setting of a section as (section.key, default as TOML, description), in order."""
    rows = []
    for section, info in Settings.model_fields.items():
        model = info.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            rows += [
                (f"{section}.{key}", _toml(field.default), field.description or "")
                for key, field in model.model_fields.items()
            ]
    return rows


def described_threshold() -> list[tuple[str, str, str]]:
    """Every key of a rule as (key, default as TOML or empty, description)."""
    return [
        (key, "" if field.is_required() or field.default is None else _toml(field.default),
         field.description or "")
        for key, field in Threshold.model_fields.items()
    ]  # fmt: skip


def described_webhook() -> list[tuple[str, str, str]]:
    """Every key of an endpoint as (key, default as TOML or empty, description)."""
    return [
        (key, "" if field.is_required() else _toml(field.default), field.description or "")
        for key, field in Webhook.model_fields.items()
    ]


def template() -> str:
    """Text of a new crucible.toml: every setting, commented out, with its default."""
    lines = [
        "# Settings for all workspaces of this store. A workspace overrides them, key by key,",
        "# in <workspace>/settings.toml. Unknown keys are refused. Remove a # to change a default.",
    ]
    section = ""
    for name, default, description in described():
        head, key = name.split(".")
        if head != section:
            section = head
            lines += ["", f"[{section}]"]
        lines += [f"# {description}", f"# {key} = {default}"]
    lines += ["", *_ABOUT_RULES]
    for rule in DEFAULT_THRESHOLDS:
        lines += ["#", *(f"# {line}" for line in written(rule))]
    lines += ["", _ABOUT_WEBHOOKS]
    return "\n".join(lines) + "\n"


def written(rule: Threshold) -> list[str]:
    """A rule as lines of TOML; keys that have their default are left out."""
    given = {
        key: value
        for key in Threshold.model_fields
        if (value := getattr(rule, key)) != Threshold.model_fields[key].default
    }
    return ["[[thresholds]]", *(f"{key} = {_toml(value)}" for key, value in given.items())]


def _toml(value: object) -> str:
    if isinstance(value, Limit):
        parts = {"op": value.op, "value": value.value, "clear": value.clear}
        inner = (f"{key} = {_toml(part)}" for key, part in parts.items() if part is not None)
        return f"{{{', '.join(inner)}}}"
    if value is None or isinstance(value, timedelta):
        return json.dumps(spelled(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
