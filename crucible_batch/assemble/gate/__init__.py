"""The gate: rules over a comparison, one verdict behind text, files and exit code."""

from __future__ import annotations

from crucible_batch.assemble.gate.config import GateConfig, load_gate
from crucible_batch.assemble.gate.files import write_files
from crucible_batch.assemble.gate.run import GateRun, check_baseline, run_gate
from crucible_batch.assemble.gate.selftest import SelfTest, self_test
from crucible_batch.assemble.gate.text import gate_json, gate_text, self_test_text
from crucible_batch.assemble.gate.verdict import GateVerdict, RuleResult

__all__ = [
    "GateConfig",
    "GateRun",
    "GateVerdict",
    "RuleResult",
    "SelfTest",
    "check_baseline",
    "gate_json",
    "gate_text",
    "load_gate",
    "run_gate",
    "self_test",
    "self_test_text",
    "write_files",
]
