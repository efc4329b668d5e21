"""Files a user names: regular ones are replaced at once, anything else is written through."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO
from uuid import uuid4

from crucible_batch.errors import CrucibleError, UsageError

STANDARD = (1, 2)
"""Descriptors of stdout and stderr, which a path such as /dev/stdout may mean."""


@contextmanager
def output_file(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 text file that a user asked for; its folder is made where absent.

    A regular file is written aside and renamed when all is written: readers see the old or the new
    one, and a failure leaves the old one. A symbolic link stays, and what it points to is replaced.
    A device, a named pipe and the standard streams, which a rename would turn into regular files,
    are written to as they are.

    Args:
        path: The file.

    Raises:
        CrucibleError: It is a folder, may not be written, or its device is full; exit code 4.
    """
    try:
        writer = _through(path) if _is_special(path) else _replaced(path)
        with writer as file:
            yield file
    except OSError as error:
        raise CrucibleError(
            f"{path} cannot be written: {error.strerror or error}",
            fix="name a file in a folder that can be written to and is not full.",
        ) from error


def write_output(path: Path, text: str) -> Path:
    """Write a whole text file that a user asked for; see `output_file`."""
    with output_file(path) as file:
        file.write(text)
    return path


def check_apart(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work, files to be written that are one file, or one that is read.

    Devices, pipes and the standard streams take more than one text.

    Args:
        outputs: Files to be written.
        inputs: Files that are read.

    Raises:
        UsageError: One would replace another; exit code 2.
    """
    taken = {Path(os.path.realpath(path)): path for path in inputs}
    for path in outputs:
        target = Path(os.path.realpath(path))
        if target in taken and not _is_special(path):
            raise UsageError(
                f"{path} would replace {taken[target]}", fix="name a file of its own for each."
            )
        taken[target] = path


def _is_special(path: Path) -> bool:
    """Whether there is something at the path that is neither a file to be replaced nor a folder."""
    if not path.exists():
        return False
    there = path.stat()
    return not (stat.S_ISREG(there.st_mode) or path.is_dir()) or _standard(there) is not None


def _standard(there: os.stat_result) -> int | None:
    """The standard stream that writes to the same file already, if one does."""
    for descriptor in STANDARD:
        try:
            if os.path.samestat(there, os.fstat(descriptor)):
                return descriptor
        except OSError:  # the stream is closed
            continue
    return None


@contextmanager
def _through(path: Path) -> Iterator[TextIO]:
    """Write to what is there; a standard stream goes on where it stands."""
    descriptor = _standard(path.stat())
    if descriptor is None:
        target = os.open(path, os.O_WRONLY)
    else:
        sys.stdout.flush()
        target = os.dup(descriptor)
    with os.fdopen(target, "w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def _replaced(path: Path) -> Iterator[TextIO]:
    """Write aside, then rename onto what the path, or the link there, means."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{uuid4().hex}.new")
    try:
        with aside.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        if target.exists():
            aside.chmod(stat.S_IMODE(target.stat().st_mode))
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
