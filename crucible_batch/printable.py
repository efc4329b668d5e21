"""Texts of others, made harmless to print: a name must not steer a terminal or forge a line."""

from __future__ import annotations


def visible(text: str) -> str:
    """The text with every control and direction-changing character as its code point.

    Line feeds and tabs stay.
    """
    return text.translate(_NAMED)


def one_line(text: str) -> str:
    """The visible text on one line."""
    return visible(text).replace("\n", "⟨U+000A⟩").replace("\t", "⟨U+0009⟩")


def _named() -> dict[int, str]:
    controls = {*range(0x20), *range(0x7F, 0xA0)} - {0x09, 0x0A}
    # Zero-width (non-)joiners spell words of many languages and emoji; they reorder nothing.
    tricks = {0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F)} - {0x200C, 0x200D}
    others = {*range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC)}
    return {code: f"⟨U+{code:04X}⟩" for code in controls | tricks | others}


_NAMED = _named()
