"""Crucible batch: is run B better than run A?

Names are imported on first use, so that `import crucible_batch` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crucible_batch.assemble.load import load_corpus, load_golden, load_qrels, load_run
    from crucible_batch.store import Store, golden_set_hash

_HOMES = {
    "Store": "crucible_batch.store",
    "golden_set_hash": "crucible_batch.store",
    "load_corpus": "crucible_batch.assemble.load",
    "load_golden": "crucible_batch.assemble.load",
    "load_qrels": "crucible_batch.assemble.load",
    "load_run": "crucible_batch.assemble.load",
}

__all__ = [
    "Store",
    "golden_set_hash",
    "load_corpus",
    "load_golden",
    "load_qrels",
    "load_run",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("crucible-batch")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
