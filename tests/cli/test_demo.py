"""The demo prints what the README says it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
MARK = "<!-- demo output -->"
OMITTED = "…"


def promised() -> list[str]:
    """Lines of the fenced block behind the mark."""
    text = README.read_text(encoding="utf-8")
    assert text.count(MARK) == 1
    block = re.search(r"\s*```\w*\n(.*?)\n```\n", text.split(MARK)[1], re.DOTALL)
    assert block is not None
    return block.group(1).splitlines()


def missing(wanted: list[str], printed: list[str]) -> str | None:
    """The first wanted line that does not come in its place: next, or later after an ellipsis."""
    place: int | None = None  # where the next line has to be; None: anywhere from `start` on
    start = 0
    for line in wanted:
        if line.strip() == OMITTED:
            place = None
            continue
        found = [
            at for at in range(start, len(printed)) if printed[at] == line and place in {None, at}
        ]
        if not found:
            return line
        start = place = found[0] + 1
    return None


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        (["b", "c"], None),
        (["a", "…", "d"], None),
        (["a", "c"], "c"),
        (["c", "…", "b"], "b"),
        (["b", "c", "x"], "x"),
        (["a", "…", "…", "b"], None),
    ],
)
def test_a_line_that_is_missing_or_out_of_place_is_found(wanted, fault):
    assert missing(wanted, ["a", "b", "c", "d"]) == fault


def test_the_demo_prints_what_the_readme_says(crucible, tmp_path):
    root = tmp_path / "demo"
    done = crucible("demo", "--root", root)
    assert (done.code, done.err) == (0, "")
    printed = done.out.replace(str(root), "DIR").splitlines()
    wanted = [line.replace("/tmp/crucible-demo", "DIR") for line in promised()]
    assert len(wanted) > 8
    assert missing(wanted, printed) is None

    assert "golden_items           76            0              0" in printed
    (page,) = (root / "default" / "reports").iterdir()
    assert f"report: {page}" in done.out
    for command in re.findall(r"^  crucible (.*)$", done.out, re.MULTILINE):
        words = re.findall(r'"([^"]*)"|(\S+)', command)
        assert crucible(*(quoted or word for quoted, word in words)).code == 0, command

    again = crucible("demo", "--root", root)
    assert again.code == 0
    assert "done already: lexical-plain → lexical-rewrite (no-op)" in again.out


@pytest.mark.slow
def test_without_a_root_the_demo_says_where_its_folder_is(crucible, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    done = crucible("demo")
    (folder,) = tmp_path.glob("crucible-demo-*")
    assert done.code == 0
    assert f"{folder}/default/marts" in done.out
