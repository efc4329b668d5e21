"""A reader who types the blocks of a page, one after the other, in a folder of their own.

`crucible …` runs in this process, also out of a script; everything else in bash. A command has to
end well unless its line ends in a comment such as `# exit code 3`. Files and variables last from
block to block.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from crucible_batch.cli import main

BASH = shutil.which("bash") or "/bin/bash"
OMITTED = "…"
EXIT_CODE = re.compile(r"\s+# exit code (\d+)\b.*$")
COMMENT = re.compile(r"\s+# .*$")
HEREDOC = re.compile(r"<<'(\w+)'")


def commands_of(script: str) -> list[str]:
    """The commands of a script: continued lines and heredocs in one piece, comments left out."""
    lines, found = script.splitlines(), []
    while lines:
        command = lines.pop(0)
        while command.endswith("\\") and lines:
            command = command[:-1].rstrip() + " " + lines.pop(0).lstrip()
        if here := HEREDOC.search(command):
            end = lines.index(here[1])
            command = "\n".join([command, *lines[: end + 1]])
            del lines[: end + 1]
        if command.strip() and not command.lstrip().startswith("#"):
            found.append(command)
    return found


def differs(wanted: str, printed: str) -> str | None:
    """The first line of a block that is not printed in its place; None if all are.

    A line `…` stands for any number of lines, `…` within a line for any text.
    """
    got = [line.rstrip() for line in printed.strip("\n").splitlines()]
    at, anywhere = 0, False
    for line in wanted.strip("\n").splitlines():
        if line.strip() == OMITTED:
            anywhere = True
            continue
        form = re.compile(".*".join(re.escape(part) for part in line.rstrip().split(OMITTED)))
        places = [n for n in range(at, len(got)) if form.fullmatch(got[n])]
        if not places or (places[0] != at and not anywhere):
            return line
        at, anywhere = places[0] + 1, False
    return got[at] if at < len(got) and not anywhere else None


@dataclass
class Reader:
    """Where a reader of a page is, and what the last block printed."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    demo: Path
    demo_said: str
    printed: str = ""
    names: dict[str, Any] = field(default_factory=dict)

    def shell(self, script: str) -> None:
        """Type a block of commands."""
        self.printed = "".join(self._typed(command) for command in commands_of(script))

    def python(self, source: str) -> None:
        """Run a block of Python; names last from block to block."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(source, "<page>", "exec"), self.names)
        self.printed = out.getvalue()

    def sql(self, statements: str) -> None:
        """Run statements where files and the views of the catalog can be named, as in a shell."""
        import duckdb

        store = self._root() / "default"
        con = duckdb.connect()
        con.sql("SET VARIABLE crucible_root = $root", params={"root": str(store)})
        catalog = store / "catalog.duckdb"
        con.execute(f"ATTACH '{catalog}' AS catalog (READ_ONLY)")
        con.execute("USE catalog")
        con.execute(statements).fetchall()

    def _root(self) -> Path:
        """The store of the page; that of the demo where the page has made none."""
        made = Path(os.environ.get("CRUCIBLE_ROOT", self.folder / "store"))
        return made if made.exists() else self.demo

    def _typed(self, line: str) -> str:
        promised = EXIT_CODE.search(line)
        heredoc = HEREDOC.search(line)
        line = line if heredoc else COMMENT.sub("", EXIT_CODE.sub("", line))
        code, said = self._bash(line) if heredoc else self._chain(line)
        wanted = int(promised[1]) if promised else 0
        assert code == wanted, f"{line}\nexit code {code}, expected {wanted}\n{said}"
        return said

    def _chain(self, line: str) -> tuple[int, str]:
        """`A && B`, of which each part is `crucible …`, `export`, `cd`, or bash's."""
        said, code = "", 0
        if "|" in shlex.split(line):
            return self._bash(line)
        for part in re.split(r"\s+&&\s+", line):
            words = [self._filled(word) for word in shlex.split(part)]
            code, more = self._one(part, words)
            said += more
            if code:
                break
        return code, said

    def _one(self, part: str, words: list[str]) -> tuple[int, str]:
        if words[:2] == ["uv", "run"]:
            words = words[2:]
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.monkeypatch.setenv(name, value)
            return 0, ""
        if words[0] == "cd":
            self.monkeypatch.chdir(words[1])
            return 0, ""
        if words[0] == "sh":
            return 0, "".join(self._typed(line) for line in commands_of(Path(words[1]).read_text()))
        if assigned := re.fullmatch(r"([a-z]+)=(.+)", part):
            code, value = self._bash(f"printf %s {assigned[2]}")
            self.monkeypatch.setenv(assigned[1], value)
            return code, "" if code == 0 else value
        if words[0] != "crucible":
            return self._bash(part)
        into: Path | None = None
        if ">" in words:
            into = Path(words[words.index(">") + 1])
            words = words[: words.index(">")]
        code, out, err = self._crucible(words)
        if into is not None:
            into.write_text(out, encoding="utf-8")
            out = ""
        return code, out + err

    def _filled(self, word: str) -> str:
        names = {**os.environ, "PWD": str(Path.cwd())}
        return re.sub(r"\$\{?(\w+)\}?", lambda m: names.get(m[1], m[0]), word)

    def _crucible(self, words: list[str]) -> tuple[int, str, str]:
        if words[1:2] == ["demo"] and len(words) == 4:  # it takes seconds: done once for all pages
            shutil.copytree(self.demo, words[3])
            self._crucible(["crucible", "doctor", "--repair", "--root", words[3]])  # it has moved
            return 0, self.demo_said.replace(str(self.demo), str(Path(words[3]).resolve())), ""
        out, err = io.StringIO(), io.StringIO()
        self.monkeypatch.setattr(sys, "argv", words)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0
        return code, out.getvalue(), err.getvalue()

    def _bash(self, line: str) -> tuple[int, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [BASH, "-c", line],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


def demo_store(folder: Path) -> tuple[Path, str]:
    """The store of `crucible demo`, and what the command printed."""
    out = io.StringIO()
    root = folder / "store"
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "argv", ["crucible", "demo", "--root", str(root)])
        with contextlib.suppress(SystemExit):
            main()
    return root, out.getvalue()
