"""Look a store over, workspace by workspace."""

from __future__ import annotations

from dataclasses import dataclass

from crucible_batch.store import Store
from crucible_batch.store.doctor import Finding, diagnose, repair


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was found, and what was done about it, in one workspace."""

    workspace: str
    done: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def is_broken(self) -> bool:
        """Whether data is damaged or wrong."""
        return any(finding.level == "error" for finding in self.findings)


def examine(
    store: Store, workspace: str | None = None, *, put_right: bool = False
) -> tuple[Report, ...]:
    """Examine one workspace, or all of them.

    Args:
        store: The store.
        workspace: One workspace; all of them when None.
        put_right: First finish what a crash left open and remove what dead processes staged.

    Raises:
        UnknownNameError: No workspace has this name.
    """
    names = store.workspaces() if workspace is None else (workspace,)
    reports = []
    for name in names:
        opened = store.workspace(name)
        done = repair(opened) if put_right else ()
        reports.append(Report(workspace=name, done=done, findings=diagnose(opened)))
    return tuple(reports)
