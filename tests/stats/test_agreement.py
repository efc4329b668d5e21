import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.errors import UsageError
from crucible_batch.stats.agreement import agreement, kappa_from, ranking_tau

grades = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


def slow_alpha(pairs: list[tuple[int, int]]) -> float | None:
    """Krippendorff's alpha from all pairs of ratings, one by one."""
    ratings = [r for pair in pairs for r in pair]

    def distance(c: int, k: int) -> float:
        low, high = min(c, k), max(c, k)
        inside = sum(low <= r <= high for r in ratings)
        return (inside - (ratings.count(low) + ratings.count(high)) / 2) ** 2

    within = sum(2 * distance(a, b) for a, b in pairs) / len(ratings)
    between = sum(
        distance(ratings[i], ratings[j])
        for i in range(len(ratings))
        for j in range(len(ratings))
        if i != j
    ) / (len(ratings) * (len(ratings) - 1))
    return 1 - within / between if between else None


def slow_kappa(pairs: list[tuple[int, int]], power: int) -> float | None:
    """Weighted kappa from the mean distance of pairs and of all combinations."""

    def distance(a: int, b: int) -> int:
        return 0 if a == b else abs(a - b) ** power

    observed = sum(distance(a, b) for a, b in pairs) / len(pairs)
    chance = sum(distance(a, b) for a, _ in pairs for _, b in pairs) / len(pairs) ** 2
    return 1 - observed / chance if chance else None


@settings(deadline=None)
@given(grades)
def test_alpha_is_the_textbook_one(pairs: list[tuple[int, int]]) -> None:
    found = agreement([a for a, _ in pairs], [b for _, b in pairs]).alpha
    assert found == pytest.approx(slow_alpha(pairs), abs=1e-12)


@pytest.mark.parametrize(("weights", "power"), [(None, 0), ("linear", 1), ("quadratic", 2)])
@settings(deadline=None)
@given(pairs=grades)
def test_kappa_is_the_textbook_one(
    weights: str | None, power: int, pairs: list[tuple[int, int]]
) -> None:
    found = agreement([a for a, _ in pairs], [b for _, b in pairs], weights=weights)
    assert found.kappa == pytest.approx(slow_kappa(pairs, power), abs=1e-12)
    assert found.raw == sum(a == b for a, b in pairs) / len(pairs)


def test_published_agreement_of_eight_judges(cases: Path) -> None:
    folder = cases / "data" / "llmjudge"

    def labels(path: Path) -> dict[tuple[str, str], int]:
        rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        return {(query, doc): int(grade) for query, _, doc, grade in rows}

    human = labels(folder / "human_qrels.txt")
    with (folder / "agreement_expected.csv").open(encoding="utf-8") as file:
        expected = list(csv.DictReader(file))
    assert len(expected) == 8
    for row in expected:
        graded = labels(folder / "llm_labels" / f"{row['judge']}.txt")
        judge = [graded.get(pair) for pair in human]
        plain = agreement(human.values(), judge)
        assert plain.n == int(row["n_pairs"])
        assert plain.raw == pytest.approx(float(row["agree"]), abs=1e-12)
        assert plain.kappa == pytest.approx(float(row["kappa4"]), abs=1e-12)
        for name in ("nominal", "ordinal", "interval"):
            alpha = plain.alpha if name == "ordinal" else getattr(plain, f"alpha_{name}")
            assert alpha == pytest.approx(float(row[f"alpha_{name}"]), abs=1e-12)
        assert plain.mae == pytest.approx(float(row["mae"]), abs=1e-12)
        for threshold, name in ((1, "0_123"), (2, "01_23"), (3, "012_3")):
            kappa = kappa_from(human.values(), judge, threshold)
            assert kappa == pytest.approx(float(row[f"kappa_{name}"]), abs=1e-12)
        for weights in ("linear", "quadratic"):
            found = agreement(human.values(), judge, weights=weights).kappa
            assert found == pytest.approx(float(row[f"kappa_{weights}"]), abs=1e-12)


def test_pairs_without_both_ratings_are_left_out() -> None:
    found = agreement([0, 1, None, 1], [0, None, 1, float("nan")])
    assert (found.n, found.raw) == (1, 1.0)


@pytest.mark.parametrize(("human", "judge"), [([], []), ([None], [1])])
def test_no_pairs_have_no_agreement(human: list[Any], judge: list[Any]) -> None:
    found = agreement(human, judge)
    assert (found.n, found.raw, found.kappa, found.alpha) == (0, None, None, None)
    assert found.table.columns == ["human", "judge", "n"]


def test_raters_who_say_one_thing_only_have_no_kappa() -> None:
    found = agreement([1, 1, 1], [1, 1, 1], weights="quadratic")
    assert (found.raw, found.kappa, found.alpha) == (1.0, None, None)


def test_words_are_as_far_apart_as_their_places() -> None:
    scale = ["missing", "partial", "supported"]
    human = ["missing", "partial", "supported", "missing"]
    judge = ["missing", "supported", "supported", "partial"]
    words = agreement(human, judge, weights="linear", categories=scale)
    numbers = agreement(
        [scale.index(w) for w in human], [scale.index(w) for w in judge], weights="linear"
    )
    assert (words.kappa, words.alpha) == (numbers.kappa, numbers.alpha)


def test_a_grade_that_nobody_gave_still_lies_between() -> None:
    apart = agreement([0, 3, 0, 1], [3, 3, 0, 0], weights="quadratic")
    listed = agreement([0, 3, 0, 1], [3, 3, 0, 0], weights="quadratic", categories=range(4))
    assert apart.kappa == listed.kappa


def test_the_table_has_every_combination() -> None:
    table = agreement(["yes", "no", "yes"], ["yes", "yes", "no"]).table
    expected = pl.DataFrame(
        {"human": ["no", "no", "yes", "yes"], "judge": ["no", "yes"] * 2, "n": [0, 1, 1, 1]}
    )
    assert table.equals(expected)


def test_impossible_input_is_refused() -> None:
    with pytest.raises(UsageError, match="2 human ratings and 1"):
        agreement([1, 2], [1])
    with pytest.raises(UsageError, match="cubic"):
        agreement([1], [1], weights="cubic")
    with pytest.raises(UsageError, match="- 4"):
        agreement([1], [4], categories=[0, 1, 2, 3])


@pytest.mark.parametrize(
    ("name", "distance"),
    [("alpha_nominal", lambda a, b: a != b), ("alpha_interval", lambda a, b: (a - b) ** 2)],
)
@settings(deadline=None)
@given(pairs=grades)
def test_other_alphas_are_the_textbook_ones(name: str, distance: Any, pairs: Any) -> None:
    ratings = [rating for pair in pairs for rating in pair]
    within = sum(2 * distance(a, b) for a, b in pairs) / len(ratings)
    between = sum(distance(a, b) for a in ratings for b in ratings)
    between /= len(ratings) * (len(ratings) - 1)
    found = getattr(agreement([a for a, _ in pairs], [b for _, b in pairs]), name)
    assert found == pytest.approx(1 - within / between if between else None, abs=1e-12)


@settings(deadline=None)
@given(grades)
def test_distance_and_majority_are_counted_over_the_pairs(pairs: list[tuple[int, int]]) -> None:
    found = agreement([a for a, _ in pairs], [b for _, b in pairs])
    assert found.mae == pytest.approx(sum(abs(a - b) for a, b in pairs) / len(pairs), abs=1e-12)
    human = [a for a, _ in pairs]
    assert found.majority == max(map(human.count, human)) / len(human)


@settings(deadline=None)
@given(grades, st.integers(1, 3))
def test_a_threshold_makes_yes_and_no_of_grades(pairs: list[tuple[int, int]], at: int) -> None:
    sides = [[pair[n] for pair in pairs] for n in (0, 1)]
    yes = [[int(rating >= at) for rating in side] for side in sides]
    assert kappa_from(*sides, at) == agreement(*yes).kappa
    assert kappa_from([*sides[0], None], [*sides[1], 3], at) == kappa_from(*sides, at)


@settings(deadline=None)
@given(grades)
def test_tau_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = [[float(pair[n]) for pair in (*pairs, (1, 2))] for n in (0, 1)]
    with np.errstate(all="ignore"):
        expected = scipy.stats.kendalltau(first, second).statistic
    found = ranking_tau(first, second)
    assert found == (None if np.isnan(expected) else pytest.approx(expected, abs=1e-12))


def test_the_verdicts_of_a_model_agree_with_people_as_published(cases: Path) -> None:
    folder = cases / "data" / "openqa_nq301"

    def rows(name: str) -> list[dict[str, str]]:
        with (folder / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    def key(row: dict[str, str]) -> tuple[str, str]:
        return row["Question"], row["Model answer"].strip().lower()

    judged = {}
    words = []
    for row in rows("NQ301_gpt-4.tsv"):
        text = row["gpt-4"].strip().lower()
        word = next((word for word in ("yes", "no") if text.startswith(word)), "malformed")
        words.append(word)
        judged.setdefault(key(row), word)
    assert [words.count(word) for word in ("yes", "no", "malformed")] == [762, 718, 10]
    human: dict[tuple[str, str], str] = {}
    for row in rows("NQ301_human.tsv"):
        human.setdefault(key(row), row["Acceptable?"].strip().lower())
    sides = [
        (human[pair], word) for pair, word in judged.items() if pair in human if word != "malformed"
    ]
    found = agreement([a for a, _ in sides], [b for _, b in sides])
    assert found.n == 1478
    assert found.kappa == pytest.approx(0.6960, abs=5e-5)
