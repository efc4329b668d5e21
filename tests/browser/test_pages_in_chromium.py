"""Every page opens from disk, asks for nothing, fits its window and satisfies axe-core."""

from __future__ import annotations

import pytest
from browser_pages import PAGES
from chrome import OPEN_ALL

PLAIN = ["one run", "two runs", "nothing measured", "league"]
each_scheme = pytest.mark.parametrize("scheme", ["light", "dark"])


@pytest.mark.parametrize("name", PLAIN)
@each_scheme
def test_axe_finds_nothing(open_page, name, scheme):
    with open_page(name, color_scheme=scheme) as page:
        assert page.violations() == []


@pytest.mark.parametrize("name", [name for name in PAGES if name not in PLAIN])
def test_axe_finds_nothing_where_the_content_is_hostile_or_long(open_page, name):
    """In one scheme: content changes no colour."""
    with open_page(name, color_scheme="dark") as page:
        assert page.violations() == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_silently_and_asks_for_nothing_but_itself(open_page, name):
    for scheme in ("light", "dark"):
        with open_page(name, color_scheme=scheme) as page:
            assert page.said == []
            assert page.asked == [page.tab.url]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_never_scrolls_sideways_closed_or_opened(open_page, name):
    with open_page(name) as page:
        for script in ("0", OPEN_ALL):
            page.run(script)
            for width in (320, 390, 1024, 1600):
                page.tab.set_viewport_size({"width": width, "height": 800})
                assert (width, page.overhang) == (width, 0)


@pytest.mark.parametrize("name", ["two runs", "league"])
def test_axe_finds_nothing_on_a_telephone_with_all_details_open(open_page, name):
    with open_page(name, viewport={"width": 390, "height": 800}) as page:
        page.run(OPEN_ALL)
        assert page.violations() == []


@each_scheme
def test_the_colours_are_those_of_the_scheme(open_page, scheme):
    with open_page("two runs", color_scheme=scheme) as page:
        paper = page.run("getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
