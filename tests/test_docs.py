"""Documents say what the code does: generated parts are fresh, commands exist, examples run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import typer

from crucible_batch.assemble import dictionary, handbook
from crucible_batch.assemble.compare import compare_runs
from crucible_batch.assemble.load import load_golden, load_run
from crucible_batch.cli.app import app
from crucible_batch.contracts import ALL, TABLES, Role
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import Store

ROOT = Path(__file__).parents[1]
HANDBOOK = sorted((ROOT / "crucible_batch" / "docs").glob("*.md"))
README = ROOT / "README.md"
PAGES = [README, *HANDBOOK]
GROUP = typer.main.get_command(app)

in_code = re.compile(r"```(?:\w*)\n(.*?)```|`([^`\n]+)`", re.DOTALL)


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


def resolve(words: list[str]):
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


def test_a_command_that_does_not_exist_is_found():
    assert commands_in("`crucible frobnicate x`") == [["frobnicate", "x"]]
    assert complaints(["frobnicate", "x"])
    assert complaints(["load", "run", "x", "--foo"]) == [
        "crucible load run x --foo: no option --foo"
    ]
    assert complaints(["load", "run", "x", "--run", "r"]) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_in_a_page_exists_with_its_options(page):
    commands = commands_in(page.read_text(encoding="utf-8"))
    assert [text for words in commands for text in complaints(words)] == []


def test_the_readme_shows_commands_at_all():
    assert len(commands_in(PAGES[0].read_text(encoding="utf-8"))) >= 5


def test_generated_documents_are_fresh():
    assert handbook.generated(ROOT, write=False) == []


def test_a_stale_document_is_found_and_written_again(tmp_path):
    (tmp_path / "crucible_batch").mkdir()
    (tmp_path / "README.md").write_text(
        "# x\n<!-- generated: settings -->\nold\n<!-- end of generated -->\n"
    )
    stale = handbook.generated(tmp_path, write=False)
    assert stale == [Path("data/README.md"), Path("README.md")]
    assert not (tmp_path / "data").exists()
    assert handbook.generated(tmp_path, write=True) == stale
    assert handbook.generated(tmp_path, write=False) == []
    assert "| `scoring.ks` |" in (tmp_path / "README.md").read_text()


def test_an_unknown_block_and_a_foreign_folder_are_refused(tmp_path):
    with pytest.raises(UsageError, match="no checkout"):
        handbook.generated(tmp_path, write=False)
    with pytest.raises(UnknownNameError, match="generated block is called 'setings'"):
        handbook.fill_blocks("<!-- generated: setings -->\n<!-- end of generated -->")


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
def test_the_contract_of_a_table_prints_every_column_and_rule(table):
    text = dictionary.describe(table)
    for column in table.columns:
        assert re.search(rf"^  {column.name} +\S.*{re.escape(column.description)}", text, re.M)
    for rule in table.rules:
        assert rule.description in text
    assert json.loads(json.dumps(dictionary.to_dict(table)))["columns"]
    assert max(map(len, text.splitlines())) <= 200


def test_the_dictionary_holds_every_table_under_its_role():
    text = dictionary.data_dictionary()
    assert re.findall(r"^### (\w+)$", text, re.M) == [
        table.name for role in Role for table in ALL if table.role is role
    ]


def test_schema_and_docs_print(crucible_out):
    assert "results" in crucible_out("schema")
    assert "sample_index" in crucible_out("schema", "results")
    assert json.loads(crucible_out("schema", "results", "--json"))["table"] == "results"
    assert len(crucible_out("schema", "--json").splitlines()) == len(TABLES)
    assert "loading" in crucible_out("docs")
    assert "quarantine" in crucible_out("docs", "loading")
    assert "<!--" not in crucible_out("docs", "settings")


@pytest.fixture
def crucible_out(monkeypatch, capsys):
    """Stdout of a command that ends well."""
    from crucible_batch.cli import main

    def run(*words):
        monkeypatch.setattr("sys.argv", ["crucible", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("page", HANDBOOK, ids=lambda page: page.stem)
def test_a_page_of_the_handbook_begins_with_its_title(page):
    text = page.read_text(encoding="utf-8")
    assert re.match(r"# \S.*\n\n", text)
    assert text.endswith("\n")


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^ *```{kind}\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.S | re.M)


def objects(text: str) -> list[dict]:
    """JSON objects one after the other, over any number of lines."""
    decoder, found, rest = json.JSONDecoder(), [], text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        found.append(value)
        rest = rest[end:].lstrip()
    return found


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "crucible_batch" / "docs" / "loading.md"], ids=str
)
def test_the_json_examples_of_a_page_load(page, tmp_path):
    golden, runs = tmp_path / "golden.jsonl", tmp_path / "run.jsonl"
    examples = [found for text in blocks(page, "json") for found in objects(text)]
    items = [row for row in examples if "question" in row and "pairs" not in row]
    results = [row for row in examples if row.keys() & {"answer", "run"} and "question" not in row]
    assert items
    assert results
    golden.write_text("".join(json.dumps(row) + "\n" for row in items))
    runs.write_text("".join(json.dumps(row) + "\n" for row in results))
    store = Store.create(tmp_path / "s")
    assert load_golden(store, [golden], golden_set="support").n_quarantined == 0
    report = load_run(store, [runs], run=results[0].get("run", {}).get("run_id", "x"))
    assert report.reasons == ()


@pytest.fixture(scope="module")
def folder_of_the_reader(tmp_path_factory) -> Path:
    """Where the five steps of the README leave its reader: a store with two runs, compared."""
    folder = tmp_path_factory.mktemp("reader")
    examples = [found for text in blocks(README, "json") for found in objects(text)]
    golden, runs = folder / "golden.jsonl", folder / "run.jsonl"
    golden.write_text("".join(json.dumps(one) + "\n" for one in examples if "question" in one))
    runs.write_text("".join(json.dumps(one) + "\n" for one in examples if "question" not in one))
    store = Store.create(folder / "store")
    load_golden(store, [golden], golden_set="support")
    for name in ("monday", "tuesday"):
        load_run(store, [runs], run=name, golden_set="support")
    compare_runs(store, "default", "monday", "tuesday")
    (folder / "STORE").symlink_to("store")
    return folder


SNIPPETS = [
    pytest.param(text, id=f"{page.stem}-{place}")
    for page in PAGES
    for place, text in enumerate(blocks(page, "python"))
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_every_python_example_runs_as_it_stands(snippet, folder_of_the_reader, monkeypatch):
    monkeypatch.chdir(folder_of_the_reader)
    exec(snippet, {})


def test_there_are_python_examples_at_all():
    assert len(SNIPPETS) >= 5


def test_the_readme_names_every_page_of_the_handbook():
    said = re.sub(r"\s+", " ", README.read_text(encoding="utf-8"))
    (names,) = re.findall(r"`crucible docs` lists its pages, `crucible docs (.*?) print one", said)
    assert set(re.findall(r"\w+", names)) - {"and"} == {page.stem for page in HANDBOOK}
