"""SQL of a person over one workspace: it can read what is in the workspace, and do nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

from crucible_batch.contracts import Storage, Table
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store.catalog import comments
from crucible_batch.store.plain import plain_rows
from crucible_batch.store.quoting import Names, fill, literal_glob
from crucible_batch.store.snapshot import Snapshot

_BLANK = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_EXPLAIN = re.compile(
    rf"{_BLANK}explain\b{_BLANK}(?:analyze\b)?{_BLANK}(?:\([^)]*\))?", re.I | re.S
)
_READING = re.compile(rf"{_BLANK}\(*(?:select|from|with|pivot|unpivot)\b", re.I | re.S)
_CATALOGUE = re.compile(
    r"\b(?:show|information_schema|duckdb_\w+|pragma_\w+|sqlite_master)\b|\bdescribe[\s;]*$", re.I
)
_COMMENTS = re.compile(r"\bduckdb_(?:views|columns)\b", re.I)
_REFUSED = "only statements that read are allowed here: SELECT, FROM, WITH, DESCRIBE, SHOW, EXPLAIN"


def run(query: str, snapshot: Snapshot) -> pl.DataFrame:
    """Run one reading statement over the tables of a snapshot.

    Raises:
        UsageError: The statement is wrong, or would do more than read.
        UnknownNameError: It names a table that is not there.
        KeyboardInterrupt: A person stopped it.
    """
    try:
        check_reads_only(query)
        with TemporaryDirectory() as spill, _connect(query, snapshot, Path(spill)) as connection:
            return plain_rows(connection.sql(query))
    except duckdb.CatalogException as error:
        if missing := re.search(r"Table with name (\S+) does not exist", str(error)):
            raise UnknownNameError("table", missing[1], tuple(snapshot.tables)) from error
        raise UsageError(f"DuckDB refuses the query: {error}") from error
    except duckdb.BinderException as error:
        raise UsageError(
            f"DuckDB refuses the query: {error}",
            fix="`crucible schema TABLE` prints the columns of a table.",
        ) from error
    except duckdb.Error as error:
        raise UsageError(f"DuckDB refuses the query: {error}") from error
    except RuntimeError as error:  # DuckDB swallows Control-C and says this instead
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise


def fold(name: str, snapshot: Snapshot) -> pl.DataFrame:
    """Return a table that is a view over other tables, as of a snapshot."""
    table = snapshot.tables[name]
    with TemporaryDirectory() as spill, _connect(name, snapshot, Path(spill)) as connection:
        rows: pl.DataFrame = connection.table(name).pl()
    return rows.cast(dict(table.schema)).select(table.names)  # type: ignore[arg-type]


def check_reads_only(query: str) -> None:
    """Refuse everything but one statement that reads.

    EXPLAIN is judged by what it explains (EXPLAIN ANALYZE runs it), and a statement DuckDB rewrites
    into several (PIVOT) by its first word, because COPY may contain one.

    Raises:
        UsageError: The statement writes, or there are several or none.
        duckdb.Error: It cannot be parsed.
    """
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "The statement is no text", problems=[str(error)], fix="write it in UTF-8."
        ) from error
    statements = duckdb.extract_statements(query)
    if not statements:
        raise UsageError("There is no statement", fix='give one: crucible sql "FROM runs"')
    if len(statements) != 1:
        raise UsageError(f"One statement at a time, please: this is {len(statements)}")
    kind = statements[0].type
    if kind == duckdb.StatementType.EXPLAIN:
        head = _EXPLAIN.match(query)
        if head is None:
            raise UsageError(_REFUSED)
        check_reads_only(query[head.end() :])
    elif kind == duckdb.StatementType.MULTI:
        if not _READING.match(query):
            raise UsageError(_REFUSED)
    elif kind != duckdb.StatementType.SELECT:
        raise UsageError(f"{kind.name} is refused: {_REFUSED}")


@contextmanager
def _connect(query: str, snapshot: Snapshot, spill: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    root = snapshot.layout.root
    with snapshot.engine.connect(spill) as connection:
        for table in _named(query, snapshot):
            _make_view(table, snapshot, connection)
            if _COMMENTS.search(query):
                connection.execute(comments(table))
        connection.execute(fill("sandbox", directories=[f"{root}/", f"{literal_glob(root)}/"]))
        yield connection


def _named(query: str, snapshot: Snapshot) -> list[Table]:
    """Tables the query names, with those they read: a view costs a look at every file."""
    words = set(re.findall(r"\w+", query.lower()))
    every = bool(_CATALOGUE.search(query))
    tables = list(snapshot.tables.values())
    wanted = {table.name for table in tables if every or table.name in words}
    for table in reversed(tables):  # what a view reads stands before it
        if table.name in wanted:
            wanted |= set(table.over)
    return [table for table in tables if table.name in wanted]


def _make_view(table: Table, snapshot: Snapshot, connection: duckdb.DuckDBPyConnection) -> None:
    """Make a table a view; one of a later version of the package has no file yet, and no row."""
    name = Names((table.name,))
    if table.storage in {Storage.FOLD, Storage.VIEW}:
        template = f"fold_{table.name}" if table.storage is Storage.FOLD else table.name
        connection.execute(fill(template, view=name))
    elif files := _files(table, snapshot):
        template = "files_bulk" if table.storage is Storage.BULK else "files_event"
        connection.execute(fill(template, view=name, sources=files))
    else:
        connection.register(table.name, table.empty())


def _files(table: Table, snapshot: Snapshot) -> list[Path]:
    if table.storage is Storage.MART:
        return sorted(snapshot.layout.marts(table.name).glob("*.parquet"))
    return list(snapshot.paths(table.name))
