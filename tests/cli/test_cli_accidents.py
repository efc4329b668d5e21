"""Accidents outside a command: none of them may exit with 1, which reads as a regression."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import duckdb
import polars as pl
import pytest

from crucible_batch import cli
from crucible_batch.store import Store

DISK_FULL = "parquet: File out of specification: underlying IO error: No space left (os error 28)"


def fail(error):
    def failing(*_args, **_names):
        raise error

    return failing


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (pl.exceptions.ComputeError(DISK_FULL), 4, "No space left"),
        (duckdb.IOException("IO Error: Could not write file"), 4, "Could not write"),
        (OSError(errno.ENOSPC, "No space left on device"), 4, "No space left"),
        (EOFError("marshal data too short"), 70, "internal error: EOFError"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
        (RuntimeError("Query interrupted"), 130, "Aborted!"),
        (RuntimeError("a fault"), 70, "internal error: RuntimeError"),
        (pl.exceptions.ComputeError("a fault"), 70, "internal error: ComputeError"),
    ],
)
def test_what_the_system_did_to_a_command_has_its_own_exit_code(
    store, crucible, monkeypatch, error, code, said
):
    monkeypatch.setattr(Store, "open", fail(error))
    done = crucible("score", "r")
    assert done.code == code
    assert said in done.err


def test_ctrl_c_before_the_command_begins_shows_no_traceback(crucible, monkeypatch):
    monkeypatch.setattr("typer.main.get_command", fail(KeyboardInterrupt()))
    done = crucible("score", "r")
    assert (done.code, done.err) == (cli.INTERRUPTED, "Aborted!\n")


def test_an_error_that_nobody_reads_keeps_its_exit_code(store):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from crucible_batch.cli import main; main()", "score", "nope",
             "--root", str(store)],
            stderr=writer, check=False,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert done.returncode == 2
