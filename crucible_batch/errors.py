"""Every deliberate error: what broke and where, up to five problems, and how to fix it.

The exit codes are those of the command line (STATISTICS.md): 2 usage or configuration, 4 data error
or broken contract, 70 internal. 1 and 3 belong to the gate's verdicts and are never an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from crucible_batch.printable import one_line, visible

SHOWN = 5
"""How many problems an error lists before it only counts the rest."""


class CrucibleError(Exception):
    """Base of every error a user can meet.

    Attributes:
        what: What broke and where, one sentence.
        problems: The single faults, each with its row and value where it has one.
        fix: What to do about it.
    """

    exit_code = 4

    def __init__(self, what: str, *, problems: Iterable[str] = (), fix: str = "") -> None:
        self.what = what
        self.problems = tuple(problems)
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        lines = [visible(self.what) + (":" if self.problems else "")]
        lines += [f"  - {one_line(problem)}" for problem in self.problems[:SHOWN]]
        if len(self.problems) > SHOWN:
            lines.append(f"  - and {len(self.problems) - SHOWN:,} more")
        if self.fix:
            lines.append(f"Fix: {visible(self.fix)}")
        return "\n".join(lines)


class UsageError(CrucibleError):
    """A wrong option, setting or name: exit code 2."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A run, metric, table, item or baseline that is not there: exit code 2.

    Attributes:
        kind: What was looked for, e.g. ``run``.
        name: The name as given.
        known: The names that exist.
    """

    def __init__(self, kind: str, name: str, known: Sequence[str], *, fix: str = "") -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        super().__init__(f"No {kind} is called {name!r}", fix=fix or suggestion(name, known))


class ContractError(CrucibleError):
    """A table does not keep what its contract promises: exit code 4."""


class ConflictError(CrucibleError):
    """A key is already there with other content: exit code 4."""


class StoreError(CrucibleError):
    """The store itself is missing, damaged or in use: exit code 4."""


class NotComparableError(CrucibleError):
    """Two runs cannot be compared: exit code 4."""


def suggestion(name: str, known: Sequence[str]) -> str:
    """Say which known names are nearest to `name`, or list a few of them."""
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {', '.join(close)}?"
    if not known:
        return "There are none yet."
    more = f" and {len(known) - SHOWN:,} more" if len(known) > SHOWN else ""
    return f"There is {', '.join(known[:SHOWN])}{more}."
