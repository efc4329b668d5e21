"""Files that are there or not: written aside, forced to the disk, then renamed."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

READ_ONLY = 0o444


def sync(path: Path) -> None:
    """Force a file or a directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def seal(path: Path) -> None:
    """Make a file read-only and force it to the disk: it will never change again."""
    path.chmod(READ_ONLY)
    sync(path)


def replace(source: Path, target: Path) -> None:
    """Move a file that is already on the disk into place; readers see the old or the new one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)
    sync(target.parent)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file; readers see the old or the new one."""
    aside = path.with_name(f".{path.name}.{uuid4().hex}")
    aside.write_text(text, encoding="utf-8")
    sync(aside)
    replace(aside, path)
