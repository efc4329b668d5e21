"""Contrast of the colours (WCAG 2.2 AA), computed from the constants the page is made with."""

from __future__ import annotations

import re

import pytest

from crucible_batch.report.html import environment
from crucible_batch.report.palette import (
    DARK,
    HEAT_DARK,
    HEAT_LIGHT,
    LIGHT,
    TEXT_ROLES,
    contrast,
)

SCHEMES = {"light": (LIGHT, HEAT_LIGHT), "dark": (DARK, HEAT_DARK)}
each_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # WebAIM's example


@each_scheme
@pytest.mark.parametrize("role", TEXT_ROLES)
@pytest.mark.parametrize("surface", ["paper", "panel"])
def test_text_can_be_read(scheme: str, role: str, surface: str) -> None:
    colours, _ = SCHEMES[scheme]
    assert contrast(colours[role], colours[surface]) >= 4.5


@each_scheme
def test_lines_can_be_seen(scheme: str) -> None:
    colours, _ = SCHEMES[scheme]
    assert contrast(colours["line"], colours["paper"]) >= 3


@each_scheme
def test_a_meter_stands_out_from_its_track(scheme: str) -> None:
    colours, _ = SCHEMES[scheme]
    assert contrast(colours["run"], colours["grid"]) >= 3


@each_scheme
def test_numbers_can_be_read_on_every_heat(scheme: str) -> None:
    colours, heats = SCHEMES[scheme]
    for heat in heats:
        assert contrast(colours["ink"], heat) >= 4.5
    for role in ("good", "bad", "warn"):
        assert contrast(colours[role], heats[0]) >= 4.5


@each_scheme
def test_the_lowest_heat_is_the_paper_itself(scheme: str) -> None:
    colours, heats = SCHEMES[scheme]
    assert heats[0] == colours["paper"]


def test_both_schemes_have_the_same_roles() -> None:
    assert set(LIGHT) == set(DARK)
    assert len(HEAT_LIGHT) == len(HEAT_DARK)


def styles() -> str:
    sheets = ("style.css.j2", "sections.css.j2")
    return "".join(environment().get_template(sheet).render() for sheet in sheets)


def test_every_colour_of_the_styles_is_one_whose_contrast_is_computed() -> None:
    def used(properties: str) -> set[str]:
        return set(re.findall(rf"(?:^|[;{{])(?:{properties}):[^;}}]*var\(--(\w+)\)", styles()))

    heats = {f"h{k}" for k in range(1, len(HEAT_LIGHT))}
    assert used("color") == set(TEXT_ROLES)
    assert used("background(?:-color)?") == {"paper", "panel", *heats}
    assert used("fill") | used("stroke") == {*TEXT_ROLES, "line", "grid"}
    assert not re.search(r":#[0-9a-f]{3,8}", re.sub(r"--\w+:#[0-9a-f]{6}", "", styles()))


@each_scheme
@pytest.mark.parametrize("role", [role for role in TEXT_ROLES if role != "ink"])
def test_marks_that_shine_through_each_other_can_still_be_seen(scheme: str, role: str) -> None:
    """Marks of the scatter plots are drawn with an opacity of 0.7."""
    colours, _ = SCHEMES[scheme]
    assert contrast(_over(colours[role], colours["paper"], 0.7), colours["paper"]) >= 3


def _over(colour: str, ground: str, opacity: float) -> str:
    """What a translucent colour looks like on a ground."""
    mixed = (
        round(opacity * int(colour[i : i + 2], 16) + (1 - opacity) * int(ground[i : i + 2], 16))
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


@each_scheme
def test_better_and_worse_stay_apart_for_eyes_without_red_or_green(scheme: str) -> None:
    """Simulated after Viénot, Brettel and Mollon (1999), in linear light."""
    colours, _ = SCHEMES[scheme]
    for short_of in ("red", "green"):
        good, bad = (_seen(colours[role], short_of) for role in ("good", "bad"))
        # Without red or green what is left is yellow against blue: it has to change its sign.
        assert good[2] > good[0]
        assert bad[2] < bad[0]


_LIGHT = {"red": (0.11238, 0.88762), "green": (0.29275, 0.70725)}
"""Shares of red and green light in the one signal that is left of both."""


def _seen(colour: str, short_of: str) -> tuple[float, float, float]:
    red, green, blue = ((int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5))
    share_red, share_green = _LIGHT[short_of]
    yellow = share_red * red + share_green * green
    return yellow, yellow, blue
