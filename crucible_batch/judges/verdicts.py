"""What a judge's text says, read strictly: a text that does not say it plainly is malformed.

A malformed text is None here: never a grade of 0, never clamped into the scale, never a digit that
happens to stand somewhere in the text. All functions are pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from crucible_batch.contracts.vocabulary import VERDICTS

Values = Mapping[str, Any]
"""Columns of a judgment table, and what the judge says of them."""

GIVEN = tuple(word for word in VERDICTS if word != "malformed")
"""The verdicts a judge may give."""

THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
OPEN_THOUGHT = re.compile(r"</?think>", re.IGNORECASE)
MENTION = re.compile(r"final\s*score\s*[:=]", re.IGNORECASE)
FENCE = re.compile(r"```(?:json)?\s*\n(?P<inside>.*)\n\s*```\Z", re.DOTALL | re.IGNORECASE)
GRADE = re.compile(
    r"""\s*\**\s*(?P<grade>[0-3])\**(?!\w)
        (?:\s*/\s*3(?![\d.]))?                       # `2/3` is 2 on a scale that ends at 3
        (?!\**[ \t]*(?:[-–—/.,~]|or\b|to\b|and\b)?[ \t]*\**\d)  # 10, 2.5, 1-2, 1 or 2
    """,
    re.VERBOSE | re.IGNORECASE,
)

RULES = 1
"""Counts the changes of this reading; part of every prompt version."""


def read_grade(text: str) -> Values | None:
    """Read a grade of the UMBRELA scale.

    The last `final score:` of the text must be followed by one digit, 0 to 3, and by no other
    number; without any, the text must end in a JSON object with a `score`.

    Returns:
        `grade`, or None when the text is malformed.
    """
    said = _spoken(text)
    if said is None:
        return None
    mentions = list(MENTION.finditer(said))
    if mentions:
        found = GRADE.match(said, mentions[-1].end())
        return None if found is None else {"grade": int(found["grade"])}
    content = _object(said)
    score = None if content is None else content.get("score")
    if isinstance(score, str) and re.fullmatch(r"\s*[0-3]\s*", score):
        score = int(score)
    if isinstance(score, int) and not isinstance(score, bool) and 0 <= score <= 3:
        return {"grade": score}
    return None


def read_assertion(text: str, *, with_evidence: bool) -> Values | None:
    """Read a verdict on an assertion: a JSON object at the end of the text.

    Args:
        text: The judge's text.
        with_evidence: The judge was shown evidence and has to say whether it supports the
            assertion.

    Returns:
        `verdict` and, with evidence, `context_supported`; None when the text is malformed.
    """
    content = _object(_spoken(text))
    verdict = None if content is None else content.get("verdict")
    if content is None or not isinstance(verdict, str):
        return None
    word = verdict.strip().lower()
    if word not in GIVEN:
        return None
    return _with(content, {"verdict": word}, ("context_supported",) if with_evidence else ())


def read_claim(text: str, *, with_evidence: bool, with_reference: bool) -> Values | None:
    """Read the judgment of a claim: a JSON object at the end of the text.

    Returns:
        `grounded` (with evidence) and `correct` (with a reference); None when it is malformed.
    """
    content = _object(_spoken(text))
    if content is None:
        return None
    asked = [("grounded", with_evidence), ("correct", with_reference)]
    return _with(content, {}, [name for name, wanted in asked if wanted])


def _with(content: Values, values: dict[str, Any], names: Iterable[str]) -> Values | None:
    """`values` and the booleans of these names; None when one is missing or no boolean."""
    for name in names:
        value = content.get(name)
        if isinstance(value, str):
            value = {"true": True, "false": False}.get(value.strip().lower())
        if not isinstance(value, bool):
            return None
        values[name] = value
    return values


def _spoken(text: str) -> str | None:
    """The text without the thoughts before it; None when a thought has no end."""
    said = THOUGHT.sub("", text)
    return None if OPEN_THOUGHT.search(said) else said.strip()


def _object(said: str | None) -> Values | None:
    """The JSON object that a text ends with, in a code fence or not; no brace may stand before."""
    if said is None:
        return None
    fenced = FENCE.search(said)
    body = fenced["inside"].strip() if fenced else said
    start = body.find("{")
    if start < 0:
        return None
    try:
        content, end = DECODER.raw_decode(body, start)
    except (ValueError, RecursionError):
        return None
    return content if end == len(body) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key stands twice")
    return content


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse)
