"""Files of a judged gate: each made of the same verdict."""

from __future__ import annotations

from pathlib import Path

from crucible_batch.assemble.gate.junit import gate_junit
from crucible_batch.assemble.gate.markdown import gate_markdown
from crucible_batch.assemble.gate.text import gate_json
from crucible_batch.assemble.gate.verdict import GateVerdict
from crucible_batch.assemble.outputs import write_output


def write_files(
    verdict: GateVerdict,
    *,
    junit: Path | None = None,
    json_file: Path | None = None,
    markdown: Path | None = None,
) -> list[Path]:
    """Write the files asked for; returns their paths.

    Raises:
        CrucibleError: A file cannot be written.
    """
    texts: list[tuple[Path, str]] = []
    if junit is not None:
        texts.append((junit, gate_junit(verdict)))
    if json_file is not None:
        texts.append((json_file, gate_json(verdict, indent=1) + "\n"))
    if markdown is not None:
        texts.append((markdown, gate_markdown(verdict)))
    return [write_output(path, text) for path, text in texts]
