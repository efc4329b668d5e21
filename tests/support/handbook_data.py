"""Examples of settings, gates, nights, items and results: read by what reads them for users."""

from __future__ import annotations

import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import yaml
from handbook_commands import commands_in, complaints

from crucible_batch.assemble.gate.config import load_gate
from crucible_batch.assemble.gate.flaky import load_flaky
from crucible_batch.assemble.load import load_golden, load_qrels, load_run
from crucible_batch.assemble.nightly import load_config
from crucible_batch.settings import load_settings
from crucible_batch.store import Store

SETTINGS = {"scoring", "statistics", "judge", "charts", "machine", "staleness", "drift"}


def check(kind: str, text: str) -> None:
    """Read an example as the configuration or the input it is.

    Raises:
        AssertionError: It is nothing that this package reads.
        CrucibleError: What reads it refuses it.
    """
    with tempfile.TemporaryDirectory() as folder:
        _READ[kind](Path(folder), text)


def _toml(folder: Path, text: str) -> None:
    keys = set(tomllib.loads(text))
    path = folder / "example.toml"
    path.write_text(text, encoding="utf-8")
    if "golden_set" in keys:
        load_config(path)
    elif keys & {"rules", "requirements", "gate"}:
        load_gate(path)
    elif keys == {"items"}:
        load_flaky(path, fix="")
    else:
        assert keys <= SETTINGS | {"thresholds", "webhooks"}, f"what reads {sorted(keys)}?"
        path.rename(folder / "crucible.toml")
        load_settings(folder)


def _yaml(folder: Path, text: str) -> None:
    content = yaml.safe_load(text)
    steps = _steps(content)
    if steps:
        shown = "\n".join(step["run"] for step in steps if "run" in step)
        commands = commands_in(f"```\n{shown}\n```")
        assert commands
        assert [fault for words in commands for fault in complaints(words)] == []
        return
    path = folder / "golden.yaml"
    path.write_text(text, encoding="utf-8")
    store = Store.create(folder / "store")
    assert load_golden(store, [path], golden_set="support").n_quarantined == 0


def _steps(content: Any) -> list[dict[str, Any]]:
    """The steps of a GitHub Actions workflow, of a whole file or of a part of one."""
    if isinstance(content, list):
        return [
            step for step in content if isinstance(step, dict) and step.keys() & {"run", "uses"}
        ]
    jobs = content.get("jobs", {}) if isinstance(content, dict) else {}
    return [step for job in jobs.values() for step in job["steps"]]


def _json(folder: Path, text: str) -> None:
    rows = [json.loads(line) for line in text.splitlines()]
    path = folder / "input.jsonl"
    path.write_text(text + "\n", encoding="utf-8")
    store = Store.create(folder / "store")
    if "question" in rows[0] or "pairs" in rows[0]:
        done = load_golden(store, [path], golden_set="support")
    elif "grade" in rows[0]:
        done = load_qrels(store, [path])
    else:
        assert rows[0].keys() & {"run", "item_id"}, f"what reads {sorted(rows[0])}?"
        done = load_run(store, [path], run="x")
    assert done.n_quarantined == 0


_READ = {"toml": _toml, "yaml": _yaml, "json": _json}
