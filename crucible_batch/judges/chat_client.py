"""The chat-completions protocol over HTTP: tries again what may heal, and says what will not.

Tried again, with growing waits: 408, 409, 425, 429 and 5xx, lost connections, answers that take too
long, and bodies that are no completion (cut-off JSON among them). `Retry-After` is honoured, and
holds for every call of the client, because it speaks of the endpoint. Not tried again: other 4xx.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self

import httpx

from crucible_batch.errors import CrucibleError

AGAIN = frozenset({408, 409, 425, 429})
REFUSED = frozenset({401, 403, 404, 405})
SHOWN_CHARACTERS = 200
SURROGATE = re.compile("[\ud800-\udfff]")
TEXT_BYTES = 1 << 20
"""Longest text a table holds."""


class JudgeError(CrucibleError):
    """The judge cannot be asked, or did not answer: exit code 4. What it said is kept."""


class UnansweredError(Exception):
    """One call came to nothing; the others may do better."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where the judge is asked, and with how much patience.

    Attributes:
        base_url: Address up to and without `/chat/completions`.
        api_key: Sent as a bearer token, never shown or stored; None without one.
        timeout_seconds: Longest wait for one answer.
        max_attempts: Tries of one call.
        backoff_seconds: Wait before the second try; doubles with every further one.
        max_wait_seconds: Longest `Retry-After` that is waited for.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float
    max_attempts: int
    backoff_seconds: float
    max_wait_seconds: float

    @property
    def url(self) -> str:
        """Address of the calls."""
        return f"{self.base_url.rstrip('/')}/chat/completions"


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What the model said.

    Attributes:
        text: Its text; empty when it said none.
        cut_off: The text ends where the token limit stopped it.
        prompt_tokens: Tokens in, None when not told.
        completion_tokens: Tokens out, None when not told.
        model: The model that answered, as the endpoint calls it; None when not told.
    """

    text: str
    cut_off: bool
    prompt_tokens: int | None
    completion_tokens: int | None
    model: str | None = None


@dataclass(frozen=True)
class _Trouble:
    """Why a try failed, and how long the endpoint asks to be left alone."""

    why: str
    retry_after: float | None = None


class ChatClient:
    """Calls one endpoint; an async context manager.

    Attributes:
        n_requests: HTTP requests sent so far, tries included.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.n_requests = 0
        self._open_at = 0.0
        headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        self._http = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(endpoint.timeout_seconds),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def complete(self, body: Mapping[str, object]) -> Completion:
        """Send one request until it is answered or patience ends.

        Raises:
            UnansweredError: This request came to nothing.
            JudgeError: The endpoint refuses every request.
        """
        attempt = 0
        while True:
            attempt += 1
            await self._until_open()
            found = await self._once(body)
            if isinstance(found, Completion):
                return found
            if attempt >= self.endpoint.max_attempts:
                tries = f" (tried {attempt} times)" if attempt > 1 else ""
                raise UnansweredError(found.why + tries)
            await self._wait(found, attempt)

    async def _until_open(self) -> None:
        """Wait while the endpoint asks to be left alone."""
        loop = asyncio.get_running_loop()
        while (left := self._open_at - loop.time()) > 0:
            await asyncio.sleep(left)

    async def _wait(self, trouble: _Trouble, attempt: int) -> None:
        if trouble.retry_after is None:
            spread = random.uniform(0.5, 1.5)  # noqa: S311 (so that calls do not come in step)
            await asyncio.sleep(self.endpoint.backoff_seconds * 2 ** (attempt - 1) * spread)
            return
        if trouble.retry_after > self.endpoint.max_wait_seconds:
            raise UnansweredError(f"{trouble.why}, to wait {trouble.retry_after:,.0f} seconds")
        now = asyncio.get_running_loop().time()
        self._open_at = max(self._open_at, now + trouble.retry_after)

    async def _once(self, body: Mapping[str, object]) -> Completion | _Trouble:
        self.n_requests += 1
        try:
            async with asyncio.timeout(self.endpoint.timeout_seconds):
                response = await self._http.post(self.endpoint.url, json=body)
        except (TimeoutError, httpx.TimeoutException):
            return _Trouble(f"no answer within {self.endpoint.timeout_seconds:g} seconds")
        except httpx.TransportError as error:
            return _Trouble(f"{type(error).__name__}: {error}"[:SHOWN_CHARACTERS])
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._refusal(str(error)) from error
        return self._understood(response)

    def _understood(self, response: httpx.Response) -> Completion | _Trouble:
        code = response.status_code
        why = f"HTTP {code}: {_shown(response.text)}"
        if code in AGAIN or code >= 500:
            return _Trouble(why, _retry_after(response))
        if code in REFUSED or 300 <= code < 400:
            raise self._refusal(why)
        if code != 200:
            raise UnansweredError(why)
        try:
            return completion_of(json.loads(response.content))
        except (ValueError, RecursionError) as error:
            return _Trouble(f"the answer is no completion: {error}"[:SHOWN_CHARACTERS])

    def _refusal(self, why: str) -> JudgeError:
        return JudgeError(
            f"The judge at {self.endpoint.url} cannot be asked",
            problems=[why],
            fix="check judge.base_url, the model's name, and the environment variable that holds "
            "the key (judge.api_key_env).",
        )


def completion_of(content: Any) -> Completion:
    """Read the body of a chat completion.

    Raises:
        ValueError: It is none.
    """
    choices = content.get("choices") if isinstance(content, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ValueError(f"no choices[0].message in {_shown(json.dumps(content))}")
    text = message.get("content")
    usage = content.get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    said = SURROGATE.sub("\ufffd", text) if isinstance(text, str) else ""
    kept = said.encode()[:TEXT_BYTES].decode(errors="ignore")
    return Completion(
        text=kept,
        cut_off=choice.get("finish_reason") == "length" or len(kept) < len(said),
        prompt_tokens=_count(tokens.get("prompt_tokens")),
        completion_tokens=_count(tokens.get("completion_tokens")),
        model=_name(content.get("model")),
    )


def _name(value: object) -> str | None:
    """The name of a model as one line of text; anything else is not known."""
    if not isinstance(value, str):
        return None
    return SURROGATE.sub("\ufffd", " ".join(value.split()))[:SHOWN_CHARACTERS] or None


def _count(value: object) -> int | None:
    """A number of tokens; anything else is not known."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if is_count and isinstance(value, int) else None


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds of a `Retry-After` header: a number or a date; None without a readable one."""
    text = response.headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def _shown(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"
