"""Text of others stays text: nothing runs, nothing is fetched, nothing turns its neighbours."""

from __future__ import annotations

import pytest
from chrome import OPEN_ALL, style_of

FOREIGN = "script,img,iframe,object,embed,link,base,form,a:not([href^='#'])"
HANDLERS = """() => [...document.querySelectorAll('*')].flatMap(
    one => one.getAttributeNames().filter(name => name.startsWith('on')))"""


def test_markup_runs_nothing_and_adds_nothing(open_page):
    with open_page("markup") as page:
        page.run(OPEN_ALL)
        page.tab.keyboard.press("Tab")
        assert page.said == []
        assert page.asked == [page.tab.url]
        assert page.run("'ran' in document.documentElement.dataset") is False
        assert page.tab.locator(FOREIGN).count() == 0
        assert page.run(HANDLERS) == []


def test_markup_is_shown_as_it_was_written(open_page):
    with open_page("markup") as page:
        assert "<script>" in page.tab.locator(".runs .name").first.inner_text()
        assert "{{ 7 * 7 }} &lt;b&gt;" in page.tab.locator(".items p[dir=auto]").first.inner_text()
        assert "⟨U+202E⟩txt.exe" in page.tab.locator(".items p[dir=auto]").first.inner_text()


def test_markup_changes_no_tag_of_the_page(open_page):
    tags = "() => [...document.querySelectorAll('*')].map(one => one.tagName).join(' ')"
    with open_page("right to left") as one, open_page("markup") as other:
        assert other.run(tags) == one.run(tags)


MIXED = """() => [...document.querySelectorAll('.items li')].map(li => {
    const [name, delta, means] = ['bdi', 'b', 'small'].map(
        tag => li.querySelector(tag).getBoundingClientRect());
    return {inOrder: name.left < delta.left && delta.right <= means.right,
            direction: getComputedStyle(li).direction};
})"""


def test_right_to_left_names_do_not_turn_what_stands_beside_them(open_page):
    """The delta stays to the right of a Hebrew id, the counts in their order."""
    with open_page("right to left", viewport={"width": 1600, "height": 900}) as page:
        items = page.run(MIXED)
        assert items
        assert all(one["inOrder"] and one["direction"] == "ltr" for one in items)
        directions = page.tab.locator(".items p[dir=auto]").evaluate_all(style_of("direction"))
        assert set(directions) == {"rtl"}
        isolation = page.tab.locator("bdi").evaluate_all(style_of("unicodeBidi"))
        assert set(isolation) == {"isolate"}


@pytest.mark.parametrize("width", [390, 1600])
def test_words_of_ten_thousand_letters_stay_inside_their_boxes(open_page, width):
    beyond = """width => [...document.querySelectorAll('h1,.runs li,.tile,.items li,dd,p')]
        .filter(one => one.getBoundingClientRect().right > width + 0.5
                    || one.scrollWidth > one.clientWidth + 1).length"""
    with open_page("long words", viewport={"width": width, "height": 800}) as page:
        page.run(OPEN_ALL)
        assert page.run(beyond, width) == 0
