"""Commands that a page names: whether they exist, with their options."""

from __future__ import annotations

import re
import shlex
from typing import Any

import typer
from handbook_pages import ROOT

from crucible_batch.cli.app import app

GROUP = typer.main.get_command(app)

in_code = re.compile(r"```(?:[^\n`]*)\n(.*?)```|`([^`\n]+)`", re.DOTALL)


def commands_in(text: str) -> list[list[str]]:
    """Words of every `crucible …` command in the code of a page."""
    found = []
    for block, inline in in_code.findall(text):
        for line in (block or inline).splitlines():
            for part in re.split(r"&&|;(?![^\"]*\")|\|(?![^\"]*\")", line):
                start = re.search(r"(?:^|\s)crucible\s+(.*)", part.strip())
                if start and not part.strip().startswith(("#", "--")):
                    found.append(_words(start[1].split(" #")[0]))
    return [words for words in found if words and re.fullmatch(r"[a-z]+", words[0])]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a command that is cut in the middle of a sentence
        return text.split()


def resolve(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the words name, and the words after its name."""
    command, rest = GROUP, list(words)
    while hasattr(command, "commands"):
        if not rest or rest[0] not in command.commands:
            return (None, rest) if command is GROUP else (command, rest)
        command = command.commands[rest.pop(0)]
    return command, rest


def complaints(words: list[str]) -> list[str]:
    """What is wrong with a command: an unknown name, or an option it does not take."""
    command, rest = resolve(words)
    if command is None:
        return [f"no command: crucible {' '.join(words)}"]
    every = [command, *getattr(command, "commands", {}).values()]  # `crucible load … --dry-run`
    known = {name for c in every for p in c.params for name in (*p.opts, *p.secondary_opts)}
    known.add("--help")
    options = [word.split("=")[0] for word in rest if re.fullmatch(r"--[a-z][a-z-]*(=.*)?", word)]
    return [f"crucible {' '.join(words)}: no option {o}" for o in options if o not in known]


def forms(text: str) -> list[str]:
    """What is wrong with a block that shows forms of commands, one a line."""
    found = [fault for words in commands_in(f"```\n{text}\n```") for fault in complaints(words)]
    for line in text.splitlines():
        words = line.split("   ")[0].split()
        if words[:2] == ["python", "-m"]:
            found += flow_complaints(words[2:])
        elif words and words[0] not in {"crucible", "prefect", "export", "duckdb"}:
            found.append(f"what is {line!r}?")
    return found


def flow_complaints(words: list[str]) -> list[str]:
    """What is wrong with `python -m flows.NAME …`: its options stand in the text of the module."""
    path = ROOT.joinpath(*words[0].split(".")).with_suffix(".py")
    if not path.is_file():
        return [f"no module {words[0]}"]
    known = re.findall(r"^    (\w+): Annotated\[", path.read_text(encoding="utf-8"), re.MULTILINE)
    options = [word for word in words[1:] if word.startswith("--")]
    return [
        f"{words[0]}: no option {option}"
        for option in options
        if option.removeprefix("--").replace("-", "_") not in known
    ]


def leaves(command: Any = GROUP, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The names of all commands that do something."""
    inside = getattr(command, "commands", {})
    found = [leaf for name, one in inside.items() for leaf in leaves(one, (*path, name))]
    if path and (not inside or getattr(command, "invoke_without_command", False)):
        found.append(path)
    return found
