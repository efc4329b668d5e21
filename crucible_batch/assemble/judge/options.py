"""How to judge, and who does it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from crucible_batch.errors import UsageError
from crucible_batch.judges import lexical
from crucible_batch.judges.chat import ChatJudge, Prices
from crucible_batch.judges.chat_client import Endpoint
from crucible_batch.judges.offline import LexicalJudge
from crucible_batch.judges.question import lane
from crucible_batch.settings import Judging
from crucible_batch.settings.addresses import web_address

NAMED = re.compile(r"(?P<model>.+)@(?P<version>[0-9a-f]{12})")
MODEL = re.compile(r"(?!\s*\Z)[^\x00-\x1f\x7f-\x9f]{1,240}")
"""Room for `@` and a version within the 256 characters of an id."""


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """How to judge; None: as the settings say.

    Attributes:
        judge: `lexical`, a model id, or model@prompt_version.
        base_url: Address of the chat API.
        concurrency: Calls under way at once.
        max_calls: Most questions to ask in this command.
        max_cost: Most US dollars to spend in this command.
        retry_malformed: Ask again where the judge did not speak plainly.
        rejudge_changed: Ask again where the texts have changed since; another verdict becomes an
            override.
        dry_run: Say what would be asked; write nothing.
    """

    judge: str | None = None
    base_url: str | None = None
    concurrency: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    retry_malformed: bool = False
    rejudge_changed: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Refuse limits that mean nothing."""
        for name, value in (("max_calls", self.max_calls), ("max_cost", self.max_cost)):
            if value is not None and not value >= 0:
                raise UsageError(f"{name} is {value}", fix="give a number that is not negative.")
        if self.concurrency is not None and not 1 <= self.concurrency <= 1_000:
            raise UsageError(f"concurrency is {self.concurrency}", fix="use 1 to 1000.")


AnyJudge = LexicalJudge | ChatJudge


def appoint(options: JudgeOptions, settings: Judging, kind: str) -> AnyJudge:
    """Make the judge that options and settings name.

    Args:
        options: Come before the settings.
        settings: Section `judge`.
        kind: What is judged: qrel, assertion or claim.

    Raises:
        UsageError: The name is no model id, or names a prompt version this package does not have.
    """
    named = options.judge or settings.model
    parts = NAMED.fullmatch(named)
    model = parts["model"] if parts else named
    if not MODEL.fullmatch(model):
        raise UsageError(f"{model!r} is no model id", fix="use 1 to 240 printable characters.")
    judge: AnyJudge = LexicalJudge() if model == lexical.MODEL else _chat(model, settings)
    if parts and parts["version"] != judge.version(kind):
        raise UsageError(
            f"No prompt is called {parts['version']}: {model} is asked with {judge.version(kind)}",
            fix=f"say --judge {lane(judge, kind)}, or --judge {model}.",
        )
    return judge


def _chat(model: str, settings: Judging) -> ChatJudge:
    return ChatJudge(
        model=model,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        max_tokens_key=settings.max_tokens_key,
        prices=Prices(*settings.usd_per_million_tokens),
    )


def find_endpoint(options: JudgeOptions, settings: Judging) -> Endpoint:
    """Where a chat judge is asked; the key comes from the environment only.

    Raises:
        UsageError: No address is known, it is none, or `max_cost` is asked for without prices.
    """
    base_url = options.base_url or settings.base_url
    if problem := _wrong_address(base_url):
        raise UsageError(
            "The judge's endpoint is not known",
            problems=[f"judge.base_url: {problem}"],
            fix="set judge.base_url or say --base-url, e.g. http://127.0.0.1:11434/v1; "
            "--judge lexical needs none.",
        )
    if options.max_cost is not None and not settings.usd_per_million_tokens:
        raise UsageError(
            "--max-cost cannot be kept: the prices are not known",
            fix="set judge.usd_per_million_tokens = [prompt, completion], or say --max-calls.",
        )
    return Endpoint(
        base_url=base_url,
        api_key=_key(settings.api_key_env),
        timeout_seconds=settings.timeout_seconds,
        max_attempts=settings.max_attempts,
        backoff_seconds=settings.backoff_seconds,
        max_wait_seconds=settings.max_wait_seconds,
    )


def _wrong_address(base_url: str) -> str | None:
    if not base_url:
        return "no address is set"
    try:
        web_address(base_url)
    except ValueError as error:
        return f"{base_url!r} {error}"
    return None


def _key(variable: str) -> str | None:
    """The key in an environment variable, which is never shown."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and (key.isprintable() or not key)):
        raise UsageError(
            f"The key in {variable} holds characters that no header can carry",
            fix="set the variable to the key alone.",
        )
    return key or None
