"""A served or deployed flow runs in another process, which gets its parameters as JSON."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

FLOWS = Path(__file__).parents[2] / "flows"

CHILD = """
import sys
import cloudpickle
for flow, given in cloudpickle.loads(sys.stdin.buffer.read()):
    print(flow.validate_parameters({"root": "store"} | given)["root"])
"""


@pytest.mark.slow  # another process imports Prefect
def test_flows_that_travel_to_another_process_validate_their_parameters(prefect_home):
    import cloudpickle

    from flows.compare_runs import compare_runs
    from flows.deliver_alerts import deliver_alerts
    from flows.drift_scan import drift_scan
    from flows.judge_pool import judge_pool
    from flows.nightly import nightly
    from flows.score_runs import score_runs

    travelling = [
        (nightly, {"config": "nightly.toml"}),
        (score_runs, {"runs": ["a"]}),
        (compare_runs, {"baseline": "a", "candidates": ["b"]}),
        (deliver_alerts, {"workspace": "w"}),
        (drift_scan, {"as_of": "2026-05-01"}),
        (judge_pool, {"max_calls": 5}),
    ]
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=cloudpickle.dumps(travelling),
        capture_output=True,
        cwd=FLOWS.parent,
        check=False,
        timeout=120,
    )
    assert child.stdout == b"store\n" * 6, child.stderr.decode()


def test_the_deployment_file_names_flows_and_their_parameters(prefect_home):
    from prefect.flows import load_flow_from_entrypoint

    content = yaml.safe_load((FLOWS / "prefect.yaml").read_text(encoding="utf-8"))
    deployments = {one["name"]: one for one in content["deployments"]}
    assert deployments.keys() == {"nightly", "deliver-alerts"}
    for name, deployment in deployments.items():
        flow = load_flow_from_entrypoint(str(FLOWS.parent / deployment["entrypoint"]))
        assert flow.name == name
        flow.validate_parameters(deployment["parameters"])
    assert (FLOWS.parent / deployments["nightly"]["parameters"]["config"]).is_file()
