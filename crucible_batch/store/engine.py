"""DuckDB connections of the store: in memory, with a memory limit, without tricks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb


@dataclass(frozen=True)
class Engine:
    """How much of the machine a sort may take.

    Attributes:
        memory_limit: DuckDB's limit, e.g. `1GB`; larger sorts spill to disk.
        threads: Threads of a sort; None takes every core.
    """

    memory_limit: str = "1GB"
    threads: int | None = None

    @contextmanager
    def connect(self, spill: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open an in-memory database that spills into `spill` and sorts nulls first."""
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": self.memory_limit,
            "temp_directory": str(spill),
            "default_null_order": "nulls_first",
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # A thread that takes whole tasks does not always notice Control-C (DuckDB 2.0).
            "scheduler_process_partial": True,
        }
        if self.threads:
            config["threads"] = self.threads
        connection = duckdb.connect(":memory:", config=config)
        # In a notebook or `python -c` DuckDB would print a bar on stdout, into the JSON there.
        connection.execute("SET enable_progress_bar_print = false")
        try:
            yield connection
        finally:
            connection.close()
