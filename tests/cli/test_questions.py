"""The twenty questions of the handbook have an answer in the demo's store, in any shell."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

PAGE = Path(__file__).parents[2] / "crucible_batch" / "docs" / "questions.md"
SECTION = re.compile(r"^## (\d+)\. (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
QUESTIONS = [
    (int(number), title, re.findall(r"```sql\n(.*?)```", text, re.DOTALL), text)
    for number, title, text in SECTION.findall(PAGE.read_text(encoding="utf-8"))
]


def test_there_are_twenty_questions_with_one_query_each():
    assert [number for number, *_ in QUESTIONS] == list(range(1, 21))
    assert all(title.endswith("?") for _, title, *_ in QUESTIONS)
    assert {len(queries) for _, _, queries, _ in QUESTIONS} == {1}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question[0]))
def test_a_question_has_an_answer_which_a_plain_shell_gives_too(crucible, demo_store, question):
    _, _, (query,), text = question
    done = crucible("sql", query, "--json", "--root", demo_store)
    assert (done.code, done.err) == (0, "")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert bool(rows) != ("In the example: no row." in text)
    with duckdb.connect(str(demo_store / "default" / "catalog.duckdb"), read_only=True) as shell:
        shell.execute("SET TimeZone = 'UTC'")
        found = shell.execute(query)
        names = [column[0] for column in found.description]
        plain = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    assert json.loads(json.dumps(plain, default=str)) == rows


def test_the_page_is_read_with_crucible_docs(crucible):
    assert "Twenty questions" in crucible("docs", "questions").out
