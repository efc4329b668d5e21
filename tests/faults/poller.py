"""A reader with plain DuckDB and no package: `poller.py LAKE`, until its stdin closes.

Reads `SELECT … FROM 'lake/*/qrels.parquet'`, then the audit log pinned at the newest commit it saw.
Prints a line per fault, and at the end how often it looked.
"""

from __future__ import annotations

import select
import sys

import duckdb

QRELS = "SELECT count(*), count(DISTINCT qrel_id), max(_commit) FROM '{}/*/qrels.parquet'"
AUDIT = (
    "SELECT count(*) FROM '{}/*/audit_log.parquet' WHERE action = 'qrel.author' AND _commit <= {}"
)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(lake: str) -> None:
    connection = duckdb.connect()
    looks, last = 0, 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        try:
            rows, distinct, newest = connection.execute(QRELS.format(lake)).fetchone()
            (events,) = connection.execute(AUDIT.format(lake, newest or 0)).fetchone()
        except duckdb.Error as error:
            say(f"FAULT {type(error).__name__} {error}".splitlines()[0])
            continue
        looks += 1
        if rows != distinct or rows != events or rows < last:
            say(f"FAULT {rows=} {distinct=} {events=} {newest=} {last=}")
        last = rows
    say(f"LOOKS {looks}")


if __name__ == "__main__":
    main(sys.argv[1])
