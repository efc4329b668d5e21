"""The gate: rules over a comparison, one verdict behind text, files and exit code."""

from __future__ import annotations

from crucible_batch.assemble.gate.config import GateConfig, load_gate
from crucible_batch.assemble.gate.files import write_files
from crucible_batch.assemble.gate.markdown import gate_markdown
from crucible_batch.assemble.gate.run import GateRun, Told, check_baseline, run_gate, told
from crucible_batch.assemble.gate.selftest import SelfTest, self_test
from crucible_batch.assemble.gate.text import (
    gate_json,
    gate_summary,
    gate_text,
    gate_words,
    self_test_text,
)
from crucible_batch.assemble.gate.verdict import GateVerdict, RuleResult

__all__ = [
    "GateConfig",
    "GateRun",
    "GateVerdict",
    "RuleResult",
    "SelfTest",
    "Told",
    "check_baseline",
    "gate_json",
    "gate_markdown",
    "gate_summary",
    "gate_text",
    "gate_words",
    "load_gate",
    "run_gate",
    "self_test",
    "self_test_text",
    "told",
    "write_files",
]
