"""The whole nightly job on the example data that ships with the package."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from crucible_batch.assemble.example import AS_OF, example_dir
from crucible_batch.assemble.nightly import NightResult, do_night, open_night, parse_as_of
from crucible_batch.assemble.progress import Progress, quiet


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

    Raises:
        StoreError: The root is a file.
        ConflictError: The store holds other rows under the ids of the example.
    """
    folder = root or Path(tempfile.mkdtemp(prefix="crucible-demo-"))
    night = open_night(folder, example_dir() / "nightly.toml", parse_as_of(AS_OF))
    done = do_night(night, progress=progress)
    return Demo(root=night.store.root, workspace=night.workspace, night=done)
