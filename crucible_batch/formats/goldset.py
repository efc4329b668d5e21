"""The gold-set JSON `{"pairs": [{question, ground_truth, contexts?}], "rewrite_n", "top_k"}`.

A ground truth becomes one must assertion, the item is answerable, contexts stay with it. The id of
an item is a hash of its question, so that loading a file again finds the same items.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, Final

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.ids import question_id
from crucible_batch.errors import ContractError
from crucible_batch.formats.chunk import Chunk, Findings, reason
from crucible_batch.formats.jsonl import Rows, unknown_keys
from crucible_batch.formats.lines import LineError, blocks, decode
from crucible_batch.formats.sources import Source

PAIR_KEYS: Final = ("question", "ground_truth", "contexts")
TARGET_KEYS: Final = ("rewrite_n", "top_k")
EXAMPLE = '{"pairs": [{"question": "…", "ground_truth": "…"}], "rewrite_n": 3, "top_k": 5}'


def read_goldset(source: Source, findings: Findings) -> Iterator[Chunk]:
    """Read one gold set; `_source_row` counts its pairs from 1.

    Args:
        source: The file; it is held in memory as a whole.
        findings: Receives the target payload and the counts.

    Yields:
        One chunk of golden_items and, if any pair has a ground truth, one of golden_assertions.

    Raises:
        ContractError: The file is no gold set, or asks one question twice with different answers
            or contexts.
    """
    content = _content(source, findings)
    _take_target(source, content, findings)
    items, assertions = Rows(TABLES["golden_items"]), Rows(TABLES["golden_assertions"])
    seen: dict[str, tuple[int, dict[str, Any]]] = {}
    for number, pair in enumerate(content["pairs"], start=1):
        if not isinstance(pair, dict):
            items.add({"pair": pair}, number, reason("pair", "not an object", pair))
            continue
        _add(_first_spelling(source, number, pair, seen, findings), number, items, assertions)
    findings.reported |= {"golden_items", "golden_assertions"}
    for rows in (items, assertions):
        if rows.rows:
            yield Chunk(rows.table.name, rows.frame(source.name))


def _add(pair: dict[str, Any], number: int, items: Rows, assertions: Rows) -> None:
    question, truth = pair.get("question"), pair.get("ground_truth")
    problems = unknown_keys(pair, PAIR_KEYS)
    if truth is None:
        problems.append(reason("ground_truth", "missing", truth))
    item_id = question_id(question) if isinstance(question, str) else None
    items.add({**pair, "item_id": item_id, "answerable": True}, number, *problems)
    if isinstance(truth, str):
        assertions.add({"item_id": item_id, "level": "must", "text": truth}, number)


def _content(source: Source, findings: Findings) -> dict[str, Any]:
    try:
        content, n_replaced = decode(b"".join(blocks(source)))
    except LineError as error:
        raise ContractError(
            f"{source.name} is not a gold set", problems=[error.check], fix=f"write {EXAMPLE}"
        ) from error
    findings.n_replaced_surrogates += n_replaced
    problems = unknown_keys(content, ("pairs", *TARGET_KEYS))
    pairs = content.get("pairs")
    if not isinstance(pairs, list):
        problems.append(reason("pairs", "not a list", pairs))
    elif not pairs:
        problems.append("pairs: the list is empty")
    problems += [
        reason(name, "not an integer of at least 1", content[name])
        for name in TARGET_KEYS
        if content.get(name) is not None and not _is_count(content[name])
    ]
    if problems:
        raise ContractError(
            f"{source.name} is not a gold set", problems=problems, fix=f"write {EXAMPLE}"
        )
    return content


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _take_target(source: Source, content: dict[str, Any], findings: Findings) -> None:
    target = {name: content[name] for name in TARGET_KEYS if content.get(name) is not None}
    if not target:
        return
    if findings.target is not None and findings.target != target:
        raise ContractError(
            f"{source.name} names another target than the gold sets before it",
            problems=[reason("target", "differs", [findings.target, target])],
            fix="load gold sets of different targets one by one",
        )
    findings.target = target


def _first_spelling(
    source: Source,
    number: int,
    pair: dict[str, Any],
    seen: dict[str, tuple[int, dict[str, Any]]],
    findings: Findings,
) -> dict[str, Any]:
    """The pair as it was first written; refuses the same question with other content."""
    question = pair.get("question")
    if not isinstance(question, str):
        return pair
    first, earlier = seen.setdefault(question_id(question), (number, pair))
    if first == number:
        return pair
    if _normal(earlier) != _normal(pair):
        raise ContractError(
            f"{source.name} asks one question twice with different content",
            problems=[reason(f"pairs {first} and {number}", "question", question)],
            fix="keep one of the pairs",
        )
    findings.n_repeated_questions += 1
    return earlier


def _normal(value: Any) -> Any:
    """`value` with its strings in NFC."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    return value
