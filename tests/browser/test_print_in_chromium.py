"""On paper: light, nothing cut off, nothing folded away, tables that repeat their head."""

from __future__ import annotations

import pytest
from browser_pages import PAGES

A4 = {"width": 718, "height": 1046}
"""What an A4 sheet holds within margins of 1 cm, in CSS pixels."""

CUT_OFF = """() => [...document.querySelectorAll('.scroll')].filter(one =>
    getComputedStyle(one).overflowX !== 'visible' || one.scrollWidth > one.clientWidth
).map(one => one.querySelector('caption,title')?.textContent ?? one.outerHTML.slice(0, 80))"""

FOLDED = """() => [...document.querySelectorAll('details > :not(summary)')]
    .filter(one => one.getBoundingClientRect().height === 0).length"""


@pytest.mark.parametrize("name", PAGES)
def test_a_printed_page_is_light_and_shows_everything(open_page, name):
    with open_page(name, media="print", viewport=A4, color_scheme="dark") as page:
        assert page.said == []
        assert page.asked == [page.tab.url]
        assert page.run("getComputedStyle(document.documentElement).colorScheme") == "light"
        assert page.run("getComputedStyle(document.querySelector('h1')).color") == "rgb(27, 31, 36)"
        assert page.run(CUT_OFF) == []
        assert page.run(FOLDED) == 0
        assert page.overhang == 0


def test_a_page_becomes_a_pdf(open_page):
    with open_page("two runs") as page:
        assert page.tab.pdf(format="A4").startswith(b"%PDF")


def test_a_table_over_two_sheets_repeats_its_head(open_page):
    with open_page("two runs", media="print", viewport=A4) as page:
        assert page.run("getComputedStyle(document.querySelector('thead')).display") == (
            "table-header-group"
        )
        assert page.run("getComputedStyle(document.querySelector('tr')).breakInside") == "avoid"
