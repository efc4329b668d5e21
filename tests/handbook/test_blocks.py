"""Every fenced block of the README and the handbook is run, loaded or compared with what it says.

The word behind the fence says which: `sh`, `python` and `sql` are run in a folder that lasts for
the page; `output` is what the block before it printed; `toml`, `yaml` and `json` are saved under
the name they give, or read as the configuration they are; `usage` shows forms of commands, which
must exist, `cron` lines of a crontab; `text` needs a line before it that says why it is not run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import handbook_data
import pytest
from handbook_commands import commands_in, complaints, forms
from handbook_pages import NOT_RUN, PAGES, ROOT, Block, blocks_of, without_blocks
from handbook_shell import Reader, demo_store, differs


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[Path, str]:
    return demo_store(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def reader(tmp_path, monkeypatch, demo) -> Reader:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")  # pages that say "in a checkout" read it
    return Reader(tmp_path, monkeypatch, *demo)


def shell(block: Block, reader: Reader) -> None:
    if block.file is not None:
        data(block, reader)
    else:
        reader.shell(block.text)


def python(block: Block, reader: Reader) -> None:
    reader.python(block.text)


def sql(block: Block, reader: Reader) -> None:
    reader.sql(block.text)


def output(block: Block, reader: Reader) -> None:
    line = differs(block.text, reader.printed)
    assert line is None, f"not as printed: {line!r}\nprinted:\n{reader.printed}"


def usage(block: Block, reader: Reader) -> None:
    assert forms(block.text) == []


def cron(block: Block, reader: Reader) -> None:
    for line in block.text.splitlines():
        form = r"([\d*/,-]+\s+){5}\S.*|[A-Z_]+=\S+"
        assert re.fullmatch(form, line), f"not a line of a crontab: {line}"
        assert [fault for words in commands_in(f"`{line}`") for fault in complaints(words)] == []


def text(block: Block, reader: Reader) -> None:
    assert NOT_RUN.match(block.before), "say before it why it is not run: *Not run: …*"


def data(block: Block, reader: Reader) -> None:
    if block.file is None:
        handbook_data.check(block.kind, block.text)
    else:
        path = Path.cwd() / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text + "\n", encoding="utf-8")


RULES: dict[str, Callable[[Block, Reader], None]] = {
    "sh": shell,
    "python": python,
    "sql": sql,
    "output": output,
    "usage": usage,
    "text": text,
    "cron": cron,
    "json": data,
    "toml": data,
    "yaml": data,
}


def follow(block: Block, reader: Reader) -> None:
    """Do what the rule of a block says; a failure names its place."""
    assert block.kind in RULES, f"{block.place}: no rule for a block of {block.kind!r}"
    try:
        RULES[block.kind](block, reader)
    except BaseException as fault:
        fault.add_note(f"in the {block.kind} block at {block.place}")
        raise


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_does_what_it_says(page, reader):
    for block in blocks_of(page):
        follow(block, reader)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_reader_is_told_under_which_name_a_block_is_saved(page):
    said = without_blocks(page.read_text(encoding="utf-8"))
    names = [block.file for block in blocks_of(page) if block.file is not None]
    assert [name for name in names if f"`{name}`" not in said] == []


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("```\nx\n```", "no rule"),
        ("```fish\nx\n```", "no rule"),
        ("```sh\nfalse\n```", "exit code 1, expected 0"),
        ("```sh\ncrucible frobnicate  # exit code 4\n```", "exit code 2, expected 4"),
        ("```sh\necho a\n```\n```output\nb\n```", "not as printed: 'b'"),
        ("```text\nx\n```", "why it is not run"),
        ("```usage\ncrucible frobnicate X\n```", "no command"),
        ("```toml\n[scoring]\nkz = 1\n```", "kz"),
        ("```json\n{]\n```", "property name"),
    ],
)
def test_a_block_that_is_wrong_is_found(said, fault, reader, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(said)
    *before, last = blocks_of(page)
    for block in before:
        follow(block, reader)
    with pytest.raises(BaseException, match=fault):
        follow(last, reader)


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        ("a\nb", "c"),
        ("a\nb\nc", None),
        ("a\n…\nc", None),
        ("…\nc", None),
        ("a\n…", None),
        ("b\n…", "b"),
        ("a\nx\nc", "x"),
        ("a…\nb\nc", None),
        ("a\nb\nc\nd", "d"),
    ],
)
def test_what_is_shown_is_compared_line_by_line(wanted, fault):
    assert differs(wanted, "a\nb\nc\n") == fault
