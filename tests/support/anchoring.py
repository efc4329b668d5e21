"""A store with anchors, a chat judge to ask about them, and its tables read."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
from judge_server import JudgeServer

from crucible_batch.assemble.anchors import (
    AnchorOptions,
    JudgedAnchors,
    JudgeStanding,
    add_anchors,
    judge_anchors,
    standings,
)
from crucible_batch.assemble.judge import JudgeOptions
from crucible_batch.contracts import TABLES
from crucible_batch.store import Store

FIRST = datetime(2026, 5, 1, tzinfo=UTC)
CHAT = """
[judge]
model = "m"
base_url = "{url}"
timeout_seconds = 5
max_attempts = 1
backoff_seconds = 0.01
"""


def anchor(number: int, **more: Any) -> dict[str, Any]:
    """An anchor that the lexical judge calls supported."""
    return {
        "anchor_id": f"a{number:02}",
        "question": f"Where is shed {number}?",
        "evidence": f"Shed {number} stands behind the northern garden wall.",
        "answer": f"Shed {number} stands behind the garden wall.",
        "human_verdict": "supported",
        "scale": "verdict",
        **more,
    }


class Anchoring:
    """A store of its own."""

    def __init__(self, folder: Path, server: JudgeServer | None = None) -> None:
        self.folder = folder
        root = folder / "store"
        self.store = Store.open(root) if root.is_dir() else Store.create(root)
        if server is not None:
            (self.store.root / "crucible.toml").write_text(CHAT.format(url=server.base_url))

    def write(self, *rows: dict[str, Any], name: str = "anchors.jsonl") -> Path:
        path = self.folder / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def add(self, *rows: dict[str, Any], **how: Any) -> Any:
        return add_anchors(self.store, [self.write(*rows)], **how)

    def judge(self, night: int = 0, *, judge: str | None = None, **how: Any) -> JudgedAnchors:
        """Ask in the night of this number, with few repeats; there must be one lane."""
        (done,) = judge_anchors(
            self.store,
            "default",
            as_of=FIRST + timedelta(days=night),
            options=AnchorOptions(asking=JudgeOptions(judge=judge), **{"repeats": 5, **how}),
        )
        return done

    def standing(self, night: int | None = None) -> JudgeStanding:
        at = None if night is None else FIRST + timedelta(days=night)
        (one,) = standings(self.store.workspace().snapshot(), as_of=at)
        return one

    def table(self, name: str) -> pl.DataFrame:
        return self.store.workspace().table(name).sort(TABLES[name].key).collect()


def saying(verdicts: Callable[[str], str]) -> Callable[[str], str]:
    """A reply to the assertion prompt with the verdict that is thought of the prompt."""
    return lambda prompt: json.dumps({"verdict": verdicts(prompt)})
