"""Anchors: frozen when added, judged again without any cache, and what that says of a judge."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from anchoring import FIRST, Anchoring, anchor, saying
from judge_server import JudgeServer
from pytest_httpserver import HTTPServer

from crucible_batch.assemble.anchors import judge_anchors
from crucible_batch.assemble.anchors.standing import write_drift
from crucible_batch.errors import ConflictError, ContractError, UsageError
from crucible_batch.judges import lexical
from crucible_batch.judges.chat_client import JudgeError
from crucible_batch.judges.prompts import prompt_version

TWENTY = [anchor(n) for n in range(20)]
LANE = f"m@{prompt_version('assertion', 0.0)}"


@pytest.fixture
def anchors(tmp_path) -> Anchoring:
    """Twenty anchors and the offline judge."""
    made = Anchoring(tmp_path)
    made.add(*TWENTY)
    return made


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory) -> Path:
    """A folder whose chat judge was calibrated in night 0, when it supported everything."""
    folder = tmp_path_factory.mktemp("calibrated")
    with HTTPServer(threaded=True) as server:
        said = JudgeServer(server)
        said.say, said.model = saying(lambda prompt: "supported"), "m-2026-01"
        made = Anchoring(folder, said)
        made.add(*TWENTY)
        assert made.judge(0).calibrated
    return folder


@pytest.fixture
def chat(tmp_path, judge_server, calibrated) -> Anchoring:
    """Twenty anchors and a chat judge that was calibrated in night 0 and supports all of them."""
    judge_server.say, judge_server.model = saying(lambda prompt: "supported"), "m-2026-01"
    shutil.copytree(calibrated, tmp_path, dirs_exist_ok=True)
    return Anchoring(tmp_path, judge_server)


@pytest.fixture
def fresh(tmp_path, judge_server) -> Anchoring:
    """Twenty anchors and a chat judge that was never asked."""
    made = Anchoring(tmp_path, judge_server)
    made.add(*TWENTY)
    return made


# --- added ------------------------------------------------------------------------------------


def test_anchors_are_added_once(anchors):
    again = anchors.add(*TWENTY)
    assert not again.created
    assert again.tables[0].n_already_there == 20
    assert anchors.table("anchors").height == 20


def test_an_anchor_never_changes(anchors):
    with pytest.raises(ConflictError, match="other content") as caught:
        anchors.add(anchor(3, answer="It is elsewhere."))
    assert "anchor_id 'a03': answer is" in caught.value.problems[0]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"scale": "stars"}, "scale: not one of verdict, grounded, grade: stars"),
        ({"human_verdict": "yes"}, "human_verdict: not on the scale verdict: yes"),
        ({"scale": "grade"}, "human_verdict: not on the scale grade: supported"),
        ({"answer": " "}, "answer: blank on the scale verdict, which judges it:  "),
        ({"question": ""}, "question: blank"),
    ],
)
def test_an_anchor_no_judge_can_be_held_against_is_refused_and_none_is_added(
    tmp_path, more, reason
):
    made = Anchoring(tmp_path)
    with pytest.raises(ContractError) as caught:
        made.add(anchor(1), anchor(2, **more))
    assert any(reason in problem for problem in caught.value.problems)
    assert made.table("anchors").is_empty()


def test_a_dry_run_adds_nothing(tmp_path):
    made = Anchoring(tmp_path)
    assert made.add(anchor(1), dry_run=True).tables[0].n_accepted == 1
    assert made.store.workspaces() == ()


# --- judged -----------------------------------------------------------------------------------


def test_the_first_judging_calibrates_and_every_later_night_asks_once(anchors):
    first, second = anchors.judge(0), anchors.judge(1)
    assert (first.judge, first.calibrated, first.n_calls) == (lexical.JUDGE, True, 100)
    assert (second.calibrated, second.n_calls, second.n_failed) == (False, 20, 0)
    verdicts = anchors.table("anchor_verdicts")
    assert verdicts.group_by("as_of").len().sort("as_of")["len"].to_list() == [100, 20]
    assert set(verdicts["verdict"]) == {"supported"}
    assert anchors.table("judge_calls")["kind"].unique().to_list() == ["anchor"]


def test_the_same_night_again_asks_nothing(chat, judge_server):
    chat.judge(1)
    before = judge_server.n_requests
    again = chat.judge(1)
    assert (again.created, again.n_calls, judge_server.n_requests) == (False, 0, before)


def test_every_night_asks_about_every_anchor_whatever_was_said_before(chat, judge_server):
    chat.judge(1)
    assert judge_server.n_requests == 20
    assert len(set(judge_server.prompts)) == 20


def test_anchors_are_in_no_golden_set_and_no_run(anchors):
    anchors.judge(0)
    for name in ("golden_items", "results", "assertion_verdicts", "qrels"):
        assert anchors.store.workspace().snapshot().read(name).collect().is_empty()


def test_a_quiet_judge_is_quiet(anchors):
    for night in range(3):
        anchors.judge(night)
    rows = anchors.table("judge_drift")
    assert rows["as_of"].to_list() == sorted({*rows["as_of"]})
    assert rows["n_flips"].to_list() == [0, 0, 0]
    assert rows["alarm"].to_list() == [False] * 3
    assert rows["attribution"].to_list() == ["none"] * 3
    assert rows["f0"][0] == pytest.approx(1 - 0.05 ** (1 / 100))


def test_a_judge_that_changed_at_once_is_an_alarm(chat, judge_server):
    judge_server.say = saying(lambda p: "missing" if "Where is shed 1" in p else "supported")
    chat.judge(1)
    row = chat.table("judge_drift").row(-1, named=True)
    assert row["n_flips"] == 11  # shed 1 and sheds 10 to 19
    assert (row["alarm"], row["attribution"]) == (True, "judge")


def test_the_state_is_read_from_the_rows_and_a_new_calibration_resets_it(chat, judge_server):
    judge_server.say = saying(lambda p: "missing" if "Where is shed 3?" in p else "supported")
    chat.judge(1)
    chat.judge(2)
    assert chat.standing().drifts[-1].wealth.n == 40
    assert chat.standing(1).drifts[-1].wealth.n == 20
    chat.judge(3, calibrate=True)
    chat.judge(4)
    now = chat.standing()
    assert now.calibrated_at > FIRST
    assert (now.drifts[-1].n_flips, now.drifts[-1].wealth.n) == (0, 20)
    assert now.n_right == 19


def test_another_judge_has_a_state_of_its_own(chat):
    chat.judge(0, judge="other")
    rows = chat.table("judge_drift")
    assert set(rows["judge"]) == {LANE, LANE.replace("m@", "other@")}


def test_a_judge_that_says_it_is_another_model_is_an_alarm_by_itself(chat, judge_server):
    chat.judge(1)
    judge_server.model = "m-2026-04"
    chat.judge(2)
    rows = chat.table("judge_drift")
    assert rows["alarm"].to_list() == [False, False, True]
    assert rows["n_flips"].to_list() == [0, 0, 0]
    assert set(chat.table("anchor_verdicts")["judge_model"]) == {"m-2026-01", "m-2026-04"}


def test_failed_calls_are_null_verdicts_and_many_leave_it_open(chat, judge_server):
    judge_server.script(*["500"] * 3)
    assert chat.judge(1).n_failed == 3
    row = chat.table("judge_drift").row(-1, named=True)
    assert (row["n_anchors"], row["n_failed"], row["n_flips"]) == (20, 3, 0)
    assert row["attribution"] == "unattributed"
    assert chat.table("anchor_verdicts")["verdict"].null_count() == 3


def test_a_judge_that_mumbles_has_flipped(chat, judge_server):
    judge_server.say = lambda prompt: "well …"
    assert chat.judge(1).n_malformed == 20
    assert chat.table("judge_drift").row(-1, named=True)["n_flips"] == 20


def test_an_endpoint_that_refuses_every_call_leaves_nothing_behind(fresh, judge_server):
    judge_server.script(*["401"] * 300)
    with pytest.raises(JudgeError, match="cannot be asked"):
        fresh.judge(0)
    assert fresh.table("anchor_verdicts").is_empty()


def test_where_asked_to_be_tolerant_that_is_a_night_of_failed_calls(chat, judge_server):
    judge_server.script(*["401"] * 300)
    assert chat.judge(1, tolerant=True).n_failed == 20
    assert chat.table("judge_drift").row(-1, named=True)["n_failed"] == 20


def test_a_judge_that_only_failed_is_calibrated_by_the_next_night(fresh, judge_server):
    judge_server.script(*["401"] * 300)
    fresh.judge(0, tolerant=True)
    assert fresh.table("judge_drift").is_empty()
    judge_server.script()
    assert fresh.judge(1).calibrated


def test_grades_and_claims_have_anchors_too(tmp_path, judge_server):
    made = Anchoring(tmp_path, judge_server)
    made.add(
        anchor(1, scale="grounded", human_verdict="true"),
        anchor(2, scale="grade", human_verdict="3", answer=""),
    )

    def say(prompt: str) -> str:
        return "##final score: 3" if "<document>" in prompt else json.dumps({"grounded": True})

    judge_server.say = say
    done = judge_anchors(made.store, "default", as_of=FIRST)
    assert [one.n_anchors for one in done] == [1, 1]
    said = made.table("anchor_verdicts").unique("anchor_id").sort("anchor_id")
    assert said["verdict"].to_list() == ["true", "3"]
    assert made.table("judge_drift")["attribution"].to_list() == ["unattributed"] * 2


def test_anchors_a_judge_has_nothing_to_go_by_are_counted(tmp_path):
    made = Anchoring(tmp_path)
    made.add(anchor(1), anchor(2, scale="grade", human_verdict="3"))
    done = made.judge(0)
    assert (done.n_anchors, done.n_left_out) == (1, 1)


def test_a_store_without_anchors_says_how_to_add_some(tmp_path):
    made = Anchoring(tmp_path)
    made.store.workspace("default", create=True)
    with pytest.raises(UsageError, match="has no anchors"):
        made.judge(0)


def test_anchors_added_later_wait_for_the_next_calibration(anchors):
    anchors.judge(0)
    anchors.add(anchor(50))
    anchors.judge(1)
    assert anchors.standing().drifts[-1].n_anchors == 20
    anchors.judge(2, calibrate=True)
    assert anchors.standing().drifts[-1].n_anchors == 21


def test_anchors_that_are_not_what_they_were_are_found(anchors):
    anchors.judge(0)
    row = {"workspace_id": "default", **anchor(0, answer="Shed 0 is gone.")}
    lake = anchors.store.workspace().layout.lake
    file = lake / "c00000001" / "anchors.parquet"
    kept = pl.read_parquet(file).filter(pl.col("anchor_id") != "a00")
    forged = pl.concat([kept, pl.DataFrame([row | {"_commit": 1}], schema=kept.schema)])
    file.chmod(0o644)
    forged.sort("anchor_id").write_parquet(file)
    fresh = Anchoring.__new__(Anchoring)
    fresh.store = type(anchors.store).open(anchors.store.root)
    with pytest.raises(ContractError, match="not those that"):
        fresh.judge(1)


def test_two_judgings_of_one_night_leave_one(anchors, monkeypatch):
    import crucible_batch.assemble.anchors.judging as module

    plain = module.ask

    def slower(*args):
        monkeypatch.setattr(module, "ask", plain)
        anchors.judge(0)
        return plain(*args)

    monkeypatch.setattr(module, "ask", slower)
    assert not anchors.judge(0).created
    assert anchors.table("anchor_verdicts").height == 100


def test_the_rows_of_a_night_have_the_same_bytes_again(anchors):
    anchors.judge(0)
    anchors.judge(1)
    folder = anchors.store.workspace().layout.marts("judge_drift")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.glob("2*.parquet"):
        path.unlink()
    for night in (0, 1):
        standing = anchors.standing(night)
        write_drift(anchors.store.workspace(), standing, standing.drifts[-1].as_of, "none")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_judge_is_calibrated_by_ten_repeats_unless_told_otherwise(anchors):
    (done,) = judge_anchors(anchors.store, "default", as_of=FIRST)
    assert done.n_calls == 200


def test_fewer_than_five_repeats_are_no_calibration(anchors):
    with pytest.raises(UsageError, match="repeats is 4"):
        anchors.judge(0, repeats=4)
