"""Pages of the handbook taken apart: fenced blocks with their kind, headings, links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
HANDBOOK = sorted((ROOT / "crucible_batch" / "docs").glob("*.md"))
PAGES = [README, *HANDBOOK]

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)$")
NOT_RUN = re.compile(r"^\s*\*Not run: .+\*$")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: The file it stands in.
        line: Line of its opening fence, from 1.
        kind: First word behind the fence, which says what a test does with it.
        file: What the reader saves it as (`file=NAME` behind the kind).
        text: Its lines, without the indentation of the fence.
        before: The last line with words before it.
    """

    page: Path
    line: int
    kind: str
    file: str | None
    text: str
    before: str

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path, text: str | None = None) -> list[Block]:
    """Every fenced block of a page, in order."""
    lines = (page.read_text(encoding="utf-8") if text is None else text).splitlines()
    found: list[Block] = []
    at, before = 0, ""
    while at < len(lines):
        opened = FENCE.match(lines[at])
        if opened is None:
            before = lines[at] if lines[at].strip() else before
            at += 1
            continue
        indent, words = opened["indent"], opened["info"].split()
        closing = f"{indent}```"
        end = next(n for n in range(at + 1, len(lines)) if lines[n].rstrip() == closing)
        named = [word.removeprefix("file=") for word in words[1:] if word.startswith("file=")]
        body = "\n".join(line.removeprefix(indent) for line in lines[at + 1 : end])
        kind = words[0] if words else ""
        found.append(Block(page, at + 1, kind, named[0] if named else None, body, before))
        at = end + 1
    return found


def without_blocks(text: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors_of(text: str) -> set[str]:
    """The anchors that the headings of a page give, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", without_blocks(text), re.MULTILINE)
    return {anchor(title) for title in titles}


def anchor(title: str) -> str:
    """The anchor of a heading: lower case, without punctuation, spaces as hyphens."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def links_of(text: str) -> list[str]:
    """Where the links of a page lead, but for those in code."""
    prose = re.sub(r"`[^`\n]*`", "", without_blocks(text))
    return re.findall(r"\]\(([^)\s]+)\)", prose)
