"""Views for people: `views.sql`, and the same views in `catalog.duckdb`.

Both name the workspace by its absolute path and work from any directory; after a move one
`SET VARIABLE crucible_root = '<folder>'` is enough until they are rebuilt. `SET VARIABLE
crucible_pin = n` shows the lake as it was at commit n. The catalogue holds no data. Every view and
every column of a contract carries its description as a comment.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from uuid import uuid4

import duckdb
import polars as pl

from crucible_batch.contracts import Storage, Table
from crucible_batch.store import durable, marts, parquet
from crucible_batch.store.layout import Layout
from crucible_batch.store.quoting import Names, Value, fill

LOG = logging.getLogger(__name__)

_VIEW = {
    Storage.EVENT: ("view_event", "/lake/c*/{}.parquet"),
    Storage.BULK: ("view_bulk", "/lake/c*/{}.parquet"),
    Storage.MART: ("view_mart", "/marts/{}/*.parquet"),
    Storage.FOLD: ("fold_{}", ""),  # over a view that stands before it
    Storage.VIEW: ("{}", ""),
}
_METRIC = "a metric of the result: metric_catalog says which; null: not measured"


def views_sql(layout: Layout, tables: Mapping[str, Table], root: Path) -> str:
    """Return the SQL text that makes every table of a workspace a view.

    Args:
        layout: Where the files are now.
        tables: Contracts.
        root: Where they will be when the views are used.
    """
    return _text(_statements(layout, tables, root), root)


def _text(statements: Iterable[str], root: Path) -> str:
    head = (
        f"-- Every table of workspace {root.name} as a view, for any DuckDB from 1.4.\n"
        "-- After the folder has moved:    SET VARIABLE crucible_root = '<new folder>';\n"
        "-- The lake as of commit 42:      SET VARIABLE crucible_pin = 42;\n"
    )
    return head + "".join("\n" + statement for statement in statements)


def _statements(layout: Layout, tables: Mapping[str, Table], root: Path) -> list[str]:
    """Per table its view and the comments on it, a view after what it reads."""
    return [
        statement
        for table in tables.values()
        if table.storage in _VIEW
        for added in (_added(layout, table),)
        for statement in (_view(table, root, added), comments(table, added))
    ]


def _view(table: Table, root: Path, added: Sequence[str]) -> str:
    template, files = _VIEW[table.storage]
    place: dict[str, Value] = {
        "view": Names((table.name,)),
        "root": root,
        "files": files.format(table.name),
    }
    if table.grows:
        return fill("view_grown", **place, columns=Names((*table.names, *added)))
    return fill(template.format(table.name), **place)


def _added(layout: Layout, table: Table) -> tuple[str, ...]:
    """Columns beyond the contract that files of a growing mart hold.

    DuckDB 1.4 refuses a view whose columns are no longer those it was made with, so such a view
    names them, and is made again when there are more.
    """
    if not table.grows:
        return ()
    found = {name for path in layout.marts(table.name).glob("*.parquet") for name in _columns(path)}
    return tuple(sorted(found - set(table.names)))


def _columns(path: Path) -> Sequence[str]:
    """Columns of a file; none of one that is damaged or gone, which `doctor` tells."""
    try:
        return parquet.schema_of(path).names()
    except (OSError, pl.exceptions.PolarsError):
        return ()


def may_grow(paths: Iterable[str], tables: Mapping[str, Table]) -> bool:
    """Return whether files, relative to the workspace, are of marts that may have new columns."""
    growing = {f"marts/{table.name}" for table in tables.values() if table.grows}
    return any(path.rpartition("/")[0] in growing for path in paths)


@cache
def comments(table: Table, added: tuple[str, ...] = ()) -> str:
    """Return the statements that write a contract's descriptions beside its view."""
    view = Names((table.name,))
    about = {column.name: column.description for column in table.columns}
    return fill("comment_view", view=view, text=table.description) + "".join(
        fill("comment_column", view=view, column=Names((name,)), text=text)
        for name, text in (about | dict.fromkeys(added, _METRIC)).items()
    )


def is_current(layout: Layout, tables: Mapping[str, Table]) -> bool:
    """Return whether catalogue and views are those of these tables at this place."""
    return (
        layout.catalog.is_file()
        and layout.views.is_file()
        and layout.views.read_text(encoding="utf-8") == views_sql(layout, tables, layout.root)
    )


def refresh(layout: Layout, tables: Mapping[str, Table]) -> bool:
    """Rebuild catalogue and views if tables, columns or place changed; say if so."""
    if is_current(layout, tables):
        return False
    for table in tables.values():
        if table.storage is Storage.MART and not layout.marts(table.name).is_dir():
            marts.write_empty(layout, table)
    rebuild(layout, tables)
    return True


def refresh_quietly(layout: Layout, tables: Mapping[str, Table]) -> None:
    """Refresh; nothing fails because something derived cannot be rebuilt."""
    try:
        refresh(layout, tables)
    except (OSError, duckdb.Error) as error:
        LOG.warning("the catalogue of %s could not be rebuilt: %s", layout.root.name, error)


def rebuild(layout: Layout, tables: Mapping[str, Table], *, at: Path | None = None) -> None:
    """Build catalogue and views aside and swap them in.

    Args:
        layout: Paths of the workspace; every table has a file in its lake or marts.
        tables: Contracts.
        at: Where the workspace will be when it is used, if it is still being built elsewhere.
    """
    root = at or layout.root
    statements = _statements(layout, tables, root)
    aside = layout.staging / f"catalog-{uuid4().hex}.duckdb"
    # DuckDB takes a "?" in a database's path for the start of options: build where there is none.
    with tempfile.TemporaryDirectory(prefix="crucible-") as folder:
        built = Path(folder) / layout.catalog.name
        _build(built, layout.root, statements)
        shutil.copyfile(built, aside)
    durable.sync(aside)
    durable.replace(aside, layout.catalog)
    layout.catalog.with_name(f"{layout.catalog.name}.wal").unlink(missing_ok=True)
    durable.write_text(layout.views, _text(statements, root))


def _build(path: Path, files_at: Path, statements: list[str]) -> None:
    """Write a database of views; they are bound once, to the files as they lie now."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute(fill("attach_new", path=str(path)))
        connection.execute("USE catalog")
        connection.execute(fill("set_root", root=files_at))
        connection.execute("BEGIN")  # one write to the disk, not one per view
        for statement in statements:
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH catalog")
