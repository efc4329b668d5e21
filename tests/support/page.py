"""A page read back: tags in order, text, attributes; what is not well formed is an error."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br"}


@dataclass
class Tag:
    """An element with its attributes, the text under it and the names of what encloses it."""

    name: str
    attributes: dict[str, str]
    inside: tuple[str, ...]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Parses a page; raises AssertionError when a tag is not closed where it should be."""

    tags: list[Tag] = field(default_factory=list)
    declaration: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Tag] = []

    @staticmethod
    def of(text: str) -> Page:
        """Read a whole page."""
        page = Page()
        page.feed(text)
        page.close()
        assert not page._open, [tag.name for tag in page._open]
        return page

    def all(self, name: str, **attributes: str) -> list[Tag]:
        """Every element of a name whose attributes are these (`class_` for class)."""
        wanted = {key.rstrip("_"): value for key, value in attributes.items()}
        return [
            tag
            for tag in self.tags
            if tag.name == name and all(tag.attributes.get(k) == v for k, v in wanted.items())
        ]

    def handle_decl(self, decl: str) -> None:
        self.declaration = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        found = Tag(tag, {k: v or "" for k, v in attrs}, tuple(t.name for t in self._open))
        self.tags.append(found)
        if tag not in VOID:
            self._open.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].name == tag, f"</{tag}> closes <{self._open[-1].name}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for tag in self._open:
            tag.text += data
