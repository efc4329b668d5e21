"""Views for people: `views.sql`, and the same views in `catalog.duckdb`.

Both name the workspace by its absolute path and work from any directory; after a move one
`SET VARIABLE crucible_root = '<folder>'` is enough until they are rebuilt. `SET VARIABLE
crucible_pin = n` shows the lake as it was at commit n. The catalogue holds no data.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import duckdb

from crucible_batch.contracts import Storage, Table
from crucible_batch.store import durable
from crucible_batch.store.layout import Layout
from crucible_batch.store.quoting import Names, fill

_VIEW = {
    Storage.EVENT: ("view_event", "/lake/c*/{}.parquet"),
    Storage.BULK: ("view_bulk", "/lake/c*/{}.parquet"),
    Storage.MART: ("view_mart", "/marts/{}/*.parquet"),
    Storage.FOLD: ("fold_{}", ""),  # over a view that stands before it
}


def views_sql(tables: Mapping[str, Table], root: Path) -> str:
    """Return the SQL text that makes every table of the workspace at `root` a view."""
    head = (
        f"-- Every table of workspace {root.name} as a view, for any DuckDB from 1.4.\n"
        "-- After the folder has moved:    SET VARIABLE crucible_root = '<new folder>';\n"
        "-- The lake as of commit 42:      SET VARIABLE crucible_pin = 42;\n"
    )
    return head + "".join("\n" + text for text in _views(tables, root))


def _views(tables: Mapping[str, Table], root: Path) -> list[str]:
    """One CREATE VIEW per table, a fold after what it folds."""
    return [
        fill(
            template.format(table.name),
            view=Names((table.name,)),
            root=root,
            files=files.format(table.name),
        )
        for table in tables.values()
        if table.storage in _VIEW
        for template, files in (_VIEW[table.storage],)
    ]


def is_current(layout: Layout, tables: Mapping[str, Table]) -> bool:
    """Return whether catalogue and views are those of these tables at this place."""
    return (
        layout.catalog.is_file()
        and layout.views.is_file()
        and layout.views.read_text(encoding="utf-8") == views_sql(tables, layout.root)
    )


def rebuild(layout: Layout, tables: Mapping[str, Table], *, at: Path | None = None) -> None:
    """Build catalogue and views aside and swap them in.

    Args:
        layout: Paths of the workspace; its lake and marts have a file per table.
        tables: Contracts.
        at: Where the workspace will be when it is used, if it is still being built elsewhere.
    """
    root = at or layout.root
    aside = layout.staging / f"catalog-{uuid4().hex}.duckdb"
    # DuckDB takes a "?" in a database's path for the start of options: build where there is none.
    with tempfile.TemporaryDirectory(prefix="crucible-") as folder:
        built = Path(folder) / layout.catalog.name
        _build(built, layout.root, _views(tables, root))
        shutil.copyfile(built, aside)
    durable.sync(aside)
    durable.replace(aside, layout.catalog)
    layout.catalog.with_name(f"{layout.catalog.name}.wal").unlink(missing_ok=True)
    durable.write_text(layout.views, views_sql(tables, root))


def _build(path: Path, files_at: Path, views: list[str]) -> None:
    """Write a database of views; they are bound once, to the files as they lie now."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute(fill("attach_new", path=str(path)))
        connection.execute("USE catalog")
        connection.execute(fill("set_root", root=files_at))
        connection.execute("BEGIN")  # one write to the disk, not one per view
        for view in views:
            connection.execute(view)
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH catalog")
