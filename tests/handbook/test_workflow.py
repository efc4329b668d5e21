"""The workflow of the page `nightly` does what the page says, with the files of the tutorial."""

from __future__ import annotations

import pytest
import yaml
from handbook_pages import HANDBOOK, blocks_of
from handbook_shell import Reader

PAGES = {page.stem: page for page in HANDBOOK}
INSTALLS = "pip install"


def steps() -> list[str]:
    """The commands of the workflow, but for the one that installs."""
    blocks = [block for block in blocks_of(PAGES["nightly"]) if block.kind == "yaml"]
    (workflow,) = [yaml.safe_load(block.text) for block in blocks]
    found = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "run" in step]
    assert sum(INSTALLS in step for step in found) == 1
    return [step for step in found if INSTALLS not in step]


@pytest.fixture
def job(tmp_path, monkeypatch) -> Reader:
    """A runner with the golden set, the run of the main branch and gate.toml checked out."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"RUN": "pr-7-1", "GITHUB_STEP_SUMMARY": "said.md"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CRUCIBLE_ROOT", "store")
    reader = Reader(tmp_path, monkeypatch, tmp_path, "")
    for block in blocks_of(PAGES["tutorial"]):
        if block.kind == "python":
            reader.python(block.text)
        if block.file == "gate.toml":
            (tmp_path / "gate.toml").write_text(block.text, encoding="utf-8")
    (tmp_path / "tuesday.jsonl").rename(tmp_path / "main.jsonl")
    return reader


def test_the_gate_in_ci_is_red_for_a_run_that_got_worse(job):
    (job.folder / "monday.jsonl").rename(job.folder / "answers.jsonl")
    *before, gate, summary = steps()
    for step in before:
        job.shell(step)
    with pytest.raises(AssertionError, match="exit code 1, expected 0"):
        job.shell(gate)
    job.shell(summary)
    assert "gate FAIL" in (job.folder / "said.md").read_text(encoding="utf-8")
    assert (job.folder / "gate.xml").is_file()
