"""The chat judge against a real server: what is tried again, what is not, and how much is asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from judge_server import JudgeServer

from crucible_batch.judges.ask import GIVE_UP_AFTER, Budget, ask_all
from crucible_batch.judges.chat import ChatJudge, Prices
from crucible_batch.judges.chat_client import Endpoint, JudgeError
from crucible_batch.judges.question import GradeQuestion, Reply
from crucible_batch.judges.verdicts import read_grade

QUESTIONS = [GradeQuestion(question=f"Q{n}?", document=f"Document {n}.") for n in range(15)]


class Asking:
    """Asks questions of a server and keeps what comes."""

    def __init__(self, server: JudgeServer) -> None:
        self.server = server
        self.judge: dict[str, Any] = {"max_tokens": 50, "prices": Prices(1.0, 2.0)}
        self.endpoint: dict[str, Any] = {}
        self.replies: dict[int, Reply] = {}
        self.take: Callable[[int, Reply], None] = self.replies.__setitem__
        self.stopped: str | None = None

    def __call__(
        self, n_questions: int = 1, *, concurrency: int = 1, **budget: Any
    ) -> dict[int, Reply]:
        defaults = {
            "base_url": self.server.base_url,
            "timeout_seconds": 5.0,
            "max_attempts": 3,
            "backoff_seconds": 0.01,
            "max_wait_seconds": 2.0,
        }
        self.replies.clear()
        self.stopped = ask_all(
            ChatJudge(model="m", temperature=0.0, **self.judge),
            Endpoint(**(defaults | self.endpoint)),
            QUESTIONS[:n_questions],
            self.take,
            concurrency=concurrency,
            budget=Budget(**budget),
        )
        return dict(self.replies)

    def one(self, *script: str) -> Reply:
        """The reply to one question, given what its tries meet."""
        self.server.script(*script)
        return self()[0]


@pytest.fixture
def ask(judge_server: JudgeServer) -> Asking:
    return Asking(judge_server)


def test_a_call_speaks_the_chat_protocol(ask, judge_server) -> None:
    ask.endpoint["api_key"] = "secret"
    reply = ask.one()
    body = judge_server.bodies[0]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0.0, 50)
    assert judge_server.headers[0]["Authorization"] == "Bearer secret"
    assert reply.status == "ok"
    assert reply.values == read_grade(reply.raw)
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 3)
    assert reply.cost_usd == (100 * 1.0 + 3 * 2.0) / 1_000_000


def test_without_a_key_none_is_sent(ask, judge_server) -> None:
    ask.one()
    assert "Authorization" not in judge_server.headers[0]


def test_the_limit_of_tokens_may_have_its_other_name(ask, judge_server) -> None:
    ask.judge["max_tokens_key"] = "max_completion_tokens"
    ask.one()
    assert judge_server.bodies[0]["max_completion_tokens"] == 50
    assert "max_tokens" not in judge_server.bodies[0]


@pytest.mark.parametrize("trouble", ["500", "503", "429", "408", "cut", "body:[]", "body:{}"])
def test_what_may_heal_is_tried_again(ask, judge_server, trouble) -> None:
    assert ask.one(trouble, trouble).status == "ok"
    assert judge_server.n_requests == 3


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("500", 'HTTP 500: {"error": "no"} (tried 3 times)'),
        ("cut", "the answer is no completion: "),
        ("body:{}", "no choices[0].message"),
        ('body:{"error": {"message": "overloaded"}}', "overloaded"),
    ],
)
def test_what_does_not_heal_is_given_up_with_its_reason(ask, judge_server, trouble, said) -> None:
    reply = ask.one(*[trouble] * 3)
    assert reply.status == "failed"
    assert said in reply.raw
    assert judge_server.n_requests == 3


def test_a_request_that_is_wrong_in_itself_is_not_tried_again(ask, judge_server) -> None:
    reply = ask.one("400")
    assert (reply.status, reply.raw) == ("failed", 'HTTP 400: {"error": "no"}')
    assert judge_server.n_requests == 1


@pytest.mark.parametrize("code", ["401", "403", "404", "302"])
def test_an_endpoint_that_refuses_everybody_ends_the_asking(ask, judge_server, code) -> None:
    judge_server.script("ok", code)
    ask.endpoint["api_key"] = "top-secret"
    with pytest.raises(JudgeError, match=f"HTTP {code}") as caught:
        ask(8)
    assert judge_server.n_requests == 2
    assert list(ask.replies) == [0]
    assert "top-secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1"])
def test_an_endpoint_that_is_not_there_is_a_failed_call(ask, url) -> None:
    ask.endpoint["base_url"] = url
    reply = ask()[0]
    assert reply.status == "failed"
    assert "tried 3 times" in reply.raw


def test_retry_after_holds_for_every_call(ask, judge_server) -> None:
    judge_server.script("429:0.6")
    replies = ask(4, concurrency=1)
    assert [reply.status for reply in replies.values()] == ["ok"] * 4
    first, *later = judge_server.times
    assert min(later) - first >= 0.6
    assert judge_server.n_requests == 5


def test_retry_after_may_be_a_date(ask, judge_server) -> None:
    ask.endpoint["max_wait_seconds"] = 10.0
    assert ask.one("503:date+2").status == "ok"
    first, second = judge_server.times
    assert second - first >= 1.0  # a date has no fractions: it is one to two seconds ahead


def test_a_retry_after_that_cannot_be_read_is_an_ordinary_wait(ask, judge_server) -> None:
    assert ask.one("429:soon").status == "ok"
    assert judge_server.n_requests == 2


def test_a_retry_after_beyond_all_patience_is_not_waited_for(ask, judge_server) -> None:
    began = time.monotonic()
    reply = ask.one("429:3600")
    assert time.monotonic() - began < 60
    assert reply.status == "failed"
    assert "to wait 3,600 seconds" in reply.raw
    assert judge_server.n_requests == 1


def test_waits_grow(ask, judge_server) -> None:
    ask.endpoint |= {"backoff_seconds": 0.2, "max_attempts": 4}
    ask.one("500", "500", "500")
    waits = [b - a for a, b in zip(judge_server.times, judge_server.times[1:], strict=False)]
    assert [wait >= least for wait, least in zip(waits, (0.1, 0.2, 0.4), strict=True)] == [True] * 3


def test_an_answer_that_takes_too_long_is_asked_for_again(ask, judge_server) -> None:
    ask.endpoint["timeout_seconds"] = 1.5
    assert ask.one("slow:2.5").status == "ok"
    assert judge_server.n_requests == 2
    ask.endpoint["max_attempts"] = 1
    reply = ask.one("slow:2.5")
    assert (reply.status, reply.raw) == ("failed", "no answer within 1.5 seconds")


def test_a_malformed_text_is_kept_and_not_asked_for_again(ask, judge_server) -> None:
    reply = ask.one("malformed:Final score: 10")
    assert (reply.status, reply.values, reply.raw) == ("malformed", {}, "Final score: 10")
    assert reply.cost_usd is not None
    assert judge_server.n_requests == 1


def test_a_text_that_the_token_limit_cut_off_is_malformed(ask, judge_server) -> None:
    judge_server.finish = "length"
    judge_server.say = lambda _: "##final score: 2"
    assert ask.one().status == "malformed"


def test_a_message_without_text_is_malformed(ask) -> None:
    body = '{"choices": [{"message": {"content": null}}], "usage": {"prompt_tokens": "many"}}'
    reply = ask.one(f"body:{body}")
    assert (reply.status, reply.raw, reply.prompt_tokens) == ("malformed", "", None)


def test_lone_surrogates_of_a_text_are_replaced(ask) -> None:
    body = '{"choices": [{"message": {"content": "\\ud800 ##final score: 1"}}]}'
    reply = ask.one(f"body:{body}")
    assert (reply.raw, reply.values) == ("\ufffd ##final score: 1", {"grade": 1})


def test_tokens_that_are_not_told_cost_nobody_knows_what(ask, judge_server) -> None:
    judge_server.usage = False
    reply = ask.one()
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (None, None, None)


def test_no_more_calls_than_allowed_are_under_way(ask, judge_server) -> None:
    judge_server.delay = 0.4
    assert len(ask(8, concurrency=3)) == 8
    assert judge_server.most_at_once == 3


def test_every_question_is_asked_once_and_answered_by_its_own_reply(ask, judge_server) -> None:
    replies = ask(8, concurrency=4)
    assert sorted(replies) == list(range(8))
    assert judge_server.n_requests == 8
    for number, reply in replies.items():
        prompt = next(p for p in judge_server.prompts if f"Document {number}." in p)
        assert reply.raw == judge_server.say(prompt)


@pytest.mark.parametrize("most", [0, 1, 5])
def test_max_calls_is_kept(ask, judge_server, most) -> None:
    assert len(ask(8, concurrency=4, max_calls=most)) == most
    assert judge_server.n_requests == most
    assert ask.stopped == f"--max-calls {most} is reached"


def test_a_budget_that_suffices_stops_nothing(ask) -> None:
    ask(8, concurrency=4, max_calls=8, max_cost=1.0)
    assert len(ask.replies) == 8
    assert ask.stopped is None


def test_max_cost_is_never_passed_though_calls_run_side_by_side(ask, judge_server) -> None:
    judge_server.delay = 0.05
    ask.judge |= {"prices": Prices(0.0, 1_000_000.0), "max_tokens": 10}
    replies = ask(8, concurrency=4, max_cost=24.0)  # 10 dollars at most, 3 in truth
    spent = [reply.cost_usd for reply in replies.values()]
    assert spent == [3.0] * len(replies)
    assert len(replies) == 5  # 4 leave 12: one more fits, and after 15 none
    assert ask.stopped == "--max-cost 24 would be passed"


def test_a_call_of_unknown_cost_counts_with_its_longest_answer(ask, judge_server) -> None:
    judge_server.usage = False
    ask.judge |= {"prices": Prices(0.0, 1_000_000.0), "max_tokens": 10}
    assert len(ask(8, max_cost=25.0)) == 2


def test_a_judge_that_is_gone_is_given_up(ask, judge_server) -> None:
    ask.endpoint["max_attempts"] = 1
    judge_server.script(*["500"] * 100)
    assert len(ask(len(QUESTIONS))) == judge_server.n_requests == GIVE_UP_AFTER < len(QUESTIONS)
    assert ask.stopped == f"the judge left {GIVE_UP_AFTER} calls in a row unanswered"


def test_one_answer_among_failures_keeps_the_asking_alive(ask, judge_server) -> None:
    ask.endpoint["max_attempts"] = 1
    judge_server.script(*["500"] * (GIVE_UP_AFTER - 1), "ok", *["500"] * 100)
    assert len(ask(len(QUESTIONS))) == len(QUESTIONS)


def test_what_the_taker_raises_ends_the_asking(ask, judge_server) -> None:
    def full(number: int, reply: Reply) -> None:
        raise OSError("disk full")

    ask.take = full
    with pytest.raises(OSError, match="disk full"):
        ask(8, concurrency=2)
    assert judge_server.n_requests <= 3


def test_it_can_be_asked_where_a_loop_runs_already(ask) -> None:
    async def notebook() -> int:
        return len(ask(2))

    assert asyncio.run(notebook()) == 2
