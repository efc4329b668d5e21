"""Run commands in this process as a shell would see them: exit code, stdout, stderr."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crucible_batch.assemble.load import load_golden
from crucible_batch.cli import main
from crucible_batch.settings.template import template
from crucible_batch.store import Store


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


@pytest.fixture
def crucible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """Run `crucible …` in a folder of its own; no command may show a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # not the developer's history

    def run(*words: str | Path) -> Done:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["crucible", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Done(code, out, err)

    return run


@pytest.fixture
def store(crucible, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store; commands find it because it is the current folder."""
    root = tmp_path / "store"
    assert crucible("init", root).code == 0
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Write an input: bytes as they are, other values as one JSON text per line."""

    def write(name: str, *rows: Any) -> Path:
        path = tmp_path / name
        if rows and isinstance(rows[0], bytes):
            path.write_bytes(rows[0])
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def golden_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds items q1 and q2 in the set `faq`, made once; never written to again."""
    folder = tmp_path_factory.mktemp("template")
    rows = [
        {
            "item_id": f"q{n}",
            "question": f"Question {n}?",
            "answerable": True,
            "assertions": [{"assertion_id": "a", "level": "must", "text": "So."}],
        }
        for n in (1, 2)
    ]
    path = folder / "golden.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    store = Store.create(folder / "store", settings_text=template())
    load_golden(store, [path], golden_set="faq")
    return store.root


@pytest.fixture
def golden(
    crucible, golden_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A store that holds items q1 and q2 in the set `faq`; it is the current folder."""
    root = tmp_path / "store"
    shutil.copytree(golden_template, root)
    monkeypatch.chdir(root)
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    return root
