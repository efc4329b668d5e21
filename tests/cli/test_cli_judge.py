"""`crucible qrels judge` and `crucible judge assertions|claims`."""

from __future__ import annotations

import io

import pytest
from judging import SETTINGS, Judging, result

from crucible_batch.judges import lexical
from crucible_batch.judges.prompts import prompt_version


@pytest.fixture
def judging(tmp_path, crucible, judge_server, monkeypatch) -> Judging:
    """A store with an unjudged run, which commands find because it is the current folder."""
    made = Judging(tmp_path, judge_server)
    made.golden()
    made.run("r", result("q0", "d1", "d2"), result("q1", "d1"))
    monkeypatch.chdir(made.bench.store.root)
    return made


def test_judging_says_what_it_did_and_is_quiet_on_stderr(crucible, judging):
    done = crucible("qrels", "judge", "r")
    assert (done.code, done.err) == (0, "")
    first, second, third = done.out.splitlines()
    assert first == f"m@{prompt_version('qrel', 0.0)}: 3 in the pool, 0 judged already"
    assert second.startswith("3 judged, 0 malformed, 0 failed; 300 tokens in, 9 out, $0.0003")
    assert third == "they count when a run is next scored or compared"
    assert crucible("qrels", "judge", "r").out.splitlines()[1:] == ["nothing was asked"]


def test_assertions_and_claims_are_judged(crucible, judging):
    assert "4 judged" in crucible("judge", "assertions", "r").out
    assert "2 judged" in crucible("judge", "claims", "r").out


def test_a_dry_run_says_what_it_would_take(crucible, judging, judge_server):
    done = crucible("judge", "claims", "r", "--dry-run")
    assert done.code == 0
    assert "would make 2 calls: about " in done.out
    assert "at most 1,024 out, at most $0.00" in done.out
    assert judge_server.n_requests == 0


def test_json_says_the_same(crucible, judging):
    found = crucible("qrels", "judge", "r", "--json").json
    assert (found["n_pool"], found["n_ok"], found["dry_run"]) == (3, 3, False)
    dry = crucible("judge", "assertions", "r", "--dry-run", "--json").json
    assert dry["estimate"]["completion_tokens"] == 4 * 512


def test_calls_without_an_answer_end_in_code_4_and_the_rest_is_kept(
    crucible, judging, judge_server
):
    judge_server.script("500", "500")
    done = crucible("qrels", "judge", "r", "--concurrency", "1")
    assert done.code == 4
    assert "2 judged, 0 malformed, 1 failed" in done.out
    assert "The judge left 1 of the rows without an answer" in done.err
    assert "HTTP 500" in done.err
    assert crucible("qrels", "judge", "r").code == 0


def test_a_wrong_key_ends_in_code_4_and_shows_no_key(crucible, judging, judge_server, monkeypatch):
    monkeypatch.setenv("CRUCIBLE_JUDGE_KEY", "canary")
    judge_server.script("401")
    done = crucible("qrels", "judge", "r", "--concurrency", "1")
    assert done.code == 4
    assert "HTTP 401" in done.err
    assert "canary" not in done.out + done.err


def test_without_an_address_it_says_how_to_give_one(crucible, judging):
    judging.settings("")
    done = crucible("qrels", "judge", "r", "--judge", "m")
    assert done.code == 2
    assert "judge.base_url" in done.err
    assert "--base-url" in done.err


def test_an_address_that_cannot_be_read_is_a_usage_error(crucible, judging):
    judging.settings("")
    done = crucible("qrels", "judge", "r", "--judge", "m", "--base-url", "http://[::1")
    assert done.code == 2
    assert "judge.base_url: 'http://[::1' cannot be read" in done.err


def test_judge_and_address_come_from_options_or_the_environment(
    crucible, judging, judge_server, monkeypatch
):
    judging.settings("")
    url = judge_server.base_url
    one = crucible("qrels", "judge", "r", "--judge", "a", "--base-url", url, "--max-calls", "1")
    assert one.code == 0
    monkeypatch.setenv("CRUCIBLE_JUDGE", "b")
    monkeypatch.setenv("CRUCIBLE_JUDGE_URL", url)
    assert crucible("qrels", "judge", "r").code == 0
    assert [body["model"] for body in judge_server.bodies] == ["a", "b", "b", "b"]


def test_without_any_setting_the_offline_judge_is_asked(crucible, judging, judge_server):
    judging.settings("")
    assert crucible("judge", "assertions", "r").out.startswith(f"{lexical.JUDGE}: 4 in the pool")
    assert judge_server.n_requests == 0


def test_a_stopped_judging_says_that_it_goes_on(crucible, judging):
    done = crucible("qrels", "judge", "r", "--max-calls", "1")
    assert done.code == 0
    assert "stopped: --max-calls 1 is reached; the same command goes on from here" in done.out


def test_an_unknown_run_is_a_usage_error(crucible, judging):
    done = crucible("judge", "assertions", "x")
    assert done.code == 2
    assert "No run is called 'x'" in done.err


def test_a_terminal_sees_a_bar_with_rate_cost_and_count(crucible, judging, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    seen = Terminal()
    monkeypatch.setattr("sys.stderr", seen)
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("TERM", "xterm")
    from crucible_batch.cli.judge import qrels

    qrels(["r"])
    assert "grading documents" in seen.getvalue()
    assert "3/3" in seen.getvalue()
    assert "$0.0003" in seen.getvalue()


def test_the_settings_of_the_bench_are_all_known(judging, judge_server):
    assert (
        SETTINGS.format(url=judge_server.base_url)
        in (judging.bench.store.root / "crucible.toml").read_text()
    )


def test_what_is_left_out_is_counted_by_reason_in_both_forms(crucible, judging):
    judging.run("bare", result("q0", retrievals=[{"doc_id": "d8"}, {"doc_id": "d9"}]))
    reason = "no text is known of the document: give --texts"
    assert f"left out, 2: {reason}" in crucible("qrels", "judge", "bare").out
    assert crucible("qrels", "judge", "bare", "--json").json["left_out"] == {reason: 2}
