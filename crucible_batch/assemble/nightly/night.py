"""A night to be done: where, with which configuration, as of when."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from crucible_batch.assemble.gate import check_baseline, load_gate
from crucible_batch.assemble.nightly.config import NightlyConfig, load_config
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.errors import UsageError
from crucible_batch.settings import load_settings
from crucible_batch.settings.template import template
from crucible_batch.store import Engine, Store, Workspace, file_name, locks

DEFAULT_WORKSPACE = "default"


@dataclass(frozen=True, kw_only=True)
class Night:
    """A night to be done.

    Attributes:
        store: The store.
        config: What to do.
        folder: Folder that paths of the configuration are relative to.
        as_of: The instant the night speaks of, UTC.
    """

    store: Store
    config: NightlyConfig
    folder: Path
    as_of: datetime

    @property
    def workspace(self) -> str:
        """Where it happens."""
        return self.config.workspace or DEFAULT_WORKSPACE

    def opened(self) -> Workspace:
        """The workspace, made if it is not there and the night has something to load into it.

        Raises:
            UnknownNameError: It is not there, and nothing would be loaded.
        """
        return self.store.workspace(self.workspace, create=bool(self.config.inputs))

    @property
    def gate_path(self) -> Path | None:
        """The gate.toml, if there is a gate."""
        return None if self.config.gate is None else self.folder / self.config.gate

    def report_path(self, candidate: str) -> Path:
        """The page of the night."""
        chosen = self.config.report_dir
        folder = self.opened().layout.root / "reports" if chosen is None else self.folder / chosen
        return folder / f"{self.as_of:%Y%m%dT%H%M%SZ}-{file_name(candidate)}.html"


def open_night(root: Path, config: Path, as_of: datetime, workspace: str | None = None) -> Night:
    """Read a nightly.toml and open the store, which is made if it is not there.

    Args:
        root: Folder of the store.
        config: Path of the nightly.toml.
        as_of: The instant the night speaks of, UTC.
        workspace: Where it happens, if the file does not say.

    Raises:
        UsageError: The file, its gate or the settings of the store cannot be used, or the file
            names another workspace.
    """
    chosen, folder = load_config(config)
    if workspace is not None and chosen.workspace not in {None, workspace}:
        raise UsageError(
            f"{config} is for workspace {chosen.workspace!r}, not for {workspace!r}",
            fix="leave the option out, or take the key out of the file.",
        )
    if chosen.workspace is None and workspace is not None:
        chosen = chosen.model_copy(update={"workspace": workspace})
    if chosen.gate is not None:  # a gate that cannot be used is told before hours of loading
        check_baseline(load_gate(folder / chosen.gate), chosen.baseline)
    Store.create(root, settings_text=template())
    engine = Engine(memory_limit=load_settings(root).machine.memory_limit)
    return Night(store=Store.open(root, engine=engine), config=chosen, folder=folder, as_of=as_of)


@contextmanager
def alone(night: Night, progress: Progress = quiet) -> Iterator[None]:
    """Keep other nights of the workspace waiting; the lock ends with the process.

    Two nights at once would be safe, every step being so; this only spares doing the work twice:
    whoever waited finds the night done.
    """
    path = night.opened().layout.root / ".nightly.lock"
    said = "waiting for another night of this workspace to end"
    with locks.exclusive(path, on_wait=lambda: progress(said)):
        yield
