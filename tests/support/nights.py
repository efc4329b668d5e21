"""A nightly job of one's own: a small golden set, runs that say when they finished, its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crucible_batch.assemble.nightly import Night, NightResult, do_night, open_night, parse_as_of

N_ITEMS = 3


class Nights:
    """A folder with inputs, a nightly.toml and a store."""

    def __init__(
        self,
        folder: Path,
        *,
        baseline: str = "base",
        golden_set: str = "faq",
        n_items: int = N_ITEMS,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.golden_set, self.n_items = folder, golden_set, n_items
        self.root = folder / "store"
        self.inputs: list[dict[str, Any]] = []
        self.top: dict[str, Any] = {"golden_set": golden_set, "baseline": baseline}
        items = [
            {
                "item_id": f"q{number}",
                "question": f"Question {number}?",
                "answerable": True,
                "citations": [{"doc_id": f"d{number}", "kind": "required"}],
            }
            for number in range(n_items)
        ]
        self.write(f"{golden_set}.jsonl", *items)
        self.add("golden", f"{golden_set}.jsonl")

    def write(self, name: str, *rows: Any) -> Path:
        """Write an input, one JSON text per line."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def add(self, kind: str, *paths: str, **keys: Any) -> None:
        """Name an input in the nightly.toml."""
        self.inputs.append({"kind": kind, "paths": list(paths), **keys})

    def gate(self, text: str) -> None:
        """Hold candidates against these rules."""
        (self.folder / "gate.toml").write_text(text, encoding="utf-8")
        self.top["gate"] = "gate.toml"

    def run(
        self, run_id: str, finished: str | None, *, n_right: int | None = None, **run: Any
    ) -> None:
        """Hand in a run that finished at a time of 2026-05-01, or does not say when."""
        n_right = self.n_items if n_right is None else n_right
        statement = {"run_id": run_id, "golden_set": self.golden_set, "status": "succeeded", **run}
        if finished is not None:
            day = "" if "T" in finished else "2026-05-01T"
            statement["occurred_at"] = f"{day}{finished}:00Z"
        results = [
            {
                "item_id": f"q{number}",
                "answer": "So.",
                "retrievals": [{"doc_id": f"d{number}" if number < n_right else "other"}],
                "citations": [{"doc_id": f"d{number}"}],
            }
            for number in range(self.n_items)
        ]
        self.write(f"runs/{run_id}.jsonl", {"run": statement}, *results)
        self.add("run", f"runs/{run_id}.jsonl")

    @property
    def config(self) -> Path:
        """The nightly.toml, written anew."""
        lines = [f"{key} = {json.dumps(value)}" for key, value in self.top.items()]
        for entry in self.inputs:
            lines += ["[[inputs]]", *[f"{k} = {json.dumps(v)}" for k, v in entry.items()]]
        path = self.folder / "nightly.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def night(self, as_of: str) -> Night:
        """A night, opened."""
        return open_night(self.root, self.config, parse_as_of(as_of))

    def do(self, as_of: str) -> NightResult:
        """A night, done."""
        return do_night(self.night(as_of))
