"""The flow: the same night as the command's, once, with artifacts, and what is tried again."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import polars as pl
import pytest
from nights import Nights

from crucible_batch.assemble.example import AS_OF, example_dir
from crucible_batch.assemble.nightly import do_night, open_night, parse_as_of
from crucible_batch.errors import ContractError, UsageError
from crucible_batch.store import Store

EXAMPLE = example_dir() / "nightly.toml"

pytestmark = pytest.mark.slow  # starts a Prefect server


@pytest.fixture(scope="module")
def done(server, tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A store that the flow filled with the example."""
    from flows.nightly import nightly

    root = tmp_path_factory.mktemp("flow") / "store"
    return root, nightly(root, EXAMPLE, AS_OF)


def derived(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for folder in ("marts", "variants", "reports")
        for path in sorted((root / "default" / folder).rglob("*"))
        if path.is_file()
    }


def test_the_flow_writes_the_bytes_of_the_command(done, tmp_path):
    root, outcome = done
    night = open_night(tmp_path / "store", EXAMPLE, parse_as_of(AS_OF))
    result = do_night(night)
    assert (outcome["baseline"], outcome["candidate"]) == (result.baseline, result.candidate)
    assert outcome["gate"] == result.gate_told.outcome == "pass"
    assert outcome["report"] == str(root / result.report.relative_to(night.store.root))
    assert derived(root) == derived(night.store.root)
    nights = Store.open(root).table("nightly").drop("_commit").collect()
    assert nights.equals(night.store.table("nightly").drop("_commit").collect())


def test_a_second_run_of_a_night_is_a_no_op_that_says_so(done, caplog):
    from flows.nightly import nightly

    root, outcome = done
    before, seq = derived(root), Store.open(root).workspace().snapshot().seq
    with caplog.at_level("INFO"):
        assert nightly(root, EXAMPLE, AS_OF) == outcome
    assert "is done already: lexical-rewrite (no-op)" in caplog.text
    assert derived(root) == before
    assert Store.open(root).workspace().snapshot().seq == seq


def test_the_comparison_and_the_report_are_published(done):
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        artifacts = client.read_latest_artifacts()
    published = {artifact.key: artifact for artifact in artifacts}
    assert published["comparison"].type == "table"
    assert '"metric": "mean_truthfulness"' in published["comparison"].data
    assert published["gate"].type == "markdown"
    assert "gate PASS" in published["gate"].data
    assert published["report"].type == "markdown"
    assert "lexical-rewrite" in published["report"].data


def test_a_gate_that_fails_makes_the_flow_run_fail_each_time(server, tmp_path):
    from prefect.exceptions import FailedRun

    from flows.nightly import nightly

    nights = Nights(tmp_path)
    nights.run("base", "01:00")
    nights.run("new", "02:00", n_right=0)
    floor = 'kind = "floor"\nmetric = "retrieval_hit_rate"\nfloor = 0.5\n'
    nights.gate(f'[[rules]]\nid = "found"\n{floor}')
    line = "gate FAIL  exit 1  new against base  failed: found (of 1 rule and 5 requirements)"
    for _ in range(2):
        with pytest.raises(FailedRun, match=re.escape(line)):
            nightly(nights.root, nights.config, "2026-05-01")
    again = nights.do("2026-05-01")
    assert (again.is_repeat, again.exit_code, again.gate_told.line) == (True, 1, line)
    assert again.report.is_file()


def test_runs_are_scored_once_and_every_candidate_is_compared(done):
    from flows.compare_runs import compare_runs
    from flows.score_runs import score_runs

    root, outcome = done
    assert score_runs(root) == []
    told = compare_runs(root, outcome["baseline"], [outcome["candidate"], outcome["baseline"]])
    assert list(told) == ["lexical-rewrite", "lexical-plain"]
    assert told["lexical-rewrite"].startswith("lexical-plain → lexical-rewrite\nMixed:")
    same = pl.read_parquet(root / "default/marts/comparisons/lexical-plain~lexical-plain.parquet")
    assert same["delta"].drop_nulls().unique().to_list() == [0.0]


def test_without_as_of_the_night_is_that_of_the_scheduled_start(server, tmp_path):
    from prefect.client.orchestration import get_client
    from prefect.flow_engine import run_flow
    from prefect.states import Scheduled

    from flows.nightly import nightly

    nights = Nights(tmp_path)
    nights.run("base", "01:00")
    given = {"root": str(nights.root), "config": str(nights.config)}
    start = parse_as_of("2026-05-01T03:00:00Z")
    with get_client(sync_client=True) as client:
        planned = client.create_flow_run(
            nightly, parameters=given, state=Scheduled(scheduled_time=start)
        )
    assert run_flow(nightly, flow_run=planned, parameters=given) == {
        "as_of": "2026-05-01T03:00:00+00:00",
        "baseline": "base",
        "candidate": None,
        "gate": None,
        "report": None,
    }


@pytest.mark.parametrize(
    ("fault", "n_tries"),
    [
        (OSError("the disk is gone"), 3),
        (ConnectionResetError("the network is gone"), 3),
        (duckdb.IOException("the disk is gone"), 3),
        (ContractError("a row is wrong"), 1),
        (UsageError("a name is wrong"), 1),
        (ValueError("a fault of ours"), 1),
    ],
)
def test_only_a_fault_that_may_heal_is_tried_again(server, fault, n_tries):
    from flows.retries import retried

    tried: list[Exception] = []

    def step() -> None:
        tried.append(fault)
        raise fault

    with pytest.raises(type(fault), match=str(fault)):
        retried(step).with_options(retry_delay_seconds=0)()
    assert len(tried) == n_tries


def test_a_disk_that_comes_back_is_no_failure(server, tmp_path):
    from flows.retries import retried

    def step() -> str:
        if not list(tmp_path.iterdir()):
            (tmp_path / "mended").touch()
            raise OSError("the disk is gone")
        return "done"

    assert retried(step).with_options(retry_delay_seconds=0)() == "done"


def test_a_missing_input_is_told_once(server, tmp_path):
    from flows.nightly import nightly

    nights = Nights(tmp_path, baseline="latest-succeeded")
    nights.inputs[0]["paths"] = ["absent.jsonl"]
    with pytest.raises(UsageError, match=r"absent\.jsonl does not exist"):
        nightly(nights.root, nights.config, "2026-05-01")
