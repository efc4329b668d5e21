"""Tables for papers and pull requests, and the items that moved most."""

from __future__ import annotations

import re

import polars as pl
import pytest
from report_tables import comparison_row, frame, metric_catalog, regressed_row

from crucible_batch.report import (
    comparison_latex,
    comparison_line,
    comparison_markdown,
    moved_text,
)
from crucible_batch.report.tables import latex


def rows(*given: dict) -> pl.DataFrame:
    return frame("comparisons", given)


def test_markdown_holds_the_numbers_of_the_row_and_what_they_rest_on() -> None:
    text = comparison_markdown(rows(comparison_row()), metric_catalog())
    head, rule, line, blank, basis = text.splitlines()
    assert head.count("|") == rule.count("|") == line.count("|") == 9
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:] == ["0.612", "0.648", "+0.036", "[+0.009, +0.064]", "0.048", "50", "improved"]
    assert blank == ""
    assert "Holm" in basis
    assert "10,000 resamples" in basis


def test_latex_holds_the_same_cells_as_markdown() -> None:
    given = rows(comparison_row(), regressed_row("accuracy", delta=-0.1))
    markdown = comparison_markdown(given, metric_catalog()).splitlines()[2:4]
    body = comparison_latex(given, metric_catalog()).split("\\midrule\n")[1].splitlines()[:2]
    for left, right in zip(markdown, body, strict=True):
        cells = [cell.strip().replace("\\@", "@") for cell in left.strip("|").split("|")]
        found = [part.strip() for part in right.removesuffix(r" \\").split(" & ")]
        plain = [part.replace("$-$", "−").replace("{[}", "[").replace("$<$", "<") for part in found]
        assert plain == cells


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a_b & 50 %", r"a\_b \& 50 \%"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("[2em] ^ ~ # $ <>", r"{[}2em] \textasciicircum{} \textasciitilde{} \# \$ $<$$>$"),
        ("a\nb", "a⟨U+000A⟩b"),
    ],
)
def test_no_name_forms_a_latex_command(text, printed) -> None:
    assert latex(text) == printed


def test_a_slice_is_named_in_both_forms() -> None:
    given = rows(comparison_row(slice_by="shape", slice="multi_hop"))
    assert "(shape = multi\\_hop)" in comparison_latex(given, metric_catalog())
    assert "(shape = multi\\_hop)" in comparison_markdown(given, metric_catalog())


def test_a_row_without_evidence_shows_dashes_and_says_why() -> None:
    nothing = dict.fromkeys(("mean_baseline", "mean_candidate", "delta", "ci_low", "ci_high"))
    given = comparison_row(
        **nothing,
        n_pairs=0,
        n_same=None,
        p_value=None,
        p_adjusted=None,
        verdict="insufficient_items",
    )
    line = comparison_latex(rows(given), metric_catalog()).splitlines()[5]
    assert line == r"nDCG@10 & --- & --- & --- & --- & --- & 0 & insufficient items \\"


def test_a_number_per_run_is_one_line_without_a_test() -> None:
    nothing = dict.fromkeys(("ci_low", "ci_high", "p_value", "p_adjusted", "n_same", "n_better"))
    given = comparison_row(
        "aurc",
        **nothing,
        mean_baseline=0.2,
        mean_candidate=0.15,
        delta=-0.05,
        n_pairs=0,
        verdict="no_test",
        ci_label="insufficient items",
    )
    line = comparison_line(rows(given).row(0, named=True), metric_catalog())
    assert line == "aurc  0.200 → 0.150  −0.050  one number per run, no test"


def test_unequal_judging_says_what_judged_documents_alone_say() -> None:
    given = regressed_row("ndcg_at_10", unequal_judging=True, delta_judged_only=0.01)
    line = comparison_line(rows(given).row(0, named=True), metric_catalog())
    assert line.endswith("REGRESSED (unequal judging, +0.010 on judged documents alone)")


def items(*given: tuple[str, float, float]) -> pl.DataFrame:
    ordered = sorted(given, key=lambda one: (-abs(one[2] - one[1]), one[0]))
    return frame(
        "comparison_items",
        [
            {
                "metric": "ndcg_at_10",
                "item_id": name,
                "baseline": old,
                "candidate": new,
                "delta": new - old,
                "rank": rank,
            }
            for rank, (name, old, new) in enumerate(ordered, start=1)
        ],
    )


def documents(item_id: str, *given: tuple) -> pl.DataFrame:
    names = ("doc_id", "rank_baseline", "rank_candidate", "grade", "contribution")
    return frame(
        "comparison_documents",
        [
            {"metric": "ndcg_at_10", "item_id": item_id, **dict(zip(names, one, strict=True))}
            for one in given
        ],
    )


def test_items_that_moved_most_are_listed_with_their_documents_largest_part_first() -> None:
    text = moved_text(
        rows(regressed_row("ndcg_at_10")),
        items(("q1", 1.0, 0.25), ("q2", 0.5, 0.75), ("q3", 0.5, 0.5)),
        documents("q1", ("a", 1, None, 3, -0.7), ("b", None, 2, None, 0.0), ("c", 3, 4, 1, -0.05)),
        metric_catalog(),
    )
    assert text.splitlines() == [
        "items that moved most on ndcg_at_10 (it regressed):",
        "  worse: 1 of 1 item",
        "    q1  1.000 → 0.250  −0.750",
        "      a  left from 1  grade 3  −0.700",
        "      c  3 → 4  grade 1  −0.050",
        "      b  entered at 2  unjudged",
        "  better: 1 of 1 item",
        "    q2  0.500 → 0.750  +0.250",
    ]


def test_what_is_left_out_is_counted() -> None:
    many = [(f"d{n}", n, n + 1, 0, 0.0) for n in range(1, 10)]
    text = moved_text(
        rows(regressed_row("ndcg_at_10")),
        items(*((f"q{n}", 1.0, 0.5 - n / 100) for n in range(7))),
        documents("q6", *many),
        metric_catalog(),
        most=3,
    )
    assert "  worse: 3 of 7 items" in text
    assert "3 more documents in comparison_documents" in text
    assert re.findall(r"^    (q\d)", text, re.MULTILINE) == ["q6", "q5", "q4"]


def test_nothing_that_moved_is_nothing_to_say() -> None:
    same = comparison_row(verdict="no_significant_change", n_nonzero=0)
    assert moved_text(rows(same), items(), documents("q"), metric_catalog()) == ""
