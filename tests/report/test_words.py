"""Numbers and vocabulary as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.contracts import vocabulary
from crucible_batch.metrics.nulls import REASONS
from crucible_batch.report import words
from crucible_batch.report.blocked import UNNAMED


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.125, "13"), (0.005, "1"), (0.615, "62"), (0.0, "0"), (1.0, "100"), (0.0049, "0")],
)
def test_a_percentage_rounds_half_up_as_the_dashboard_does(value: float, text: str) -> None:
    assert words.percent(value) == f"{text}\u00a0%"


@given(st.floats(0, 1))
def test_a_percentage_is_math_round_of_javascript(value: float) -> None:
    assert words.percent(value) == f"{math.floor(100 * value + 0.5)}\u00a0%"


@pytest.mark.parametrize("printed", [words.percent, words.decimal, words.signed, words.ratio])
def test_a_missing_number_is_an_em_dash(printed) -> None:
    assert printed(None) == "—"


def test_a_negative_number_has_a_true_minus_sign() -> None:
    assert words.signed(-0.2, 2) == "−0.20"
    assert words.decimal(-1234.5, 1) == "−1,234.5"
    assert words.percent(-0.12) == "−12\u00a0%"


def test_the_sign_of_a_delta_survives_rounding() -> None:
    assert [words.signed(x) for x in (1e-9, 0.0, -1e-9)] == ["+0.000", "0.000", "−0.000"]


def test_a_plain_number_that_rounds_to_zero_has_no_sign() -> None:
    assert words.decimal(-1e-9) == "0.000"


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.012, "0.012"),
        (0.048, "0.048"),
        (0.00047, "0.00047"),
        (0.2, "0.20"),
        (1.0, "1"),
        (0.999, ">0.99"),
        (0.00001, "<0.0001"),
        (0.05, "0.050"),
        (0.04996, "0.04996"),
        (0.05004, "0.05004"),
    ],
)
def test_a_p_value_shows_on_which_side_of_the_level_it_lies(p: float, text: str) -> None:
    assert words.probability(p) == text


def test_a_log_ratio_is_printed_as_a_factor_and_never_overflows() -> None:
    assert words.ratio(math.log(1.12)) == "×1.12"
    assert words.ratio(5_000.0).startswith("×")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.61249, "fraction", "0.612"),
        (-0.2, "signed", "−0.200"),
        (812.4, "milliseconds", "812\u00a0ms"),
        (0.00123, "usd", "$0.0012"),
        (7.25, "count", "7.2"),
    ],
)
def test_an_amount_has_the_unit_of_its_metric(value: float, unit: str, text: str) -> None:
    assert words.amount(value, unit) == text


def test_the_counted_line_is_that_of_the_contract() -> None:
    line = words.counted_line(n_expected=120, n_results=120, n_errored=2, samples_n=2)
    assert line == "118 of 120 results counted (60 items × 2 samples)"


def test_the_counted_line_of_one_item_and_one_sample_is_singular() -> None:
    assert words.counted_line(1, 1, 0, 1) == "1 of 1 results counted (1 item × 1 sample)"


def test_a_long_list_is_cut_and_the_rest_counted() -> None:
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.listed(list("abcdef")) == "a, b, c and 3 more"


def test_every_word_of_the_contracts_has_a_form_for_people() -> None:
    assert set(words.VERDICTS) == set(vocabulary.VERDICT_WORDS)
    assert set(UNNAMED) == set(vocabulary.BLOCKED_REASONS)
    assert set(words.STATUSES) == set(vocabulary.RUN_STATUSES)
    assert set(words.CI_METHODS) == set(vocabulary.CI_METHODS)
    assert set(words.ADJUSTED) == set(vocabulary.ADJUST_METHODS)
    assert set(words.P_METHODS) == set(vocabulary.P_METHODS)
    assert set(words.REASONS) == {reason.name for reason in REASONS}


def test_glyphs_of_verdicts_differ_so_that_colour_is_never_alone() -> None:
    glyphs = [mark.glyph for mark in words.VERDICTS.values()]
    assert len(set(glyphs)) == len(glyphs)


def test_controls_and_direction_overrides_become_visible() -> None:
    assert words.visible("a\x00b\x1b\u202egnp\u2066\ufeff") == (
        "a⟨U+0000⟩b⟨U+001B⟩⟨U+202E⟩gnp⟨U+2066⟩⟨U+FEFF⟩"
    )


def test_ordinary_text_of_any_language_is_left_alone() -> None:
    text = "été\nשלום\tمرحبا न्‍यू 👩‍🔬 x−y"
    assert words.visible(text) == text


def test_a_long_text_says_how_much_of_it_is_left_out() -> None:
    assert words.shortened("abc", 3) == "abc"
    assert words.shortened("abcd" * 1_000, 4) == "abcd … (3,996 more characters)"
