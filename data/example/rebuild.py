"""Rebuild everything that is derived in this folder, to the same bytes: `rebuild.py [--check]`.

With --check nothing is written, and the exit code is 1 when a file would change.
"""

from __future__ import annotations

import sys
from pathlib import Path

from crucible_batch.assemble import example

ROOT = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    """Rebuild or check; say which files changed or differ."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: rebuild.py [--check]\n")
        return 2
    check = bool(arguments)
    names = example.differing(ROOT, example.build(ROOT)) if check else example.rebuild(ROOT)
    for name in names:
        sys.stdout.write(f"{'differs' if check else 'written'}: {name}\n")
    sys.stdout.write(f"{len(names)} files {'differ' if check else 'changed'}\n")
    return int(check and bool(names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
