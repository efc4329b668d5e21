"""What a judge's text says: plainly, or not at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.judges.verdicts import GIVEN, read_assertion, read_claim, read_grade

PLAIN = [
    ("##final score: 3", 3),
    ("I compare it to 2 other passages.\n##final score: 3", 3),
    ("##final score: **2**", 2),
    ("Final score: 0", 0),
    ("FINAL  SCORE = 1", 1),
    ("**Final score:** 2", 2),
    ("##final score: ** 3 **", 3),
    ("Final score: 3.", 3),
    ("Final score: 2/3", 2),
    ("##final score: 2 to be fair", 2),
    ("final score: 3 (highly relevant, see 2 places)", 3),
    ("##final score: 1\n##final score: 2", 2),
    ("##final score: 3\n2 passages agree", 3),
    ("<think>final score: 1, or 2?</think>\n##final score: 2", 2),
    ('{"score": 2}', 2),
    ('{"score": "2"}', 2),
    ('```json\n{"score": 1}\n```', 1),
    ('It holds the answer. {"score": 3, "why": "line 4"}', 3),
]
MALFORMED = [
    "Final score: 10",
    "##final score: -1",
    "##final score: 2.5",
    "##final score: 2,5",
    "##final score: 03",
    "##final score: 0x3",
    "##final score: 3rd",
    "Final score: 1-2",
    "Final score: 1 or 2",
    "Final score: 2/5",
    "Final score: 3/30",
    "The passage from 2019 is unrelated. Final score: zero",
    "##final score: 4",
    "I cannot judge",
    "",
    "3",
    "The score is 3",
    "##final score: 2, or rather ##final score: high",
    "<think>final score: 1",
    '{"score": 4}',
    '{"score": -1}',
    '{"score": 2.0}',
    '{"score": true}',
    '{"score": null}',
    '{"score": "high"}',
    '{"grade": 2}',
    '{"score": 2',
    '{"a": {"score": 2}',
    '{"score": 1, "score": 2}',
    '{"score": 1} {"score": 2}',
    '{"score": 1} or so',
    '[{"score": 1}]',
]


@pytest.mark.parametrize(("text", "grade"), PLAIN)
def test_a_grade_that_is_said_plainly_is_read(text: str, grade: int) -> None:
    assert read_grade(text) == {"grade": grade}


@pytest.mark.parametrize("text", MALFORMED)
def test_a_grade_that_is_not_said_plainly_is_malformed(text: str) -> None:
    assert read_grade(text) is None


@given(st.integers())
def test_a_number_outside_the_scale_is_never_clamped(number: int) -> None:
    wanted = {"grade": number} if 0 <= number <= 3 else None
    assert read_grade(f"##final score: {number}") == wanted
    assert read_grade(json.dumps({"score": number})) == wanted


@given(st.text(st.characters(exclude_characters="{")))
def test_a_text_that_names_no_score_gives_no_grade(text: str) -> None:
    if "score" not in text.lower():
        assert read_grade(text) is None


@given(st.text())
def test_any_text_at_all_can_be_read(text: str) -> None:
    for reply in (
        read_grade(text),
        read_assertion(text, with_evidence=True),
        read_claim(text, with_evidence=True, with_reference=True),
    ):
        assert reply is None or reply


def test_endless_nesting_is_malformed() -> None:
    assert read_grade('{"score":' * 100_000) is None
    assert read_assertion("[" * 100_000, with_evidence=False) is None


@pytest.mark.parametrize("verdict", GIVEN)
def test_a_verdict_with_evidence_says_both(verdict: str) -> None:
    text = json.dumps({"verdict": verdict, "context_supported": False})
    assert read_assertion(text, with_evidence=True) == {
        "verdict": verdict,
        "context_supported": False,
    }
    assert read_assertion(text, with_evidence=False) == {"verdict": verdict}


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "malformed", "context_supported": true}',
        '{"verdict": "yes", "context_supported": true}',
        '{"verdict": "supported"}',
        '{"verdict": "supported", "context_supported": null}',
        '{"verdict": "supported", "context_supported": 1}',
        '{"verdict": "supported", "context_supported": "perhaps"}',
        '{"verdict": ["supported"], "context_supported": true}',
        '{"verdict": "supported", "context_supported": tr',
        "supported",
        "The answer is supported: true",
        "",
    ],
)
def test_a_verdict_that_is_not_whole_is_malformed(text: str) -> None:
    assert read_assertion(text, with_evidence=True) is None


def test_words_of_a_verdict_may_be_written_large_or_quoted() -> None:
    text = 'Sure:\n```json\n{"verdict": " Supported", "context_supported": "True"}\n```'
    assert read_assertion(text, with_evidence=True) == {
        "verdict": "supported",
        "context_supported": True,
    }


def test_a_claim_says_what_was_asked() -> None:
    text = '{"grounded": true, "correct": false}'
    assert read_claim(text, with_evidence=True, with_reference=True) == {
        "grounded": True,
        "correct": False,
    }
    assert read_claim(text, with_evidence=True, with_reference=False) == {"grounded": True}
    assert read_claim('{"grounded": true}', with_evidence=True, with_reference=True) is None
    assert read_claim('{"correct": false}', with_evidence=False, with_reference=True) == {
        "correct": False
    }
