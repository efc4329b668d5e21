"""The command line `crucible`: one call each into `assemble`, then print.

Importing this package is light: everything heavy is imported inside the commands, so that
`crucible --help` answers at once.
"""

from __future__ import annotations

import gc
import os
import re
import sys

INTERNAL = 70
"""Exit code of an internal error: 1 would read as a regression."""

BROKEN_PIPE = 141
"""Exit code of a command whose reader has gone, as a shell's."""

SYSTEM_FIX = "Fix: check that the file or folder is there, readable and not full."

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C has ended, as Click's."""


def main() -> None:
    """Run one command; exits with the codes of STATISTICS.md."""
    try:
        _run()
    except KeyboardInterrupt:  # before the command, which has a word of its own for it
        _tell("Aborted!")
        sys.exit(INTERRUPTED)


def _run() -> None:
    _open_closed_streams()
    # All our products run on one thread; the others of NumPy's BLAS would only wait, busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Commands live as long as the process: no garbage is to be found while they are declared.
    gc.disable()
    from typer.main import get_command

    from crucible_batch.cli.app import app
    from crucible_batch.cli.completing import words
    from crucible_batch.cli.outline import outline
    from crucible_batch.errors import CrucibleError

    command = get_command(outline(app, [*sys.argv[1:], *words()]))
    gc.enable()
    try:
        command(prog_name="crucible")
    except CrucibleError as error:
        _tell(f"error: {error}")
        sys.exit(error.exit_code)
    except MemoryError:
        _tell("error: out of memory\nFix: lower machine.memory_limit in crucible.toml.")
        sys.exit(INTERNAL)
    except OSError as error:
        _tell(f"error: {error.strerror or error}: {error.filename or ''}\n{SYSTEM_FIX}")
        sys.exit(4)
    except SystemExit as leaving:
        _check_left(leaving)
        raise
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except (
        BaseException
    ) as error:  # a panic of Polars is no Exception, and Python would exit with 1
        if _was_interrupted(error):
            raise KeyboardInterrupt from error
        if os.environ.get("CRUCIBLE_TRACEBACK"):
            raise
        if (said := _system_said(error)) is not None:
            _tell(f"error: {said}\n{SYSTEM_FIX}")
            sys.exit(4)
        _tell(_internal(error))
        sys.exit(INTERNAL)


def _was_interrupted(error: BaseException) -> bool:
    """Whether DuckDB swallowed Control-C in one of its queries and says this instead."""
    return isinstance(error, RuntimeError) and "query interrupted" in str(error).lower()


def _system_said(error: BaseException) -> str | None:
    """What the operating system said, where Polars or DuckDB wraps it in an error of its own."""
    found = re.search(r"([A-Z][^:()]*) \(os error \d+\)", str(error))
    if found is not None:
        return found[1]
    is_io = type(error).__name__ == "IOException" and "duckdb" in type(error).__module__
    return str(error).partition("\n")[0] if is_io else None


def _check_left(leaving: SystemExit) -> None:
    """Take back the exit code 1 that Typer gives to two accidents: it would read as a regression.

    They are the end of a file where none was expected, and a pipe that nobody reads any more.
    """
    if leaving.code != 1:
        return
    reason = leaving.__context__
    if isinstance(reason, BrokenPipeError):
        sys.exit(BROKEN_PIPE)
    if reason is not None and isinstance(reason.__cause__, EOFError):
        _tell(_internal(reason.__cause__))
        sys.exit(INTERNAL)


def _internal(error: BaseException) -> str:
    return (
        f"internal error: {type(error).__name__}: {error}\n"
        "Fix: this is a fault of crucible; CRUCIBLE_TRACEBACK=1 shows where. Please report it."
    )


def _tell(text: str) -> None:
    """Say it on stderr; where nobody listens the exit code still says it."""
    from crucible_batch.printable import visible

    try:
        print(visible(text), file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _open_closed_streams() -> None:
    """Give a process that was started with a closed stream (`>&-`) one that leads nowhere.

    Without it Python has None there, and the first file opened would take the stream's number.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
