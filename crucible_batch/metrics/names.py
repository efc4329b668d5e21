"""Names of metrics: `ndcg_at_10` everywhere; `ndcg@10` and `ndcgAt10` are accepted on input."""

from __future__ import annotations

import re
from collections.abc import Iterable

from crucible_batch.errors import UnknownNameError, UsageError

KPI_LETTER = "10"
"""What `K` stands for in the camel-case names of the guides (`recallAtK`)."""

LARGEST_CUTOFF = 1_000_000_000
"""Far beyond any ranking, and far below what whole numbers of a column hold."""


class CutoffError(UsageError, ValueError):
    """A cut-off is no whole number from 1 to LARGEST_CUTOFF: exit code 2."""


def cutoff(k: object) -> int:
    """Check a cut-off before any work is done.

    Raises:
        CutoffError: `k` is no whole number from 1 to LARGEST_CUTOFF.
    """
    if isinstance(k, int) and k > LARGEST_CUTOFF:
        raise CutoffError(
            f"A cut-off k must be <= {LARGEST_CUTOFF:,}, not {k}",
            fix="Ask for the metric without a cut-off: it reads the whole ranking.",
        )
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise CutoffError(
            f"A cut-off k must be >= 1 and a whole number, not {k!r}",
            fix="Ask for a cut-off from 1 on, e.g. ndcg@10.",
        )
    return k


def canonical(name: str) -> str:
    """Spell `name` as a SQL identifier: `ndcg@10` and `ndcgAt10` become `ndcg_at_10`."""
    text = name.strip().replace("@", "_at_")
    text = re.sub(r"AtK$", f"At{KPI_LETTER}", text)
    text = re.sub(r"(?<=[a-z])At(?=-?\d)", "_at_", text)
    text = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", text)
    return text.lower()


def split(name: str) -> tuple[str, int | None]:
    """Split a canonical name into family and cut-off.

    Raises:
        CutoffError: The name ends in a cut-off below 1 or one that is no whole number.
    """
    family, separator, cut = name.rpartition("_at_")
    if not separator:
        return name, None
    if not re.fullmatch(r"[-+]?\d+(\.\d+)?", cut):
        return name, None
    return family, cutoff(int(cut) if re.fullmatch(r"[-+]?\d+", cut) else float(cut))


def resolve(name: str, known: Iterable[str]) -> str:
    """The known name that `name` means.

    Raises:
        UnknownNameError: There is none; the nearest names are suggested.
        CutoffError: The cut-off is below 1.
    """
    names = list(known)
    spelled = canonical(name)
    split(spelled)
    if spelled not in names:
        raise UnknownNameError("metric", name, names)
    return spelled
