"""Long ids as people type them: whole, or the first characters of one."""

from __future__ import annotations

from collections.abc import Iterable

from crucible_batch.errors import UnknownNameError, UsageError

SHORTEST = 6
"""Fewest characters that name an id."""


def by_prefix(kind: str, given: str, known: Iterable[str], *, fix: str) -> str:
    """The one id that is, or begins with, what was given.

    Args:
        kind: What the ids are of.
        given: An id, or its first six or more characters.
        known: All ids.
        fix: Which command shows them.

    Raises:
        UnknownNameError: There is no such id.
        UsageError: Several ids begin like this.
    """
    ids = sorted(known)
    fitting = [one for one in ids if one == given or one.startswith(given)]
    if len(given) < SHORTEST or not fitting:
        raise UnknownNameError(kind, given, ids, fix=fix)
    if len(fitting) > 1 and given not in fitting:
        raise UsageError(
            f"{len(fitting)} ids begin with {given!r}", problems=fitting, fix="Say more of it."
        )
    return given if given in fitting else fitting[0]
