"""The whole nightly job on the example data that ships with the package."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from crucible_batch.assemble.example import AS_OF, example_dir
from crucible_batch.assemble.nightly import (
    Night,
    NightResult,
    do_night,
    load_config,
    parse_as_of,
)
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.settings import template
from crucible_batch.store import Store


@dataclass(frozen=True, kw_only=True, eq=False)
class Demo:
    """What the demo made.

    Attributes:
        root: Where its store is.
        workspace: The workspace it filled.
        night: What became of the job; a repeat when the store held it already.
    """

    root: Path
    workspace: str
    night: NightResult


def run_demo(root: Path | None = None, *, progress: Progress = quiet) -> Demo:
    """Do the nightly job on the example.

    Args:
        root: Folder of the store; a new temporary folder when None.
        progress: Is told how far it has come.
    """
    folder = root or Path(tempfile.mkdtemp(prefix="crucible-demo-"))
    store = Store.create(folder, settings_text=template())
    config, data = load_config(example_dir() / "nightly.toml")
    here = config.model_copy(update={"report_dir": str(store.root / "reports")})
    night = Night(store=store, config=here, folder=data, as_of=parse_as_of(AS_OF))
    return Demo(root=store.root, workspace=here.workspace, night=do_night(night, progress=progress))
