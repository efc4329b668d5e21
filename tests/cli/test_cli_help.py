"""Every command explains itself, at once."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
import typer

from crucible_batch.cli.app import app
from crucible_batch.cli.outline import outline

# Not pydantic: Typer itself imports it to parse the words of a command.
HEAVY = (
    "polars",
    "duckdb",
    "pandera",
    "pyarrow",
    "numpy",
    "scipy",
    "prefect",
    "jinja2",
)


def commands(group, path=()):
    for name, command in group.commands.items():
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


ALL = dict(commands(typer.main.get_command(app)))


def imported(*words):
    """Heavy modules that a command imports before it is done."""
    program = (
        "import sys\n"
        f"sys.argv = ['crucible', *{list(words)!r}]\n"
        "from crucible_batch.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('IMPORTED', [m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.rsplit("IMPORTED ", 1)[1].strip()


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_says_in_a_sentence_what_it_does(path):
    words = (ALL[path].help or "").split("\n", 1)[0]
    assert words[:1].isupper()
    assert words.endswith(".")


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_option_and_argument_says_what_it_is(path):
    for parameter in ALL[path].params:
        if parameter.name == "help":
            continue
        text = parameter.help or ""
        assert text.endswith((".", "…")), (parameter.name, text)
        assert parameter.name == parameter.name.lower()
        if isinstance(parameter, click.Option):
            assert all(name.startswith("--") or len(name) == 2 for name in parameter.opts)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_works_for_every_command(crucible, path):
    done = crucible(*path, "--help")
    assert done.code == 0
    assert "Usage: crucible" in done.out
    assert done.err == ""


def test_help_imports_nothing_heavy():
    assert imported("--help") == "[]"


def test_help_of_a_command_imports_nothing_heavy():
    assert imported("load", "run", "--help") == "[]"


def test_what_comes_next_without_a_store_imports_nothing_heavy():
    assert imported() == "[]"


def test_no_argument_shows_the_help(crucible):
    done = crucible()
    assert "Usage: crucible" in done.out + done.err
    assert done.code in {0, 2}


@pytest.mark.parametrize("module", ["crucible_batch", "crucible_batch.cli.app"])
def test_importing_the_package_is_light(module):
    program = f"import sys, {module}\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_help_of_compare_names_every_facet_there_is():
    from crucible_batch.report.detail import FACETS

    (facet,) = (p for p in ALL[("compare",)].params if "--slice" in p.opts)
    missing = [name for name in FACETS if name not in facet.help]
    assert missing == []


def test_the_help_of_all_commands_is_that_of_the_whole_application():
    def shown(made):
        group = typer.main.get_command(made)
        return group.get_help(group.make_context("crucible", [], resilient_parsing=True))

    assert shown(outline(app, [])) == shown(app)


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_a_command_that_is_named_is_whole(words):
    made = typer.main.get_command(outline(app, ["--root", "store", *words]))
    for word in words:
        made = made.commands[word]
    whole = {tuple(param.opts): param.help for param in ALL[words].params}
    assert {tuple(param.opts): param.help for param in made.params} == whole
