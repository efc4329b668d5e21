"""Documents say what the code does: generated parts are fresh, commands exist, examples run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from handbook_commands import commands_in, complaints
from handbook_pages import HANDBOOK, PAGES, ROOT

from crucible_batch.assemble import dictionary, handbook
from crucible_batch.contracts import ALL, TABLES, Role
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.metrics import catalog


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
    assert stale == [*map(Path, handbook.FILES), Path("README.md")]
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


def test_topics_are_listed_in_reading_order_with_a_line_each(crucible_out):
    *listed, blank, hint = crucible_out("docs").splitlines()
    names = [line.split()[0] for line in listed]
    assert names == [name for name in handbook.READING_ORDER if name in names]
    assert all(len(line.split()) > 1 for line in listed)
    assert (blank, hint) == ("", "crucible docs TOPIC prints a page.")


def test_the_topic_tables_is_the_data_dictionary(crucible_out):
    assert crucible_out("docs", "tables") == dictionary.data_dictionary()


def test_a_misspelt_topic_is_suggested():
    with pytest.raises(UnknownNameError, match=r"No topic is called 'tutoral'\nFix: .*tutorial"):
        handbook.handbook("tutoral")


def test_a_page_is_paged_for_a_person_only(crucible_out, monkeypatch):
    paged: list[str] = []
    monkeypatch.setattr("pydoc.pager", paged.append)
    assert crucible_out("docs", "gate").startswith("# The gate")
    monkeypatch.setattr("crucible_batch.cli.contract.read_by_a_person", lambda: True)
    assert crucible_out("docs", "gate") == ""
    assert paged[0].startswith("# The gate")


@pytest.mark.parametrize("metric", catalog.ALL, ids=lambda metric: metric.name)
def test_the_metric_page_says_what_the_declaration_says(metric):
    stem = re.sub(r"_at_\d+$", "", metric.name)
    entries = handbook.metric_reference().split("\n### ")
    (entry,) = [one for one in entries if f"`{metric.name}`" in one.splitlines()[0]]
    assert metric.formula
    assert f"- formula: {metric.formula}\n" in entry or metric.name.startswith(f"{stem}_at_5")
    assert f"- source: {metric.source}\n" in entry
    assert re.search(r"^- example: .+ → \*\*-?[\d.]+\*\*$", entry, re.MULTILINE)


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
