"""Golden items in YAML, as people write them by hand; the keys are those of nested JSON Lines.

The file is a list of items, a mapping `{golden_set, items}`, or one item per document (`---`).
Plain words stay what they say: only JSON's own `true`, `false`, `null` and numbers are taken for
such. `no`, `2026-03-01` and `007` are texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from crucible_batch.errors import ContractError
from crucible_batch.formats.chunk import Chunk, Findings, reason
from crucible_batch.formats.jsonl import Batch
from crucible_batch.formats.lines import MAX_DEPTH, blocks, decode_text, without_surrogates
from crucible_batch.formats.sources import Source

JSON_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
JSON_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
FILE_KEYS: Final = {"golden_set", "items"}
ITEMS: Final = "golden_items"


class _WithoutAliases(yaml.BaseLoader):
    """Composes nodes; refuses aliases, with which a few lines can stand for millions of values."""

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                None, None, "an alias (*): write the value out", event.start_mark
            )
        return super().compose_node(parent, index)


def read_yaml(source: Source, findings: Findings) -> Iterator[Chunk]:
    """Read one file of golden items; `_source_row` is the line an item begins on.

    Args:
        source: The file; it is held in memory as a whole.
        findings: Receives the reported tables and the counts.

    Yields:
        Chunks of golden_items and their children.

    Raises:
        ContractError: The file is no YAML, repeats a key, uses an alias, or holds no items.
    """
    findings.reported.add(ITEMS)
    batch = Batch(ITEMS, findings)
    for number, row in _items(source, findings):
        if isinstance(row, dict):
            batch.take_row(number, row)
        else:
            batch.main.add({"item": row}, number, reason("item", "not a mapping", row))
    yield from batch.chunks(source.name)


def _items(source: Source, findings: Findings) -> Iterator[tuple[int, Any]]:
    """Every item with its line; those under `items` inherit the file's golden_set."""
    for document in _documents(source, findings):
        shared: dict[str, Any] = {}
        nodes: list[Node] = [document]
        if isinstance(document, SequenceNode):
            nodes = document.value
        elif isinstance(document, MappingNode) and (parts := _parts(document)).keys() <= FILE_KEYS:
            listed = parts.get("items")
            if not isinstance(listed, SequenceNode):
                raise _refusal(source, document, "`items` is no list")
            nodes = listed.value
            if "golden_set" in parts:
                shared = {"golden_set": _value(source, parts["golden_set"])}
        for node in nodes:
            row, n_replaced = without_surrogates(_value(source, node))
            findings.n_replaced_surrogates += n_replaced
            yield node.start_mark.line + 1, shared | row if isinstance(row, dict) else row


def _parts(mapping: MappingNode) -> dict[str, Node]:
    return {str(key.value): value for key, value in mapping.value}


def _documents(source: Source, findings: Findings) -> Iterator[Node]:
    try:
        text, n_replaced = decode_text(b"".join(blocks(source)))
        findings.n_replaced_surrogates += n_replaced
        yield from yaml.compose_all(text, Loader=_WithoutAliases)
    except UnicodeDecodeError as error:
        raise ContractError(
            f"{source.name} is not UTF-8 (byte {error.start + 1})", fix="save it as UTF-8"
        ) from error
    except yaml.YAMLError as error:
        raise ContractError(
            f"{source.name} is not YAML",
            problems=[" ".join(str(error).split())],
            fix="correct the line; texts with `: ` or `#` in them stand in quotes",
        ) from error
    except RecursionError as error:
        raise ContractError(f"{source.name} is nested too deeply") from error


def _value(source: Source, node: Node, depth: int = 0) -> Any:
    """The value of a node, as JSON would have it."""
    if depth > MAX_DEPTH:
        raise _refusal(source, node, "nested too deeply")
    if isinstance(node, ScalarNode):
        return _scalar(source, node)
    if isinstance(node, SequenceNode):
        return [_value(source, child, depth + 1) for child in node.value]
    found: dict[str, Any] = {}
    for key, child in node.value:
        if not isinstance(key, ScalarNode):
            raise _refusal(source, key, "a key is no text")
        if key.value in found:
            raise _refusal(source, key, f"key {key.value!r} stands twice in one mapping")
        found[key.value] = _value(source, child, depth + 1)
    return found


def _scalar(source: Source, node: ScalarNode) -> Any:
    text = str(node.value)
    if node.tag != "tag:yaml.org,2002:str":
        raise _refusal(source, node, f"the tag {node.tag} is not known")
    if node.style is not None:  # quoted, or a block of text
        return text
    if text in JSON_WORDS:
        return JSON_WORDS[text]
    return json.loads(text) if JSON_NUMBER.fullmatch(text) else text


def _refusal(source: Source, node: Node, problem: str) -> ContractError:
    return ContractError(
        f"{source.name} cannot be read as golden items",
        problems=[f"line {node.start_mark.line + 1}: {problem}"],
        fix="correct the line; `crucible docs loading` shows an example.",
    )
