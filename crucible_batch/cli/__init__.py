"""The command line `crucible`: one call each into `assemble`, then print.

Importing this package is light: everything heavy is imported inside the commands, so that
`crucible --help` answers at once.
"""

from __future__ import annotations

import gc
import os
import sys

INTERNAL = 70
"""Exit code of an internal error: 1 would read as a regression."""


def main() -> None:
    """Run one command; exits with the codes of STATISTICS.md."""
    _open_closed_streams()
    # Commands live as long as the process: no garbage is to be found while they are declared.
    gc.disable()
    from typer.main import get_command

    from crucible_batch.cli.app import app
    from crucible_batch.cli.outline import outline
    from crucible_batch.errors import CrucibleError

    command = get_command(outline(app, sys.argv[1:]))
    gc.enable()
    try:
        command(prog_name="crucible")
    except CrucibleError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except MemoryError:
        print(
            "error: out of memory\nFix: lower machine.memory_limit in crucible.toml.",
            file=sys.stderr,
        )
        sys.exit(INTERNAL)
    except OSError as error:
        print(
            f"error: {error.strerror or error}: {error.filename or ''}\n"
            "Fix: check that the file or folder is there, readable and not full.",
            file=sys.stderr,
        )
        sys.exit(4)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except (
        BaseException
    ) as error:  # a panic of Polars is no Exception, and Python would exit with 1
        if os.environ.get("CRUCIBLE_TRACEBACK"):
            raise
        print(
            f"internal error: {type(error).__name__}: {error}\n"
            "Fix: this is a fault of crucible; CRUCIBLE_TRACEBACK=1 shows where. Please report it.",
            file=sys.stderr,
        )
        sys.exit(INTERNAL)


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
