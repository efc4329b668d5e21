"""The colours of the page, light and dark, by role; a test computes their contrast (WCAG 2.2).

Better is blue and worse is vermillion: the pair that every common colour blindness keeps apart.
The raw Okabe-Ito tones are too pale on white for text and thin lines, so these are darker.
The run itself is violet and its baseline grey: neither says better or worse.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "panel": "#f6f8fa",
    "ink": "#1b1f24",
    "muted": "#57606a",
    "line": "#8c959f",
    "grid": "#dde2e7",
    "good": "#0b5cad",
    "bad": "#b3470a",
    "warn": "#7a5200",
    "run": "#5b3fa8",
}
DARK = {
    "paper": "#0d1117",
    "panel": "#161b22",
    "ink": "#e6edf3",
    "muted": "#9da7b3",
    "line": "#6e7681",
    "grid": "#2b323b",
    "good": "#7ab8ff",
    "bad": "#ff9e64",
    "warn": "#e3b341",
    "run": "#b9a2ff",
}

HEAT_LIGHT = ("#ffffff", "#eaf2fb", "#d5e5f6", "#bfd8f1", "#a9caeb")
HEAT_DARK = ("#0d1117", "#10202f", "#132d45", "#173a5b", "#1b4771")
"""Backgrounds of a heat table from low to high; the number stands in the cell as text."""

TEXT_ROLES = ("ink", "muted", "good", "bad", "warn", "run")
"""Roles that text is printed in; the others are lines and surfaces."""


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
