"""Where everything lies: folders, file names, and the texts a new store begins with.

<root>/crucible.toml
<root>/<workspace>/settings.toml
                   lake/c00000042/{qrels,audit_log,commits}.parquet
                   .staging/<uuid>/…
                   .journal/<uuid>/records.jsonl
                   marts/<table>/<run>.parquet      variants/<table>/<id>.parquet
                   quarantine/<load>/<table>.parquet
                   catalog.duckdb  views.sql
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from crucible_batch.errors import UsageError

SETTINGS_FILE = "crucible.toml"
WORKSPACE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
COMMIT_NAME = re.compile(r"c(\d{8,})")
EMPTY = "_empty.parquet"
PLAIN_NAME = 100
"""Longest percent-encoded id, in bytes, that is a file name as it stands."""


@dataclass(frozen=True)
class Layout:
    """The paths of one workspace folder."""

    root: Path

    @property
    def lake(self) -> Path:
        """Committed rows: one folder per transaction."""
        return self.root / "lake"

    @property
    def staging(self) -> Path:
        """What is being written, on the same filesystem and under no globbed folder."""
        return self.root / ".staging"

    @property
    def journal(self) -> Path:
        """What was paid for and is not committed yet, one folder per command."""
        return self.root / ".journal"

    @property
    def lock(self) -> Path:
        """The lock writers share."""
        return self.root / ".lock"

    @property
    def catalog(self) -> Path:
        """DuckDB file with a view per table."""
        return self.root / "catalog.duckdb"

    @property
    def views(self) -> Path:
        """The same views as SQL text."""
        return self.root / "views.sql"

    @property
    def settings(self) -> Path:
        """Settings of this workspace."""
        return self.root / "settings.toml"

    def commit(self, seq: int) -> Path:
        """Folder of one commit."""
        return self.lake / commit_name(seq)

    def marts(self, table: str) -> Path:
        """Folder of a mart: one file per run, pair, gate, night or scan."""
        return self.root / "marts" / table

    def mart(self, table: str, name: str) -> Path:
        """File of a mart; `name` comes from `file_name` or `pair_name`."""
        return self.marts(table) / f"{name}.parquet"

    def variant(self, table: str, name: str) -> Path:
        """File of an evaluation or comparison that is not the default one."""
        return self.root / "variants" / table / f"{name}.parquet"

    def quarantine(self, load: str, table: str) -> Path:
        """File of the rows of one table that one load put aside."""
        return self.root / "quarantine" / file_name(load) / f"{table}.parquet"


def commit_name(seq: int) -> str:
    """Folder name of a commit: `c00000042`."""
    return f"c{seq:08d}"


def file_name(identifier: str) -> str:
    """Return the file name, without suffix, that stands for an id.

    The percent-encoded id (lower-case hex; `~`, and a leading `.` or `_`, are encoded too) if it is
    lower-case and at most 100 bytes; else its first 60 bytes + `~` + 16 hex of the id's SHA-256.
    So names never collide, not even where the filesystem ignores case.
    """
    encoded = quote(identifier, safe="").replace("~", "%7E")
    if encoded[:1] in {".", "_"}:
        encoded = f"%{ord(encoded[0]):02X}{encoded[1:]}"
    encoded = re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)
    if encoded == encoded.lower() and len(encoded) <= PLAIN_NAME:
        return encoded
    return f"{encoded[:60]}~{hashlib.sha256(identifier.encode()).hexdigest()[:16]}"


def pair_name(baseline: str, candidate: str) -> str:
    """Return the file name, without suffix, of what compares two runs."""
    return f"{file_name(baseline)}~{file_name(candidate)}"


def check_workspace_name(name: str) -> str:
    """Return the name if it may name a workspace.

    Raises:
        UsageError: It may not.
    """
    if not WORKSPACE_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a workspace",
            fix="use 1 to 128 letters, digits, '.', '_' and '-', the first one a letter or digit",
        )
    return name


def root_settings_text() -> str:
    """Return the commented crucible.toml of a new store."""
    return (
        "# Settings of every workspace in this folder; <workspace>/settings.toml overrides them.\n"
        "# Everything is commented out: the values are the defaults.\n"
    )


def workspace_settings_text(name: str) -> str:
    """Return the commented settings.toml of a new workspace."""
    return f"# Settings of workspace {name}; they override ../{SETTINGS_FILE}.\n"
