"""The pictures of the README: there, small, and told in words to who cannot see them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", (ROOT / "README.md").read_text("utf-8"))


def test_the_readme_shows_three_pictures_and_every_picture_is_shown():
    shown = {path for _, path in PICTURES}
    taken = {str(path.relative_to(ROOT)) for path in (ROOT / "data/pictures").glob("*.png")}
    assert len(shown) == 3
    assert shown == taken


@pytest.mark.parametrize(("words", "path"), PICTURES, ids=[path for _, path in PICTURES])
def test_a_picture_is_small_and_has_a_description(words, path):
    content = (ROOT / path).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) < 150 * 1024
    assert len(words.split()) > 10
