"""Contrast of the colours (WCAG 2.2 AA), computed from the constants the page is made with."""

from __future__ import annotations

import pytest

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
