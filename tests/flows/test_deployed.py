"""A deployed flow is loaded by its path, in a process that was given its parameters as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

FLOWS = Path(__file__).parents[2] / "flows"
GIVEN = {"root": "store"}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("nightly", {"config": "nightly.toml"}),
        ("score_runs", {"runs": ["a"]}),
        ("compare_runs", {"baseline": "a", "candidates": ["b"]}),
    ],
)
def test_its_parameters_are_validated(prefect_home, name, given):
    from prefect.flows import load_flow_from_entrypoint

    flow = load_flow_from_entrypoint(f"{FLOWS / name}.py:{name}")
    parameters = flow.validate_parameters(GIVEN | given)
    assert parameters["root"] == Path("store")


def test_the_deployment_file_names_a_flow_and_its_parameters(prefect_home):
    from prefect.flows import load_flow_from_entrypoint

    content = yaml.safe_load((FLOWS / "prefect.yaml").read_text(encoding="utf-8"))
    (deployment,) = content["deployments"]
    flow = load_flow_from_entrypoint(str(FLOWS.parent / deployment["entrypoint"]))
    assert flow.name == "nightly"
    flow.validate_parameters(deployment["parameters"])
    assert (FLOWS.parent / deployment["parameters"]["config"]).is_file()
