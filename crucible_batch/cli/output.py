"""Text and JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crucible_batch.cli import BROKEN_PIPE

if TYPE_CHECKING:
    from crucible_batch.assemble.judge import Standing
    from crucible_batch.store import Committed

Progress = Callable[[str], None]


def emit(text: str) -> None:
    """Print to stdout; ends quietly when nobody reads on (exit code 141, never 1).

    What the terminal's encoding lacks is written as an escape: a name never stops a command.
    """
    encoding = sys.stdout.encoding or "utf-8"
    shown = text.encode(encoding, errors="backslashreplace").decode(encoding)
    with _to_a_reader():
        sys.stdout.write(shown + "\n")
        sys.stdout.flush()


def emit_bytes(content: bytes) -> None:
    """Write bytes to stdout as they are; ends as `emit` does."""
    with _to_a_reader():
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


@contextmanager
def _to_a_reader() -> Iterator[None]:
    """End the command when nobody reads on."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(BROKEN_PIPE) from None


def terminal_width() -> int | None:
    """Characters of a line where a person reads, or as COLUMNS says; None in a pipe or a file."""
    if not (sys.stdout.isatty() or os.environ.get("COLUMNS")):
        return None
    return shutil.get_terminal_size().columns


def emit_json(content: Any) -> None:
    """Print one object on one line; NaN and infinities, which JSON lacks, as their names."""
    emit(json_line(content))


def tell(text: str, said: Mapping[str, Any], *, json: bool) -> None:
    """Print a sentence, or what it says as one JSON object."""
    if json:
        emit_json(said)
    else:
        emit(text)


def committed(done: Committed) -> dict[str, Any]:
    """Whether something was written, and the commit that holds it."""
    return {"created": done.created, "commit": done.seq}


def json_line(content: Any) -> str:
    """The content as JSON on one line; see `emit_json`."""
    return json.dumps(_named(content), ensure_ascii=False, default=str, allow_nan=False)


def _named(content: Any) -> Any:
    """The content with floats that are no numbers as strings."""
    if isinstance(content, float) and not math.isfinite(content):
        return str(content)
    if isinstance(content, dict):
        return {key: _named(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_named(value) for value in content]
    return content


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lay rows out in columns that fit the terminal; whole in a pipe. See `layout.fitted`."""
    from crucible_batch.cli.layout import fitted

    return fitted(header, rows, terminal_width())


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Show what is going on, on stderr, while a person watches; quiet in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as status:
        yield lambda text: status.update(f"{what}: {text}")


@contextmanager
def calls_bar(what: str) -> Iterator[Callable[[Standing], None]]:
    """Show calls of a judge as a bar with rate, cost so far and time left; quiet in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[cost]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None, rate="", cost="")

        def show(standing: Standing) -> None:
            speed = bar.tasks[0].speed
            bar.update(
                task,
                completed=standing.n_done,
                total=standing.n_calls,
                rate=f"{speed:.1f}/s" if speed else "",
                cost=_cost(standing),
            )

        yield show


def _cost(standing: Standing) -> str:
    """Dollars so far, and failed calls where there are any."""
    dollars = "cost unknown" if standing.cost_usd is None else f"${standing.cost_usd:.4f}"
    return dollars + (f", {standing.n_failed:,} failed" if standing.n_failed else "")
