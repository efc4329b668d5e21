"""A chat-completions endpoint on this machine that says what a test wants, and counts.

server = JudgeServer(httpserver)
server.say = lambda prompt: "##final score: 2"     # by default a verdict that follows the prompt
server.script("500", "429:0.1", "slow:0.3", "cut", "malformed", "ok")   # then always ok
server.n_requests, server.prompts
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

PATH = "/v1/chat/completions"
VERDICTS = ("supported", "partial", "missing", "contradicted")


def verdict_of(prompt: str) -> str:
    """A well-formed reply that depends on the prompt alone, for each of the three prompts."""
    number = int(hashlib.sha256(prompt.encode()).hexdigest(), 16)
    if "##final score: N" in prompt:
        return f"##final score: {number % 4}"
    if '"verdict"' in prompt:
        verdict = VERDICTS[number % 4]
        return json.dumps({"verdict": verdict, "context_supported": number % 3 == 0})
    return json.dumps({"grounded": number % 2 == 0, "correct": number % 3 == 0})


def completion(text: str, *, finish: str = "stop", usage: bool = True) -> dict[str, Any]:
    """The body of a chat completion; tokens are counted as words."""
    body: dict[str, Any] = {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish,
            }
        ],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 100, "completion_tokens": len(text.split())}
    return body


class JudgeServer:
    """What the endpoint does and what it saw."""

    def __init__(self, server: HTTPServer) -> None:
        self.base_url = server.url_for("/v1")
        self.say: Callable[[str], str] = verdict_of
        self.finish = "stop"
        self.usage = True
        self.model: str | None = None  # what the endpoint says it is
        self.delay = 0.0
        self.prompts: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.most_at_once = 0
        self._at_once = 0
        self._script: list[str] = []
        self._lock = threading.Lock()
        server.expect_request(PATH, method="POST").respond_with_handler(self._handle)

    @property
    def n_requests(self) -> int:
        """Requests that came in."""
        return len(self.prompts)

    def script(self, *steps: str) -> None:
        """What the next requests get, in order of arrival."""
        self._script = list(steps)

    def _handle(self, request: Request) -> Response:
        body = request.get_json()
        prompt = body["messages"][-1]["content"]
        with self._lock:
            self.prompts.append(prompt)
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
            self.times.append(time.monotonic())
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            step = self._script.pop(0) if self._script else "ok"
        try:
            time.sleep(self.delay)
            return self._respond(prompt, step)
        finally:
            with self._lock:
                self._at_once -= 1

    def _respond(self, prompt: str, step: str) -> Response:
        kind, _, value = step.partition(":")
        if kind == "ok":
            body = completion(self.say(prompt), finish=self.finish, usage=self.usage)
            return _json(body if self.model is None else {**body, "model": self.model})
        if kind == "slow":
            time.sleep(float(value))
            return _json(completion(self.say(prompt)))
        if kind == "malformed":
            return _json(completion(value or "I cannot judge"))
        if kind == "cut":
            return Response(json.dumps(completion("x"))[:40], content_type="application/json")
        if kind == "body":
            return Response(value, content_type="application/json")
        headers = {"Retry-After": _moment(value)} if value else {}
        return Response('{"error": "no"}', status=int(kind), headers=headers)


def _moment(value: str) -> str:
    """A Retry-After as it stands, or `date+N`: the time in N seconds, in whole seconds."""
    if not value.startswith("date+"):
        return value
    until = datetime.now(UTC) + timedelta(seconds=float(value.removeprefix("date+")))
    return format_datetime(until.replace(microsecond=0), usegmt=True)


def _json(body: dict[str, Any]) -> Response:
    return Response(json.dumps(body), content_type="application/json")
