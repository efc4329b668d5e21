"""What people see and reach: tiles, marks, keys, forced colours, reduced motion."""

from __future__ import annotations

import re

import pytest
from browser_pages import INPUTS
from chrome import OPEN_ALL, style_of

from crucible_batch.report import build_report


@pytest.mark.parametrize("name", ["one run", "two runs", "nothing measured"])
def test_there_are_seven_tiles_and_a_null_is_an_em_dash_without_a_meter(open_page, name):
    model = build_report(INPUTS[name]())
    with open_page(name) as page:
        tiles = page.tab.locator("[data-metric]")
        assert tiles.count() == len(model.tiles) == 7
        for k, tile in enumerate(model.tiles):
            shown = tiles.nth(k)
            said = shown.locator(".value").inner_text()
            assert said == ("—" if tile.percent.value is None else tile.percent.text)
            assert shown.locator("svg").count() == (tile.percent.value is not None)


MARKS = """() => {
    const paths = [...document.querySelectorAll('svg.chart path.marks')];
    const dots = [...document.querySelectorAll('#risk ~ * svg.chart circle')];
    const wide = [...paths.map(one => parseFloat(getComputedStyle(one).strokeWidth)),
                  ...dots.map(one => one.getBoundingClientRect().width)];
    const n = paths.flatMap(one => one.getAttribute('d').match(/M/g)).length + dots.length;
    return {n, thinnest: Math.min(...wide)};
}"""


def test_the_curve_has_a_visible_mark_for_every_answered_pair(open_page):
    model = build_report(INPUTS["two runs"]())
    with open_page("two runs") as page:
        marks = page.run(MARKS)
    assert marks["n"] == model.curves[0].n_pairs
    assert marks["thinnest"] >= 3


STOPS = "[...document.querySelectorAll('a[href],summary,[tabindex=\"0\"]')]"
FOCUSED = f"""() => {{
    const one = document.activeElement, box = one.getBoundingClientRect();
    const style = getComputedStyle(one);
    return {{
        place: {STOPS}.indexOf(one),
        isInside: box.width > 0 && box.left >= 0 && box.left < innerWidth,
        outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth)
    }};
}}"""


def test_the_tabulator_key_reaches_everything_in_the_order_of_the_page(open_page):
    with open_page("two runs") as page:
        page.run(OPEN_ALL)
        n = page.run(f"{STOPS}.length")
        stops = []
        for _ in range(n):
            page.tab.keyboard.press("Tab")
            stops.append(page.run(FOCUSED))
    assert [stop["place"] for stop in stops] == list(range(n))
    assert all(stop["isInside"] and stop["outline"] >= 2 for stop in stops)


def test_the_skip_link_shows_itself_and_leads_to_the_numbers(open_page):
    with open_page("two runs") as page:
        skip = page.tab.locator(".skip")
        assert skip.bounding_box()["x"] < 0
        page.tab.keyboard.press("Tab")
        assert skip.bounding_box()["x"] >= 0
        page.tab.keyboard.press("Enter")
        assert page.tab.url.endswith("#main")
        page.tab.keyboard.press("Tab")
        assert page.run("document.querySelector('main').contains(document.activeElement)")


def test_the_answers_of_an_item_open_with_the_keyboard(open_page):
    with open_page("two runs") as page:
        details = page.tab.locator(".items details").first
        answer = details.locator("p[dir=auto]").first
        assert not answer.is_visible()
        details.locator("summary").focus()
        page.tab.keyboard.press("Enter")
        answer.wait_for(state="visible")


PAINTED = """() => [...document.querySelectorAll('svg :is(text,rect,circle,path)')].map(one => {
    const style = getComputedStyle(one);
    return one.tagName === 'path' && style.stroke !== 'none' ? style.stroke : style.fill;
})"""
CANVAS = """() => { const probe = document.createElement('i');
    probe.style.cssText = 'color:Canvas;background:CanvasText;border:1px solid GrayText';
    document.body.append(probe); const style = getComputedStyle(probe);
    return [style.color, style.backgroundColor, style.borderTopColor]; }"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_leave_charts_and_meters_in_the_readers_own_colours(open_page, scheme):
    with open_page("two runs", forced_colors="active", color_scheme=scheme) as page:
        canvas, text, grey = page.run(CANVAS)
        painted = set(page.run(PAINTED))
        assert painted <= {text, grey}
        assert canvas not in painted
        track, fill = page.tab.locator("svg.meter rect").evaluate_all(
            "all => all.slice(0, 2).map(one => getComputedStyle(one).fill)"
        )
        assert track != fill
        assert page.violations() == []


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_moves(open_page, motion):
    with open_page("two runs", reduced_motion=motion) as page:
        assert page.run("document.getAnimations().length") == 0
        scrolling = page.tab.locator("html,body,.scroll").evaluate_all(style_of("scrollBehavior"))
        assert set(scrolling) == {"auto"}


def test_numbers_of_a_column_stand_under_each_other(open_page):
    with open_page("two runs") as page:
        cells = page.tab.locator("td, .value, svg text")
        assert set(cells.evaluate_all(style_of("fontVariantNumeric"))) == {"tabular-nums"}
        text = page.tab.locator("main").inner_text()
        assert not re.search(r"(?<![\w.])-\d", text)
