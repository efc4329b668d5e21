"""301 open questions with two systems' answers and human verdicts, as inputs of `crucible load`.

Data: Kamalloo et al. 2023, "Evaluating Open-Domain Question Answering in the Era of Large Language
Models". An answer is right if its normalised form equals that of an accepted answer: the gold
answers and those people found acceptable, without those people found wrong.
"""

from __future__ import annotations

import csv
import json
import re
import string
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

SYSTEMS = ("FiD", "FiD-KD")


@dataclass(frozen=True)
class OpenQa:
    """Files to load, and what is known of them.

    Attributes:
        golden: Golden items, one must assertion each; the id of an item is its question.
        runs: One file of results with human verdicts per system.
        right: Questions each system answers acceptably.
    """

    golden: Path
    runs: dict[str, Path]
    right: dict[str, frozenset[str]]


def build(data: Path, folder: Path) -> OpenQa:
    """Write the inputs into `folder`.

    Args:
        data: The folder `openqa_nq301`.
        folder: Where to.
    """
    outputs = {system: _outputs(data / f"model_outputs/NQ_{system}.jsonl") for system in SYSTEMS}
    accepted = _accepted(data / "NQ301_human.tsv", outputs[SYSTEMS[0]])
    golden = folder / "golden.jsonl"
    _write(golden, [_item(question, answers) for question, answers in accepted.items()])
    runs, right = {}, {}
    for system, rows in outputs.items():
        right[system] = frozenset(
            question
            for question, row in rows.items()
            if normalised(row["prediction"]) in {normalised(text) for text in accepted[question]}
        )
        runs[system] = folder / f"{system}.jsonl"
        header = {"run": {"run_id": system, "judge": {"judge": "human@2023"}}}
        results = [_result(row, row["question"] in right[system]) for row in rows.values()]
        _write(runs[system], [header, *results])
    return OpenQa(golden, runs, right)


def normalised(text: str) -> str:
    """The SQuAD form: lower case, without punctuation and articles, single spaces."""
    plain = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def _outputs(path: Path) -> dict[str, dict]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["question"]: row for row in rows}


def _accepted(human: Path, golds: dict[str, dict]) -> dict[str, list[str]]:
    yes, no = defaultdict(set), defaultdict(set)
    with human.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            side = {"Yes": yes, "No": no}.get(row["Acceptable?"])
            if side is not None:
                side[row["Question"]].add(row["Model answer"].strip())
    return {
        question: sorted(
            {*row["answer"], *yes[question]}
            - no[question]
            - {text.lower() for text in no[question]}
        )
        for question, row in golds.items()
    }


def _item(question: str, accepted: list[str]) -> dict:
    text = f"The answer is one of: {json.dumps(accepted, ensure_ascii=False)}."
    return {
        "item_id": question,
        "question": question,
        "answerable": True,
        "assertions": [{"assertion_id": "accepted", "level": "must", "text": text}],
    }


def _result(row: dict, is_right: bool) -> dict:
    verdict = {"assertion_id": "accepted", "verdict": "supported" if is_right else "missing"}
    return {"item_id": row["question"], "answer": row["prediction"], "verdicts": [verdict]}


def _write(path: Path, rows: list[dict]) -> None:
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
