"""The demo prints what the README says it prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from crucible_batch.cli.demo import demo

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


def commands(printed: str) -> list[list[str]]:
    """The words of every command the demo prints, as a shell reads them."""
    return [
        shlex.split(line) for line in re.findall(r"^  (.*crucible'? .*)$", printed, re.MULTILINE)
    ]


def test_the_demo_prints_what_the_readme_says(crucible, tmp_path):
    root = tmp_path / "my demo's"
    done = crucible("demo", "--root", root)
    assert (done.code, done.err) == (0, "")
    printed = done.out.replace(str(root), "DIR").splitlines()
    wanted = [line.replace("/tmp/crucible-demo", "DIR") for line in promised()]
    assert len(wanted) > 8
    assert missing(wanted, printed) is None

    assert "golden_items           76            0              0" in printed
    assert "unit: cluster (58 of them behind the first row)" in done.out
    assert printed[-1].startswith("gate PASS  exit 0  lexical-rewrite against lexical-plain")
    (page,) = (root / "default" / "reports").iterdir()
    assert f"report: {page}" in done.out
    assert len(commands(done.out)) == 3
    for program, *words in commands(done.out):
        assert program == "crucible"
        assert crucible(*words).code == 0, words

    again = crucible("demo", "--root", root)
    assert again.code == 0
    assert again.out.splitlines()[-1] == printed[-1]
    assert "done already: lexical-plain → lexical-rewrite (no-op)" in again.out
    assert "Remove it" not in again.out


@pytest.fixture
def printed(monkeypatch, capsys, tmp_path):
    """What the demo says of a job that is done, without doing it."""

    def run(root: Path | None = tmp_path / "d", argv: str = "crucible") -> str:
        night = SimpleNamespace(baseline="a", candidate="b", gate=None, gate_told=None, exit_code=0)
        done = SimpleNamespace(root=root or tmp_path / "new", workspace="default", night=night)
        monkeypatch.setattr("crucible_batch.assemble.demo.run_demo", lambda *_, **__: done)
        monkeypatch.setattr("crucible_batch.cli.demo.show_night", lambda _: None)
        monkeypatch.setattr("sys.argv", [argv, "demo"])
        demo(root)
        return capsys.readouterr().out

    return run


def test_a_temporary_store_comes_with_the_command_that_removes_it(printed, tmp_path):
    out = printed(root=None)
    assert f"  rm -r {tmp_path / 'new'}" in out.splitlines()
    assert "Remove it" not in printed()


def test_commands_start_the_program_as_it_was_started(printed, tmp_path, monkeypatch):
    program = tmp_path / "my tools" / "crucible"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert {words[0] for words in commands(printed(argv=str(program)))} == {str(program)}
    monkeypatch.setenv("PATH", str(program.parent))
    assert {words[0] for words in commands(printed(argv=str(program)))} == {"crucible"}
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    found = commands(printed(argv=str(program)))
    assert {tuple(words[:3]) for words in found} == {("uv", "run", "crucible")}


def test_commands_name_the_store_and_its_workspace_whatever_the_environment_says(
    printed, tmp_path, monkeypatch
):
    assert all(words[-2:] == ["--root", str(tmp_path / "d")] for words in commands(printed()))
    monkeypatch.chdir(tmp_path)
    found = commands(printed(root=Path("d")))
    assert all(words[-2:] == ["--root", str(tmp_path / "d")] for words in found)
    monkeypatch.setenv("CRUCIBLE_WORKSPACE", "elsewhere")
    assert all(words[-2:] == ["--workspace", "default"] for words in commands(printed()))


@pytest.mark.slow
def test_without_a_root_the_demo_says_where_its_folder_is(crucible, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    done = crucible("demo")
    (folder,) = tmp_path.glob("crucible-demo-*")
    assert done.code == 0
    assert f"{folder}/default/marts" in done.out
    assert f"  rm -r {folder}" in done.out.splitlines()
