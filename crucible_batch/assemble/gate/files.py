"""Files of a judged gate: each made of the same verdict, each replaced at once."""

from __future__ import annotations

from pathlib import Path

from crucible_batch.assemble.gate.junit import gate_junit
from crucible_batch.assemble.gate.markdown import gate_markdown
from crucible_batch.assemble.gate.text import gate_json
from crucible_batch.assemble.gate.verdict import GateVerdict


def write_files(
    verdict: GateVerdict,
    *,
    junit: Path | None = None,
    json_file: Path | None = None,
    markdown: Path | None = None,
) -> list[Path]:
    """Write the files asked for; returns their paths."""
    texts: dict[Path, str] = {}
    if junit is not None:
        texts[junit] = gate_junit(verdict)
    if json_file is not None:
        texts[json_file] = gate_json(verdict, indent=1) + "\n"
    if markdown is not None:
        texts[markdown] = gate_markdown(verdict)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.new")
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    return list(texts)
