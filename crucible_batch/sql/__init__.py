"""Set logic as one query per `.sql` file: inputs registered by name, `$named` parameters bound.

Relations go in as Polars frames, a frame comes out; nothing is formatted into the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import polars as pl


def query(
    name: str, relations: Mapping[str, pl.DataFrame], params: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """Run `<name>.sql` over frames.

    Args:
        name: File name without suffix.
        relations: Input frames by the names the query uses.
        params: Values of its `$named` parameters.

    Returns:
        The result, in the order its ORDER BY says.
    """
    import duckdb

    text = files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    with duckdb.connect(config={"python_enable_replacements": False}) as connection:
        # In a notebook or `python -c` DuckDB would print a bar on stdout, into the JSON there.
        connection.execute("SET enable_progress_bar_print = false")
        for relation, frame in relations.items():
            connection.register(relation, frame)
        answer: pl.DataFrame = connection.sql(text, params=dict(params or {})).pl()
    return answer
