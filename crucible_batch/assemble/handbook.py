"""The handbook, and the documents that are generated from declarations.

One generator, so that a document cannot drift from the code: `crucible docs --write` writes, a test
and `crucible docs --check` fail when something is stale.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path

from crucible_batch.assemble.dictionary import data_dictionary
from crucible_batch.assemble.metric_dictionary import metric_table
from crucible_batch.assemble.metric_reference import metric_reference
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.settings.template import described, described_threshold, described_webhook

MARKER = re.compile(
    r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end of generated -->)", re.DOTALL
)


def settings_table() -> str:
    """Every setting with its default."""
    rows = [f"| `{name}` | `{default}` | {text} |" for name, default, text in described()]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows]) + "\n"


def threshold_table() -> str:
    """Every key of a rule of the watch, with its default."""
    return _keys_table(described_threshold())


def webhook_table() -> str:
    """Every key of an endpoint, with its default."""
    return _keys_table(described_webhook())


def _keys_table(described: Iterable[tuple[str, str, str]]) -> str:
    rows = [
        f"| `{key}` | {f'`{default}`' if default else ''} | {text} |"
        for key, default, text in described
    ]
    return "\n".join(["| key | default | meaning |", "|---|---|---|", *rows]) + "\n"


def handbook_table() -> str:
    """Every page of the handbook with its title, in reading order."""
    rows = [f"| [{name}]({_path(name)}) | {_title(text)} |" for name, text in _pages().items()]
    return "\n".join(["| page | what it says |", "|---|---|", *rows]) + "\n"


def _path(name: str) -> str:
    """Where a page stands in a checkout."""
    return "data/README.md" if name in MADE_WHEN_READ else f"crucible_batch/docs/{name}.md"


FILES: dict[str, Callable[[], str]] = {
    "data/README.md": data_dictionary,
    "crucible_batch/docs/metrics.md": metric_reference,
}
"""Generated files of a checkout."""

MADE_WHEN_READ: dict[str, Callable[[], str]] = {"tables": data_dictionary}
"""Topics without a file of their own among the pages."""

READING_ORDER = (
    "tutorial",
    "loading",
    "golden",
    "judging",
    "scoring",
    "comparing",
    "gate",
    "nightly",
    "drift",
    "alerts",
    "questions",
    "store",
    "settings",
    "metrics",
    "tables",
    "architecture",
    "faq",
)
"""The topics as a new reader takes them: the first day, every night, reference, reasons."""

BLOCKS: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "threshold-keys": threshold_table,
    "webhook-keys": webhook_table,
    "metrics": metric_table,
    "handbook": handbook_table,
}
"""Generated blocks, between markers, of the README and of the handbook."""

WITH_BLOCKS = ("README.md", "crucible_batch/docs/*.md")


def generated(checkout: Path, *, write: bool) -> list[Path]:
    """Find generated documents that are stale, and write them again if asked to.

    Args:
        checkout: Root of a checkout of this project.
        write: Bring them up to date.

    Returns:
        The stale files, relative to the checkout.

    Raises:
        UsageError: The folder is no checkout, or a block has an unknown name.
    """
    if not (checkout / "crucible_batch").is_dir():
        raise UsageError(
            f"{checkout} is no checkout of this project", fix="run it in the project's folder."
        )
    wanted = {checkout / name: make() for name, make in FILES.items()}
    for pattern in WITH_BLOCKS:
        for path in sorted(checkout.glob(pattern)):
            wanted[path] = fill_blocks(path.read_text(encoding="utf-8"))
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if write:
        for path in stale:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
    return [path.relative_to(checkout) for path in stale]


def fill_blocks(text: str) -> str:
    """Put every generated block between its markers.

    Raises:
        UsageError: A marker names a block that nothing generates.
    """

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in BLOCKS:
            raise UnknownNameError("generated block", name, tuple(BLOCKS))
        return f"{match[1]}{BLOCKS[name]()}{match[3]}"

    return MARKER.sub(block, text)


def handbook(topic: str | None) -> str:
    """A topic of the handbook, or the list of topics in reading order.

    Raises:
        UnknownNameError: There is no such topic.
    """
    pages = _pages()
    if topic is None:
        width = max(map(len, pages))
        listed = [f"{name.ljust(width)}  {_title(text)}" for name, text in pages.items()]
        return "\n".join([*listed, "", "crucible docs TOPIC prints a page."])
    if topic not in pages:
        raise UnknownNameError("topic", topic, sorted(pages))
    return MARKER.sub(lambda m: m[0][len(m[1]) : -len(m[3])], pages[topic]).rstrip()


def topics() -> tuple[str, ...]:
    """The names of the topics, in reading order."""
    return tuple(_pages())


def _pages() -> dict[str, str]:
    """Topic to Markdown, in reading order."""
    written = {
        page.name.removesuffix(".md"): page.read_text(encoding="utf-8")
        for page in files("crucible_batch").joinpath("docs").iterdir()
        if page.name.endswith(".md")
    }
    pages = written | {name: make() for name, make in MADE_WHEN_READ.items()}
    place = {name: number for number, name in enumerate(READING_ORDER)}
    return dict(sorted(pages.items(), key=lambda page: (place.get(page[0], len(place)), page[0])))


def _title(page: str) -> str:
    return page.splitlines()[0].removeprefix("# ")
