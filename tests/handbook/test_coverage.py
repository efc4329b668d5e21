"""The handbook runs every command at least once, and shows how Prefect is called."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from handbook_commands import commands_in, forms, leaves
from handbook_pages import PAGES, blocks_of

NOT_RUN = {
    ("judge", "bridge"): "needs two judges; tests/judges and tests/cli run it",
    ("alerts", "redeliver"): "needs an endpoint that has failed",
}
"""Commands that no block runs, and why."""


def run_somewhere() -> set[tuple[str, ...]]:
    shown = [block.text for page in PAGES for block in blocks_of(page) if block.kind == "sh"]
    words = [words for text in shown for words in commands_in(f"```\n{text}\n```")]
    return {leaf for leaf in leaves() if any(tuple(w[: len(leaf)]) == leaf for w in words)}


def test_every_command_is_run_by_a_page():
    assert set(leaves()) - run_somewhere() - set(NOT_RUN) == set()


def test_a_command_that_is_run_needs_no_excuse():
    assert set(NOT_RUN) & run_somewhere() == set()
    assert set(NOT_RUN) <= set(leaves())


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("python -m flows.nightly --root STORE", None),
        ("python -m flows.nightly --rot STORE", "no option --rot"),
        ("python -m flows.gone", "no module flows.gone"),
        ("crucible frobnicate", "no command"),
        ("make it so", "what is"),
    ],
)
def test_a_form_that_is_wrong_is_found(line, fault):
    found = forms(line)
    assert (found == []) if fault is None else (fault in found[0])


def prefect_commands() -> list[list[str]]:
    """Words of every `prefect …` of a usage block."""
    lines = [
        line.split("   ")[0]
        for page in PAGES
        for block in blocks_of(page)
        if block.kind == "usage"
        for line in block.text.splitlines()
    ]
    return [line.split()[1:] for line in dict.fromkeys(lines) if line.startswith("prefect ")]


@pytest.mark.slow
@pytest.mark.parametrize("words", prefect_commands(), ids=" ".join)
def test_prefect_takes_what_the_pages_say(words):
    names = [word for word in words if re.fullmatch(r"[a-z-]+", word) and not word.startswith("--")]
    names = names[: 1 if names[0] == "deploy" else 2]
    prefect = Path(sys.executable).parent / "prefect"
    done = subprocess.run(
        [prefect, *names, "--help"], capture_output=True, text=True, timeout=120, check=True
    )
    options = [word for word in words if word.startswith("--") and word != "--no-prompt"]
    assert [option for option in options if option not in done.stdout] == []
