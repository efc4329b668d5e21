"""The prompt of `crucible sql`: line editing, history, completion, and a few words of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import duckdb

from crucible_batch.assemble.dictionary import describe, overview
from crucible_batch.cli.output import emit
from crucible_batch.cli.sql import Format, Session
from crucible_batch.contracts import TABLES, Table, get_table
from crucible_batch.errors import CrucibleError, UsageError
from crucible_batch.metrics import catalog

LEAVE = ("\\q", "exit", "quit", ".quit", ".exit")
"""Words that end the prompt, as in other SQL shells."""

HELP = """\
SELECT …;            runs when a line ends with a semicolon; it may span lines
\\d, .tables          every table and what it holds
\\d TABLE             its columns, and what they mean
\\f FORMAT            table, csv, json or markdown
\\?, .help            this
\\q, Control-D        leaves; Control-C forgets what is typed, or stops what is running
Tab completes names and words. Questions people ask: crucible docs questions"""

KEPT = 1_000
"""Lines of history that are kept."""

KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN"),
    *("USING", "DISTINCT", "COUNT", "FILTER", "CASE", "WHEN", "THEN", "ELSE", "END", "DESCRIBE"),
    *("SUMMARIZE", "SHOW TABLES", "PIVOT", "UNION ALL BY NAME", "QUALIFY", "EXCLUDE", "ILIKE"),
    *("BETWEEN", "IS NOT NULL", "IS NULL", "DESC", "ALL", "WITH", "LIST", "ROUND", "NULLS LAST"),
)
BREAKS = " \t\n()[]{},;=<>+-*/|'\""
"""Characters a completed word does not hold."""


def prompt(session: Session) -> None:
    """Read statements up to a semicolon until end of input."""
    import readline

    history = history_file()
    _start(readline, history)
    emit(f"One SELECT at a time, ended by a semicolon. {', '.join(LEAVE[:3])} or Control-D leaves;")
    emit("\\? helps, \\d lists the tables.")
    try:
        _read(session)
    finally:
        _keep(readline, history)


def history_file() -> Path:
    """Where the user's statements are kept: the state folder, never the store."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return folder / "crucible" / "sql_history"


def _start(readline, history: Path) -> None:  # type: ignore[no-untyped-def]
    """Bind the keys and bring back what was typed in earlier sessions."""
    readline.set_completer(complete)
    readline.set_completer_delims(BREAKS)
    is_editline = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_editline else "tab: complete")
    readline.clear_history()
    try:
        readline.read_history_file(history)
    except OSError:  # the first session, or a folder that is not the user's to read
        return


def _keep(readline, history: Path) -> None:  # type: ignore[no-untyped-def]
    """Write the history; a session ends well without one."""
    readline.set_history_length(KEPT)
    try:
        history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        history.touch(mode=0o600)
        readline.write_history_file(history)
    except OSError as error:
        emit(f"the history could not be kept: {error}")


def _read(session: Session) -> None:
    lines: list[str] = []
    while True:
        try:
            lines.append(input("   > " if lines else "sql> "))
        except EOFError:
            emit("")
            return
        except KeyboardInterrupt:
            emit("")
            lines = []
            continue
        text = "\n".join(lines)
        word = text.strip().rstrip(";").strip()
        if word.lower() in LEAVE:
            return
        if not word:
            lines = []
        elif len(lines) == 1 and word[0] in "\\.":
            session, lines = _told(session, word), []
        elif is_complete(text):
            lines = []
            _ask(session, text)


def is_complete(text: str) -> bool:
    """Whether a statement ends with a semicolon that is no part of a text or a comment."""
    tokens = [place for place, kind in duckdb.tokenize(text) if kind != duckdb.token_type.comment]
    return bool(tokens) and text[tokens[-1]] == ";"


def _ask(session: Session, query: str) -> None:
    try:
        session.answer(query)
    except CrucibleError as error:
        emit(f"error: {error}")
    except KeyboardInterrupt:
        emit("stopped")


def _told(session: Session, word: str) -> Session:
    """Do what a word of the prompt's own says; returns the session that goes on."""
    name, _, rest = word.partition(" ")
    rest = rest.strip()
    try:
        match name.lower():
            case "\\d" | ".tables" | ".schema":
                emit(describe(get_table(rest.lower())) if rest else overview())
            case "\\f" | ".mode":
                return replace(session, form=_form(rest))
            case "\\?" | "\\h" | ".help":
                emit(HELP)
            case _:
                raise UsageError(f"The prompt does not know {name}", fix="\\? says what it knows.")
    except CrucibleError as error:
        emit(f"error: {error}")
    return session


def _form(name: str) -> Format:
    """The format of a name.

    Raises:
        UsageError: A terminal shows none of this name.
    """
    known = [form for form in Format if form is not Format.PARQUET]
    if name.lower() not in known:
        raise UsageError(f"{name!r} is no format of the prompt", fix=f"one of {', '.join(known)}.")
    return Format(name.lower())


def complete(text: str, state: int) -> str | None:
    """The nth completion of the word before the cursor, as readline asks for it."""
    import readline

    found = completions(text, readline.get_line_buffer())
    return found[state] if state < len(found) else None


def completions(word: str, line: str) -> list[str]:
    """What a word may become: columns of the tables the line names first, then all else."""
    if line.lstrip().startswith(("\\d", ".schema")):
        return _starting(word, TABLES)
    named = [table for table in TABLES.values() if re.search(rf"\b{table.name}\b", line.lower())]
    columns = [name for table in named or TABLES.values() for name in _columns(table)]
    prefix, dot, rest = word.rpartition(".")
    if dot:  # a column of a table, or of an alias that may be any of them
        return [f"{prefix}.{name}" for name in _starting(rest, columns)]
    if not word:
        return _starting(word, columns if named else TABLES)
    return _starting(word, [*columns, *TABLES, *KEYWORDS])


def _columns(table: Table) -> tuple[str, ...]:
    """Columns of a contract, and the metrics of a table that has one for each."""
    return table.names + tuple(m.name for m in catalog.result_metrics() if table.grows)


def _starting(word: str, names: Iterable[str]) -> list[str]:
    lower = word.lower()
    return [name for name in dict.fromkeys(names) if name.lower().startswith(lower)]
