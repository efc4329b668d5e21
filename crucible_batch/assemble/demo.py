"""The whole job on the example data that ships with the package."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from crucible_batch.assemble.example import example_dir
from crucible_batch.assemble.load import (
    LoadReport,
    load_golden,
    load_qrels,
    load_run,
)
from crucible_batch.assemble.load.session import Progress
from crucible_batch.settings import template
from crucible_batch.store import Store


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What the demo made.

    Attributes:
        root: Where its store is.
        loads: What was loaded.
        next_commands: Commands worth trying on it.
    """

    root: Path
    loads: tuple[LoadReport, ...]
    next_commands: tuple[str, ...]


def run_demo(root: Path | None = None, *, progress: Progress | None = None) -> Demo:
    """Load the example into a store.

    Args:
        root: Folder of the store; a new temporary folder when None.
        progress: Is told how far it has come.
    """
    folder = root or Path(tempfile.mkdtemp(prefix="crucible-demo-"))
    store = Store.create(folder, settings_text=template())
    data = example_dir()
    loads = [
        load_golden(store, [data / "golden.jsonl"], progress=progress),
        load_qrels(store, [data / "qrels.jsonl"], progress=progress),
        *[load_run(store, [path], progress=progress) for path in sorted(data.glob("runs/*.jsonl"))],
    ]
    return Demo(
        root=store.root,
        loads=tuple(loads),
        next_commands=(
            f'crucible sql --root {store.root} "FROM results LIMIT 3"',
            f"crucible doctor --root {store.root}",
            "crucible schema results",
        ),
    )
